"""Data structures of the standard library that change between calls, or that the function itself changes."""

from __future__ import annotations

import array
import bisect
import collections
import contextlib
import copy
import functools
import graphlib
import heapq
import itertools
import operator
import queue
import string
import struct
import types
import weakref

from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, constant, x


@footgun
def order_of_an_ordered_dict_between_calls():
    table = collections.OrderedDict(a=2.0, b=3.0, c=5.0)

    def f(z):
        for number, key in enumerate(table):
            z = z * table[key] + number
        return z + next(iter(table.values())) - next(reversed(table.values()))

    yield f
    table.move_to_end("a")
    yield f
    table.move_to_end("c", last=False)
    yield f
    table["b"] = table.pop("b")
    yield f


@footgun
def order_of_an_ordered_dict_changed_inside():
    table = collections.OrderedDict(a=2.0, b=3.0, c=5.0)

    def f(z):
        table.move_to_end(next(iter(table)))
        return z * next(iter(table.values()))

    for _ in range(4):
        yield f


@footgun
def least_recently_used():
    kept = collections.OrderedDict()

    def look_up(key):
        if key in kept:
            kept.move_to_end(key)
            return kept[key]
        print("made", key)
        kept[key] = len(kept) + 1.5
        if len(kept) > 2:
            print("dropped", kept.popitem(last=False))
        return kept[key]

    box = Box(key="a")

    def f(z):
        return z * look_up(box.key)

    for box.key in "abacbad":
        yield f


@footgun
def arithmetic_of_counters():
    first, second = collections.Counter("aab"), collections.Counter("abc")

    def f(z):
        both = first & second
        return z * both.total() + (first - second)["a"] + sum((first + second).values()) + len(first | second)

    yield f
    first["c"] += 2
    yield f
    second.subtract("aaa")
    yield f
    del first["b"]
    yield f


@footgun
def most_common_elements():
    counts = collections.Counter({"a": 1, "b": 1})

    def f(z):
        key, count = counts.most_common(1)[0]
        return z * count + len(key) + (10.0 if key == "a" else 20.0)

    yield f
    counts["b"] += 1
    yield f
    counts.update(a=5)
    yield f
    counts.clear()
    counts["zz"] = 1
    yield f


@footgun
def counters_counted_inside():
    counts = collections.Counter()

    def f(z):
        counts.update(["calls"])
        counts["sum"] += 2
        return z * counts["calls"] + counts["sum"] + counts["never"]

    yield f
    yield f
    counts["calls"] = 10
    yield f
    yield lambda z: z * len(counts)


@footgun
def factories_of_default_dicts():
    table = collections.defaultdict(lambda: 2.0)

    def f(z):
        return z * table[len(table)]

    yield f
    table.default_factory = lambda: 7.0
    yield f
    table.clear()
    yield f
    table.default_factory = None
    yield f


@footgun
def lists_made_by_factories():
    table = collections.defaultdict(list, a=[1.0])

    def f(z):
        table["b"].append(2.0)
        return z * sum(table["b"])

    yield f
    yield f
    table.default_factory = lambda: [5.0]
    del table["b"]
    yield f


@footgun
def factories_with_effects():
    made = []

    def new():
        made.append(len(made))
        return [len(made) * 1.0]

    table = collections.defaultdict(new)
    box = Box(key="a")

    def f(z):
        table[box.key].append(1.0)
        return z * len(table[box.key]) + len(made)

    for box.key in "abab":
        yield f


@footgun
def heaps_between_calls():
    heap = [3.0, 5.0, 4.0]
    heapq.heapify(heap)

    def f(z):
        return z * heap[0] + len(heap)

    yield f
    heapq.heappush(heap, 1.0)
    yield f
    heapq.heappop(heap)
    heapq.heappop(heap)
    yield f


@footgun
def heaps_inside():
    heap = [(2, "b"), (5, "c")]

    def f(z):
        heapq.heappush(heap, (len(heap), "a"))
        number, name = heapq.heappushpop(heap, (9, "z"))
        print(name, number)
        return z * number + heapq.nsmallest(1, heap)[0][0]

    for _ in range(4):
        yield f


@footgun
def nearest_by_bisection():
    edges = [1.0, 3.0, 5.0]
    box = Box(at=2.0)

    def f(z):
        return z * bisect.bisect_left(edges, box.at) + bisect.bisect(edges, box.at)

    yield f
    box.at = 3.0
    yield f
    bisect.insort(edges, 2.5)
    yield f
    edges.pop(0)
    yield f


