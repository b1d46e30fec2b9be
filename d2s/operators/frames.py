"""The frames of the user's functions around the code that runs now."""

from __future__ import annotations

import sys
from types import FrameType

from d2s.errors import user_frame
from d2s.transpiler.origin import is_part_of


def user_frames() -> list[FrameType]:
    """The frames of the user's functions, innermost first; branches and loops are one with their function."""
    frames: list[FrameType] = []
    frame = user_frame(sys._getframe(1))
    while frame is not None:
        if not frames or not is_part_of(frames[-1].f_code, frame.f_code):
            frames.append(frame)
        frame = None if frame.f_back is None else user_frame(frame.f_back)
    return frames
