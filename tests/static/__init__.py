"""Tests of Programs: text, legality, hand-built Programs and their Executor."""
