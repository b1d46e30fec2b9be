"""Tests of `d2s.testing`."""
