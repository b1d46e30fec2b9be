"""A layered drawing of boxes: every edge runs downwards, crossings are few, edges are as straight as can be."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

GAP_X = 22.0
GAP_Y = 30.0
SWEEPS = 12
# By so much a box has to be shorter than the tallest of its layer for edges to run on straight below it.
_SHORTER = 24.0

Point = tuple[float, float]


@dataclass(eq=False)
class Item:
    """A box, or a bend of an edge (of width 0); `x` and `y` are its centre."""

    width: float
    height: float
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True)
class Link:
    """An edge: its number, from and to which box, and how far from the middle of each it starts and ends."""

    number: int
    source: str
    target: str
    leaves: float = 0.0
    enters: float = 0.0


# Another item, and how much further right than that one an item wants to stand.
_Wish = tuple[Item, float]


def place(
    items: dict[str, Item], links: list[Link], entered: Collection[str] = (), leaving: Collection[str] = ()
) -> tuple[float, float, dict[int, list[Point]]]:
    """
    Give every item its place; returns width, height, and the bends of each link from top to bottom.

    Items in `entered`, to which edges come from above, stay at the top, and those in `leaving` go to the bottom.
    """
    layer_of = _layers(items, links, entered, leaving)
    layers: list[list[Item]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
    for key, item in items.items():
        layers[layer_of[key]].append(item)
    above: dict[int, list[_Wish]] = {}
    below: dict[int, list[_Wish]] = {}
    bends: dict[int, list[Item]] = {}
    for link in links:
        chain = [Item(0.0, 0.0) for _ in range(layer_of[link.source] + 1, layer_of[link.target])]
        for number, bend in enumerate(chain, layer_of[link.source] + 1):
            layers[number].append(bend)
        bends[link.number] = chain
        whole = [items[link.source], *chain, items[link.target]]
        offsets = [link.leaves, *(0.0 for _ in chain), link.enters]
        for number, (one, other) in enumerate(itertools.pairwise(whole)):
            shift = offsets[number] - offsets[number + 1]
            above.setdefault(id(other), []).append((one, shift))
            below.setdefault(id(one), []).append((other, -shift))
    _order(layers, above, below)
    _spread(layers, above, below)
    height = _stack(layers)
    everything = [item for layer in layers for item in layer]
    left = min((item.x - item.width / 2 for item in everything), default=0.0)
    for item in everything:
        # Sums are rounded otherwise from one version of Python to the next; pictures are the same.
        item.x = round(item.x - left, 3)
    width = max((item.x + item.width / 2 for item in everything), default=0.0)
    halves = [max(item.height for item in layer) / 2 for layer in layers]
    first = {link.number: layer_of[link.source] + 1 for link in links}
    found = {number: _points(chain, halves[first[number] :]) for number, chain in bends.items()}
    for link in links:
        source, half = items[link.source], halves[layer_of[link.source]]
        bottom = source.y - source.height / 2 + 2 * half
        if bottom - (source.y + source.height / 2) > _SHORTER:
            # Past its taller neighbours before it turns.
            found[link.number].insert(0, (source.x + link.leaves, bottom))
    return width, height, found


def _points(chain: list[Item], halves: list[float]) -> list[Point]:
    """Where an edge passes the layers between its ends: straight from the top to the bottom of each."""
    pairs = [((bend.x, bend.y - half), (bend.x, bend.y + half)) for bend, half in zip(chain, halves, strict=False)]
    return [point for pair in pairs for point in pair]


def _layers(
    items: Iterable[str], links: list[Link], entered: Collection[str], leaving: Collection[str]
) -> dict[str, int]:
    """The layer of each item: below all that lead to it, and as near to what it leads to as that allows."""
    items = list(items)
    before: dict[str, set[str]] = {key: set() for key in items}
    after: dict[str, set[str]] = {key: set() for key in items}
    for link in links:
        before[link.target].add(link.source)
        after[link.source].add(link.target)
    found: dict[str, int] = {}
    waiting = {key: len(sources) for key, sources in before.items()}
    ready = [key for key in items if not waiting[key]]
    for key in ready:
        found[key] = max((found[source] + 1 for source in before[key]), default=0)
        for target in after[key]:
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    for key in reversed(ready):
        # What starts from nothing stands just above its first use.
        if not before[key] and after[key] and key not in entered:
            found[key] = min(found[target] for target in after[key]) - 1
    last = max(found.values(), default=0)
    found.update((key, last) for key in leaving if not after[key])
    return found


def _order(layers: list[list[Item]], above: dict[int, list[_Wish]], below: dict[int, list[_Wish]]) -> None:
    """Sort each layer by the mean place of the neighbours, downwards and upwards by turns, and keep the best."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers, below)
    places = {id(item): number for layer in layers for number, item in enumerate(layer)}
    for sweep in range(SWEEPS):
        neighbours = below if sweep % 2 else above
        for layer in reversed(layers) if sweep % 2 else layers:
            layer.sort(key=_mean_place(places, neighbours))
            places.update((id(item), number) for number, item in enumerate(layer))
        crossings = _crossings(layers, below)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
        if not fewest:
            break
    layers[:] = best


