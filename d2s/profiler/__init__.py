"""Where the time goes: by line of the user's program and by operator, in both modes."""

from d2s.profiler.profile import Profiler, RecordEvent

__all__ = ["Profiler", "RecordEvent"]
