"""Tests of pictures and of texts side by side."""