@footgun
def sorted_lists_kept_inside():
    kept = [4.0]
    box = Box(new=2.0)

    def f(z):
        bisect.insort_right(kept, box.new)
        return z * kept[0] + kept[-1]

    yield f
    box.new = 9.0
    yield f
    box.new = 1.0
    yield f


@footgun
def arrays_of_the_standard_library():
    numbers = array.array("d", [1.0, 2.0])

    def f(z):
        return z * numbers[0] + sum(numbers) + len(numbers)

    yield f
    numbers[0] = 4.0
    yield f
    numbers.append(3.0)
    yield f
    numbers.reverse()
    yield f


@footgun
def arrays_of_the_standard_library_filled_inside():
    numbers = array.array("i")

    def f(z):
        numbers.append(len(numbers) * 3)
        return z * numbers[-1] + numbers.itemsize

    yield f
    yield f
    numbers.extend([7, 8])
    yield f


@footgun
def bytes_that_can_be_written():
    data = bytearray(b"abc")

    def f(z):
        return z * data[0] + len(data) + (1.0 if data.startswith(b"a") else 2.0)

    yield f
    data[0] = 98
    yield f
    data += b"de"
    yield f
    del data[:2]
    yield f


@footgun
def bytes_written_inside():
    data = bytearray(3)

    def f(z):
        data[1] += 2
        data.extend(b"x")
        return z * data[1] + len(data)

    yield f
    yield f
    data[1] = 40
    yield f


@footgun
def windows_on_bytes():
    data = bytearray(b"abcdef")
    window = memoryview(data)[2:4]

    def f(z):
        return z * window[0] + window.nbytes

    yield f
    data[2] = 7
    yield f
    window[0] = 9
    yield f


@footgun
def packed_numbers():
    data = bytearray(struct.pack("<id", 3, 2.5))
    box = Box(form="<id")

    def f(z):
        whole, part = struct.unpack_from(box.form, data)
        return z * whole + part

    yield f
    struct.pack_into("<i", data, 0, 5)
    yield f
    box.form = ">id"
    yield f


@footgun
def groups_of_what_changes():
    names = ["aa", "ab", "b"]

    def f(z):
        for key, group in itertools.groupby(names, key=lambda name: name[0]):
            z = z * len(list(group)) + ord(key)
        return z

    yield f
    names.append("bb")
    yield f
    names[0] = "ba"
    yield f


@footgun
def groups_by_a_key_that_changes():
    numbers = [1, 2, 3, 4, 5]
    box = Box(at=2)

    def f(z):
        sizes = [len([*group]) for _, group in itertools.groupby(numbers, lambda number: number > box.at)]
        return z * sizes[0] + len(sizes)

    yield f
    box.at = 4
    yield f
    box.at = 9
    yield f


@footgun
def accumulated_and_paired_numbers():
    numbers = [1.0, 2.0, 3.0]

    def f(z):
        for number in itertools.accumulate(numbers, operator.mul, initial=2.0):
            z = z + number
        for one, two in itertools.pairwise(numbers):
            z = z * (two - one)
        return z + sum(itertools.compress(numbers, [True, False, True]))

    yield f
    numbers[1] = 7.0
    yield f
    numbers.append(-1.0)
    yield f


@footgun
def products_and_combinations():
    first, second = [1, 2], [3]

    def f(z):
        for one, two in itertools.product(first, second):
            z = z + one * two
        return z * len([*itertools.combinations(first, 2)]) + len([*itertools.zip_longest(first, second, fillvalue=0)])

    yield f
    second.append(5)
    yield f
    first.extend([7, 8])
    yield f


@footgun
def chains_of_maps_written_inside():
    base, over = {"a": 2.0}, {}
    chain = collections.ChainMap(over, base)

    def f(z):
        chain["n"] = chain.get("n", 0.0) + 1.0
        return z * chain["n"] + chain["a"]

    yield f
    yield f
    over["a"] = 5.0
    yield f
    base["n"] = 70.0
    del over["n"]
    yield f
    yield lambda z: z * over["n"] + base["n"]


@footgun
def children_of_chains():
    base = {"a": 2.0, "b": 1.0}

    def f(z):
        child = collections.ChainMap({}, base).new_child({"b": 3.0})
        return z * child["a"] + child["b"] + child.parents["b"]

    yield f
    base["a"] = 4.0
    yield f
    base["b"] = 9.0
    yield f


