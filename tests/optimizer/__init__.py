"""Tests of d2s.optimizer."""
