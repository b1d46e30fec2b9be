"""Eager mode: tensors that compute at once, and the tape that differentiates them."""
