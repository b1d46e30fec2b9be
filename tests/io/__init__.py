"""Tests of d2s.io."""
