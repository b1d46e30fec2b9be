"""The most memory that a step of each workload holds at a time, eager and static.

    python -m benchmarks.memory

What `tracemalloc` counts, arrays included, beside what there is between the steps: parameters, data, and the Programs.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc

from benchmarks.implementations import with_d2s
from benchmarks.workloads import ALL, make

VARIANTS = ("eager", "static", "step")


def peak(workload: str, variant: str, steps: int = 4) -> tuple[float, float]:
    """MB held during a step at most, and MB by which what is held between steps has grown."""
    step = with_d2s.build(make(workload), variant).step
    for _ in range(3):
        step()
    tracemalloc.start()
    try:
        step()
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        for _ in range(steps):
            step()
        most = tracemalloc.get_traced_memory()[1]
        gc.collect()
        return (most - held) / 2**20, (tracemalloc.get_traced_memory()[0] - held) / 2**20
    finally:
        tracemalloc.stop()


def main() -> None:
    print(f"{'MB':12s}" + "".join(f"{variant:>10s}" for variant in VARIANTS) + "   grown")
    for workload in sys.argv[1:] or ALL:
        found = [peak(workload, variant) for variant in VARIANTS]
        print(f"{workload:12s}" + "".join(f"{most:10.3f}" for most, _ in found) + f"{max(g for _, g in found):8.3f}")


if __name__ == "__main__":
    main()
