"""Tests of the transpiler."""
