"""Memory that large arrays leave behind is kept for the next ones.

The allocator of glibc gives memory back to the system as soon as a large array is freed, and takes it again, page by
page, for the next one: programs with arrays of megabytes spend half of their time on that.  What counts as large, and
how much free memory is kept (twice as much), it learns from the largest block that has been freed, up to 32 MB.
Whoever has set `MALLOC_MMAP_THRESHOLD_` or a limit of its own keeps it: then it learns nothing.
"""

from __future__ import annotations

import numpy as np

_LARGEST = (1 << 25) - (1 << 16)


def keep_freed_memory() -> None:
    """Let the allocator keep up to 64 MB that nobody uses.  Elsewhere than with glibc it does nothing."""
    # Freed at once and never written to, so that it takes no memory.
    np.empty(_LARGEST, np.uint8)
