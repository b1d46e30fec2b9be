"""Tests of the profiler, of tables and progress bars."""