def _mean_place(places: dict[int, int], neighbours: dict[int, list[_Wish]]) -> Callable[[Item], float]:
    def key(item: Item) -> float:
        wishes = neighbours.get(id(item))
        if not wishes:
            return float(places[id(item)])
        return sum(places[id(other)] + shift * 1e-3 for other, shift in wishes) / len(wishes)

    return key


def _crossings(layers: list[list[Item]], below: dict[int, list[_Wish]]) -> int:
    """How many pairs of edges cross: pairs whose lower ends are in the other order than their upper ends."""
    count = 0
    for layer, under in itertools.pairwise(layers):
        places = {id(item): number for number, item in enumerate(under)}
        passed: list[int] = []
        for item in layer:
            ends = [places[id(other)] for other, _ in below.get(id(item), ())]
            count += sum(len(passed) - bisect.bisect_right(passed, end) for end in ends)
            for end in ends:
                bisect.insort(passed, end)
    return count


def _spread(layers: list[list[Item]], above: dict[int, list[_Wish]], below: dict[int, list[_Wish]]) -> None:
    """Choose x: as near to the neighbours as the order and the widths allow."""
    for layer in layers:
        x = 0.0
        for item in layer:
            x += item.width / 2
            item.x = x
            x += item.width / 2 + GAP_X
    for sweep in range(2 * SWEEPS):
        neighbours = (above, below)[sweep % 2] if sweep < SWEEPS else None
        for layer in reversed(layers) if sweep % 2 else layers:
            wanted = []
            for item in layer:
                both = above.get(id(item), []) + below.get(id(item), [])
                wishes = both if neighbours is None else neighbours.get(id(item), [])
                wanted.append(sum(other.x + shift for other, shift in wishes) / len(wishes) if wishes else item.x)
            _fit(layer, wanted)


def _fit(layer: list[Item], wanted: list[float]) -> None:
    """The places nearest to the `wanted` ones, by least squares, that keep the order and the gaps.

    Subtracting what is left of each item turns "keep the gaps" into "do not decrease", and the nearest such sequence
    is found by pooling: what violates the order is replaced by its mean.
    """
    shifts, total = [], 0.0
    for number, item in enumerate(layer):
        if number:
            gap = GAP_X if item.width and layer[number - 1].width else GAP_X / 2
            total += layer[number - 1].width / 2 + gap + item.width / 2
        shifts.append(total)
    pools: list[tuple[float, int]] = []
    for want, shift in zip(wanted, shifts, strict=True):
        mean, count = want - shift, 1
        while pools and pools[-1][0] > mean:
            other, many = pools.pop()
            mean, count = (mean * count + other * many) / (count + many), count + many
        pools.append((mean, count))
    means = [mean for mean, count in pools for _ in range(count)]
    for item, mean, shift in zip(layer, means, shifts, strict=True):
        item.x = mean + shift


def _stack(layers: list[list[Item]]) -> float:
    """Choose y: layer under layer; returns the height of all."""
    y = 0.0
    for layer in layers:
        tallest = max((item.height for item in layer), default=0.0)
        for item in layer:
            # Boxes of unequal height stand on one line at the top, so that edges into groups stay short.
            item.y = y + (item.height if item.width else tallest) / 2
        y += tallest + GAP_Y
    return max(y - GAP_Y, 0.0)
