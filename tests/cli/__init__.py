"""Tests of the `d2s` command."""
