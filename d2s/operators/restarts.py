"""Why a trace begins anew, knowing more: each is raised where that is found out, and caught where traces begin."""

from __future__ import annotations

from d2s.errors import Location

# What is done about a loop that Python unrolls, in each turn of which the trace decides: its ways are merged at the end
# of what has parted them, for which containers that have grown on one of them are made those of the run; it becomes a
# loop of the Program, though Python knows its test; if that cannot be, its ways are followed.
MERGES, RECORDS, FOLLOWS = range(1, 4)


class TooManyWays(BaseException):
    """A loop that Python unrolls decides in each turn: the trace begins anew, and does something about it there.

    Attributes
    ----------
    place : Location or None
        The loop.
    stage : int
        What is done: `MERGES`, `RECORDS` or `FOLLOWS`.
    """

    def __init__(self, place: Location | None, stage: int) -> None:
        super().__init__(place)
        self.place = place
        self.stage = stage


class TooManyPaths(BaseException):
    """Code decides so often that it has many ways: the trace begins anew, and merges them wherever they part."""


class Learned(BaseException):
    """Something is found out about the function: the trace begins anew, with this kind among what it knows."""


class ArraysOfTheRun(Learned):
    """An array made inside is written as only the run knows: the trace begins anew, and the run makes all arrays."""


class WalksInRegions(Learned):
    """A branch or turn calls `backward`, which runs hooks: the trace begins anew, and asks at each what they can reach.
    """


class ListsOfTheRun(Learned):
    """One that was put into a container of the run is changed: the trace begins anew, with all such of the run."""


class StoppedTensors(Learned):
    """Others get a tensor whose history its `stop_gradient` hides: the trace begins anew, and makes each such a Tensor
    before it is set.
    """


class IteratorsOfTheRun(Learned):
    """An iterator is advanced where only the run knows how often: the trace begins anew, and counts what they give."""


class UsedUpGraphs(Learned):
    """What a `grad` has used up may be gone back through again: the trace begins anew, and leaves such to the run."""


class OfAnyKind(BaseException):
    """A variable of a loop is of several kinds: the trace begins anew, with it as an object that only the run knows.

    Attributes
    ----------
    place : Location
        The loop.
    name : str
        The variable.
    """

    def __init__(self, place: Location, name: str) -> None:
        super().__init__(place, name)
        self.place = place
        self.name = name


class FollowBoth(BaseException):
    """What a branch gives must not be merged: the trace begins anew, and follows both paths from there to the end.

    Attributes
    ----------
    place : Location or None
        The branch, or the loop.
    """

    def __init__(self, place: Location | None) -> None:
        super().__init__(place)
        self.place = place


__all__ = [
    "FOLLOWS", "MERGES", "RECORDS", "ArraysOfTheRun", "FollowBoth", "IteratorsOfTheRun", "Learned", "ListsOfTheRun",
    "OfAnyKind", "StoppedTensors", "TooManyPaths", "TooManyWays", "UsedUpGraphs", "WalksInRegions",
]