@footgun
def queues_of_the_standard_library():
    line = queue.SimpleQueue()
    for number in range(6):
        line.put(number + 1.0)

    def f(z):
        return z * line.get() + line.qsize()

    yield f
    line.put(9.0)
    yield f
    yield f


@footgun
def queues_by_priority():
    line = queue.PriorityQueue()
    for number in (5, 2, 8):
        line.put((number, "abcdefgh"[number - 1]))

    def f(z):
        number, name = line.get_nowait()
        print(name)
        line.put((number + 4, name))
        return z * number

    for _ in range(4):
        yield f


@footgun
def deques_that_rotate_and_are_full():
    kept = collections.deque([1.0, 2.0, 3.0], maxlen=3)

    def f(z):
        kept.rotate(1)
        kept.append(kept[0] * 2)
        return z * kept[-1] + kept[0]

    yield f
    yield f
    kept.extendleft([8.0, 9.0])
    yield f
    yield lambda z: z * kept[0] + kept[1] + kept[2]


@footgun
def sets_that_are_updated_inside():
    seen = set()
    box = Box(new="a")

    def f(z):
        is_new = box.new not in seen
        seen.add(box.new)
        return z * (2.0 if is_new else 3.0) + len(seen)

    for box.new in ("a", "a", "b", "a"):
        yield f
    seen.discard("a")
    yield f


@footgun
def operators_between_sets():
    first, second = {1, 2, 3}, frozenset((2, 3))

    def f(z):
        return z * len(first & second) + len(first ^ second) + (5.0 if second <= first else 6.0)

    yield f
    first.remove(2)
    yield f
    first.update((7, 8, 2))
    yield f


@footgun
def templates_of_text():
    template = string.Template("$a and $b")
    values = {"a": "x", "b": "yy"}

    def f(z):
        return z * len(template.substitute(values)) + len(template.template)

    yield f
    values["b"] = "long text"
    yield f
    template.template = "$a"
    yield f
    del values["a"]
    yield f


@footgun
def texts_with_fields_of_objects():
    box = Box(width=5, inner=Box(name="abc"), items=[1, 2])

    def f(z):
        text = "{0.inner.name:>{0.width}}{0.items[1]}|{1!r:.6}".format(box, z.shape)
        print(text)
        return z * len(text)

    yield f
    box.width = 9
    yield f
    box.inner.name = "a long name"
    yield f
    box.items[1] = 12345
    yield f


@footgun
def texts_by_format_map():
    values = {"a": 1.5, "b": 2}

    def f(z):
        print("{a:.2f} {b:03d}".format_map(values))
        return z * values["a"] + len(f"{values['b']:{values['b']}d}")

    yield f
    values["a"] = 12.25
    yield f
    values["b"] = 7
    yield f


@footgun
def formats_of_the_user():
    class Length:
        unit = "m"

        def __init__(self, size):
            self.size = size

        def __format__(self, spec):
            print("formatted", spec)
            return f"{self.size:{spec or '.1f'}}{self.unit}"

    length = Length(2.0)

    def f(z):
        return z * len(f"{length}") + len(f"{length:.3f}")

    yield f
    length.size = 1234.0
    yield f
    Length.unit = "miles"
    yield f


@footgun
def tables_that_translate():
    table = str.maketrans("ab", "xy")
    text = Box(of="aabbc")

    def f(z):
        return z * text.of.translate(table).count("x") + len(text.of.translate(table))

    yield f
    table[ord("b")] = "xx"
    yield f
    table[ord("c")] = None
    yield f


@refused("an object of a library that is not known to be pure gives an order that only the run knows")
def orders_of_a_graph(stage):
    before = {"b": ["a"], "c": ["b"]}

    def f(z):
        order = [*graphlib.TopologicalSorter(before).static_order()]
        return z * order.index("b") + len(order)

    f = stage.static(f)
    stage(f, x())


@footgun
def counters_of_a_class_of_the_user():
    class Votes(collections.Counter):
        pass

    votes = Votes("aab")

    def f(z):
        return z * votes.total() + (votes + votes)["a"] + len(votes - Votes("b"))

    yield f
    votes["a"] += 3
    yield f
    votes.update("bb")
    yield f


@footgun
def ordered_dicts_of_a_class_of_the_user():
    class Table(collections.OrderedDict):
        pass

    table = Table(a=2.0, b=3.0)

    def f(z):
        copied = Table(table)
        copied.move_to_end("a")
        return z * sum(dict(table).values()) + next(iter(copied.values())) + len(list(table))

    yield f
    table["c"] = 7.0
    yield f
    table.move_to_end("b", last=False)
    yield f


