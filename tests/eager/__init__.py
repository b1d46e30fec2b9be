"""The eager mode."""
