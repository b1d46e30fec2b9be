"""Static mode: Programs, how they are built, differentiated, compiled and run."""

from d2s.static.program import Program

__all__ = ["Program"]
