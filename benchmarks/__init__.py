"""Benchmarks of d2s against other libraries: see docs/performance.md."""
