"""The `d2s` command."""