@footgun
def namespaces_that_change():
    space = types.SimpleNamespace(a=2.0, inner=types.SimpleNamespace(b=3.0))

    def f(z):
        space.calls = getattr(space, "calls", 0) + 1
        return z * space.a + space.inner.b + space.calls

    yield f
    space.a = 4.0
    yield f
    space.inner = types.SimpleNamespace(b=7.0)
    yield f
    del space.calls
    yield f


@footgun
def containers_in_containers_in_containers():
    table = {"a": [({"b": [1.0, 2.0]}, {3.0}), (None, [])]}

    def f(z):
        inner = table["a"][0]
        return z * inner[0]["b"][-1] + max(inner[1]) + len(table["a"][1][1])

    yield f
    table["a"][0][0]["b"].append(5.0)
    yield f
    table["a"][0][1].add(9.0)
    yield f
    table["a"][1][1].extend([1, 2])
    yield f
    table["a"][0] = ({"b": [8.0]}, {0.0})
    yield f


@footgun
def containers_that_are_copied_inside():
    table = {"a": [1.0, 2.0], "b": Box(k=3.0)}

    def f(z):
        flat, deep = copy.copy(table), copy.deepcopy(table)
        flat["a"].append(4.0)
        deep["a"].append(100.0)
        deep["b"].k += 50.0
        return z * sum(flat["a"]) + sum(deep["a"]) + deep["b"].k + table["b"].k

    yield f
    yield f
    table["b"].k = 5.0
    yield f
    yield lambda z: z * len(table["a"])


@footgun
def proxies_that_are_weak():
    owner = Box(k=2.0)
    proxy = weakref.proxy(owner)

    def f(z):
        return z * proxy.k

    yield f
    owner.k = 3.0
    yield f
    proxy.k = 4.0
    yield f
    del owner
    yield f


@footgun
def dictionaries_with_weak_values():
    held = {"a": Box(k=2.0), "b": Box(k=3.0)}
    table = weakref.WeakValueDictionary(held)

    def f(z):
        found = table.get("b")
        return z * (found.k if found is not None else 10.0) + len(table)

    yield f
    held["b"].k = 5.0
    yield f
    del held["b"]
    yield f


@footgun
def finalizers_that_are_asked():
    owner = Box()
    end = weakref.finalize(owner, print, "gone")

    def f(z):
        return z * (2.0 if end.alive else 3.0)

    yield f
    end()
    yield f
    yield f


@footgun
def readers_of_fields():
    box = Box(a=Box(b=2.0), c=3.0)
    read = Box(all=operator.attrgetter("a.b", "c"), one=operator.itemgetter(1))
    read.call = operator.methodcaller("count", "a")

    def f(z):
        first, second = read.all(box)
        return z * first + second + read.one((5.0, 7.0)) + read.call("banana")

    yield f
    box.a.b = 4.0
    yield f
    read.all = operator.attrgetter("c", "a.b")
    yield f
    read.call = operator.methodcaller("index", "n")
    yield f


@footgun
def partial_functions_that_change():
    def scaled(z, k, *, shift=0.0):
        return z * k + shift

    part = functools.partial(scaled, k=2.0)

    def f(z):
        return part(z, shift=part.keywords["k"])

    yield f
    part.keywords["k"] = 5.0
    yield f
    part.__setstate__((lambda z, k, shift: z - k - shift, (), {"k": 3.0}, None))
    yield f


@footgun
def methods_that_are_partial():
    class Scaler:
        base = 2.0

        def scaled(self, z, k):
            return z * k * self.base

        double = functools.partialmethod(scaled, k=2.0)

    scaler = Scaler()

    def f(z):
        return scaler.double(z)

    yield f
    Scaler.base = 3.0
    yield f
    Scaler.double = functools.partialmethod(Scaler.scaled, k=7.0)
    yield f
    Scaler.scaled = lambda self, z, k: z - k
    yield f


@footgun
def contexts_that_are_entered_inside():
    depth = Box(of=0, left=[])

    @contextlib.contextmanager
    def deeper(by):
        depth.of += by
        try:
            yield depth.of * 1.0
        finally:
            depth.left.append(depth.of)
            depth.of -= 1

    def f(z):
        with deeper(1) as one, deeper(2) as two:
            z = z * one + two
        return z * constant(depth.of)

    yield f
    yield f
    depth.of = 10
    yield f
    yield lambda z: z * len(depth.left) + depth.left[-1]
