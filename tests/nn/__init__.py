"""Tests of d2s.nn."""
