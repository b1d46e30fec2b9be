"""Tests of d2s.  The folders mirror those of the package."""
