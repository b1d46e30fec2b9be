"""Files that something has damaged."""

from __future__ import annotations

from hypothesis import strategies as st


def damaged(data: bytes, draw: st.DataObject) -> bytes:
    """The bytes with a few short stretches replaced by others."""
    changed = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 5))):
        place = draw.draw(st.integers(0, len(changed) - 1))
        end = place + draw.draw(st.integers(0, 6))
        changed[place:end] = draw.draw(st.binary(max_size=6))
        changed = changed or bytearray(b"x")
    return bytes(changed)
