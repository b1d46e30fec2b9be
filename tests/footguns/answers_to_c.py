"""Objects of the user that code written in C asks: for what a dict does not hold, for numbers, for truth."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import math
import operator
import string

from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, x


class Number:
    """Says which number it is, and that it was asked."""

    def __init__(self, number, log):
        self.number, self.log = number, log

    def __index__(self):
        self.log.append("asked")
        return self.number


class Judged:
    """Says whether it is true, and that it was asked."""

    def __init__(self, answer, log):
        self.answer, self.log = answer, log

    def __bool__(self):
        self.log.append("judged")
        return self.answer


class Told(dict):
    """A dict that tells what it is asked for in vain."""

    def __init__(self, log, **held):
        super().__init__(**held)
        self.log = log

    def __missing__(self, key):
        self.log.append(key)
        return f"<{key}>"


def asking_numbers(use):
    """A scenario: `use(number)` with another number each time, and how often it was asked."""

    def play():
        log = []
        number = Number(2, log)

        def f(z):
            return z * use(number) + len(log)

        yield f
        yield f
        number.number = 3
        yield f
        number.number = 0
        yield f

    functools.update_wrapper(play, use)
    return footgun(play)


@asking_numbers
def slices_of_lists(number):
    return len([1, 2, 3, 4][number:]) + len((1, 2, 3)[:number]) + len("abcd"[number:3]) + len(range(9)[::number or 1])


@asking_numbers
def slices_that_are_objects(number):
    cut = slice(number, None)
    return len([1, 2, 3, 4][cut]) + (cut.start is number)


@asking_numbers
def slices_written_and_deleted(number):
    kept = [1, 2, 3, 4]
    kept[number:] = [9]
    del kept[:number]
    return len(kept)


@asking_numbers
def places_in_lists(number):
    kept = [5, 6, 7, 8]
    kept.insert(number, 1)
    return kept.pop(number) + kept.pop(number) + kept.index(8, 0)


@asking_numbers
def bounds_of_searches(number):
    return "abcdabcd".find("d", number) + [1, 2, 3, 3].index(3, number) + (4, 5, 6, 6).index(6, number)


@asking_numbers
def repeated_sequences(number):
    return len([0] * number) + len(number * "ab") + len((1,) * number)


@asking_numbers
def repeated_in_place(number):
    kept = [1, 2]
    kept *= number
    return len(kept)


@asking_numbers
def widths_of_texts(number):
    return ("a".zfill(number) + "b".ljust(number, "0") + "c".center(number, "0")).count("0")


@asking_numbers
def numbers_for_texts(number):
    replaced = "aaaa".replace("a", "b", number).count("b")
    return len("a,b,c,d".split(",", number)) + replaced + len("a\tb".expandtabs(number))


@asking_numbers
def rotated_deques(number):
    kept = collections.deque([1, 2, 3, 4])
    kept.rotate(number)
    kept.insert(number, 9)
    return kept[0] * 10 + kept.index(9)


@asking_numbers
def parts_of_iterators(number):
    return len([*itertools.islice([1, 2, 3, 4], number)]) + len([*itertools.repeat(1, number)])


@asking_numbers
def combinations_of_so_many(number):
    return len([*itertools.combinations("abcd", number)]) + len([*itertools.permutations("abcd", r=number)])


@asking_numbers
def counted_from_an_object(number):
    return [*enumerate("ab", number)][1][0] + next(enumerate("ab", start=number))[0]


@asking_numbers
def characters_and_digits(number):
    return len(bin(number)) + ord(chr(number)) + len(hex(number)) + round(2.3456, number)


@asking_numbers
def items_by_operator(number):
    return operator.getitem([4, 5, 6, 7], number) + operator.itemgetter(1)([number.number, 2])


@footgun
def bounds_of_tensors():
    log = []
    number = Number(1, log)

    def f(z):
        return z[number:].sum() * 2 + z[..., : number.__index__()] + len(log)

    yield f
    number.number = 2
    yield f
    log.append("more")
    yield f


@footgun
def elements_of_bytes():
    log = []
    number, data = Number(2, log), bytearray(b"abcd")

    def f(z):
        data.append(number)
        data.insert(number, number)
        return z * data[number] + len(data) + len(log)

    yield f
    yield f
    number.number = 1
    yield f


@footgun
def filtered_by_truth():
    log = []
    first, second = Judged(True, log), Judged(False, log)

    def f(z):
        kept = [*filter(None, [first, second, 0, 1])]
        dropped = [*itertools.filterfalse(None, [first, second])]
        return z * len(kept) + len(dropped) + len([*itertools.compress("ab", [first, second])]) + len(log)

    yield f
    yield f
    second.answer = True
    yield f
    first.answer = False
    yield f


@footgun
def alternatives_by_truth():
    log = []
    first = Judged(True, log)

    def f(z):
        one = first and 2.0
        other = first or 5.0
        return z * (one if one is not first else 7.0) + (other if other is not first else 8.0) + len(log)

    yield f
    yield f
    first.answer = False
    yield f


@footgun
def alternatives_whose_truth_is_an_effect():
    queue = [True, False, True, True, False, True]

    class Next:
        def __bool__(self):
            return queue.pop(0)

    item = Next()

    def f(z):
        return z * 2 if (item and 1) else z * 3

    for _ in range(4):
        yield f
    yield lambda z: z * len(queue)


@footgun
def all_and_any_by_truth():
    log = []
    first, second = Judged(True, log), Judged(False, log)

    def f(z):
        return z * (2 if all([first, second]) else 3) + (4 if any([second, first]) else 5) + len(log)

    yield f
    second.answer = True
    yield f
    first.answer = False
    yield f


@footgun
def what_a_dict_makes_up():
    log, box = [], Box(key="a")
    table = Told(log, a="x")

    def f(z):
        return z * len(table[box.key]) + len(table.get(box.key, "long default")) + len(log)

    for box.key in "abba":
        yield f
    table["b"] = "yes"
    yield f


@footgun
def what_a_dict_stores_when_asked():
    class Squares(dict):
        def __missing__(self, key):
            print("made", key)
            self[key] = key * key
            return self[key]

    squares, box = Squares(), Box(key=2)

    def f(z):
        return z * squares[box.key] + len(squares)

    for box.key in (2, 3, 2, 4):
        yield f
    Squares.__missing__ = lambda self, key: 100
    box.key = 9
    yield f


@footgun
def dicts_made_inside_that_make_up():
    log = []

    def f(z):
        table = Told(log, a="x")
        return z * len(table["b"]) + len(table["a"]) + len(log)

    yield f
    yield f
    Told.__missing__, before = (lambda self, key: "replaced"), Told.__missing__
    yield f
    Told.__missing__ = before
    yield f


@footgun
def texts_of_a_dict_that_makes_up():
    log = []
    table = Told(log, a="x")

    def f(z):
        print("{a} {b}".format_map(table), "%(a)s %(c)s" % table, "{[d]}".format(table))
        return z + 1

    yield f
    yield f
    table["b"] = "now"
    yield f
    yield lambda z: z * len(log)


@refused("a Template made inside is asked with a dict of the user: its class belongs to code that is not traced")
def templates_of_a_dict_that_makes_up(stage):
    log = []
    table = Told(log, a="x")

    def f(z):
        return z * len(string.Template("$a $b").safe_substitute(table)) + len(log)

    f = stage.static(f)
    stage(f, x())


@footgun
def templates_from_outside_and_such_a_dict():
    log = []
    table, template = Told(log, a="x"), string.Template("$a $b")

    def f(z):
        print(template.safe_substitute(table))
        return z * 2

    yield f
    yield f
    table["b"] = "now"
    yield f
    yield lambda z: z * len(log)


@footgun
def factories_that_are_methods():
    class Maker:
        def __init__(self):
            self.count = 0

        def make(self):
            self.count += 1
            return self.count * 1.5

    maker, box = Maker(), Box(key="a")
    table = collections.defaultdict(maker.make)

    def f(z):
        return z * table[box.key] + maker.count

    for box.key in "abac":
        yield f
    maker.count = 10
    box.key = "d"
    yield f


@footgun
def factories_asked_by_methods():
    log, box = [], Box(keys=["a", "b"])

    def new():
        log.append(1)
        return len(log) * 2.0

    table = collections.defaultdict(new)

    def f(z):
        return z * sum(map(table.__getitem__, box.keys)) + len(table) + len(log)

    yield f
    yield f
    box.keys = ["c", "a"]
    yield f


@footgun
def factories_of_tables_in_tables():
    table = collections.defaultdict(lambda: collections.defaultdict(int))
    box = Box(outer="a", inner="x")

    def f(z):
        table[box.outer][box.inner] += 1
        return z * table[box.outer][box.inner] + len(table)

    yield f
    yield f
    box.inner = "y"
    yield f
    box.outer = "b"
    yield f


@footgun
def augmented_items_that_were_missing():
    counts = collections.defaultdict(lambda: 10.0)

    def f(z):
        counts["a"] += 1.0
        counts["b"] -= counts["a"]
        return z * counts["b"]

    yield f
    yield f
    counts.clear()
    yield f


class Ranked:
    """Compared by its rank; says so."""

    def __init__(self, rank, log):
        self.rank, self.log = rank, log

    def __eq__(self, other):
        self.log.append("equal")
        return self.rank == other.rank

    def __lt__(self, other):
        self.log.append("less")
        return self.rank < other.rank

    __hash__ = None


class Measure:
    """Gives a float when it is asked for one; says so."""

    def __init__(self, size, log):
        self.size, self.log = size, log

    def __float__(self):
        self.log.append("float")
        return self.size


def asking_ranks(use):
    """A scenario: `use(things, log)` with things whose ranks change, and how often they were compared."""

    def play():
        log = []
        things = [Ranked(rank, log) for rank in (3, 1, 2)]

        def f(z):
            return z * use(things, log) + len(log)

        yield f
        yield f
        things[1].rank = 5
        yield f
        things.append(Ranked(0, log))
        yield f

    functools.update_wrapper(play, use)
    return footgun(play)


@asking_ranks
def found_in_lists(things, log):
    wanted = Ranked(2, log)
    return things.index(wanted) + things.count(wanted) * 10 + (wanted in things) * 100


@asking_ranks
def heaps_of_objects(things, log):
    heap = list(things)
    heapq.heapify(heap)
    heapq.heappush(heap, Ranked(4, log))
    return heapq.heappop(heap).rank * 10 + heap[0].rank + heapq.heapreplace(heap, things[0]).rank


@asking_ranks
def heaps_of_pairs(things, log):
    heap = [(1, thing) for thing in things]
    heapq.heapify(heap)
    return heapq.heappop(heap)[1].rank


@asking_ranks
def sorted_lists_of_objects(things, log):
    kept = sorted(things)
    bisect.insort(kept, Ranked(2, log))
    return kept[1].rank * 10 + bisect.bisect_left(kept, Ranked(2, log))


@asking_ranks
def lists_compared_by_parts(things, log):
    other = [Ranked(3, log), Ranked(1, log), Ranked(9, log)]
    return (things < other) + (tuple(things) <= tuple(other)) * 2 + (things == other) * 4 + (other > things) * 8


@asking_ranks
def pairs_put_in_order(things, log):
    pairs = [(thing, number) for number, thing in enumerate(things)]
    return max(pairs)[1] * 10 + sorted(pairs)[0][1]


@footgun
def floats_of_objects():
    log = []
    measure = Measure(2.25, log)

    def f(z):
        total = math.fsum([measure, 1.0]) + math.dist([measure], [1.0]) + complex(measure).real + float(measure)
        return z * total + math.sqrt(measure) + len("%.1f" % measure) + len(log)

    yield f
    yield f
    measure.size = 4.0
    yield f


@footgun
def numbers_that_are_floats_by_their_index():
    log = []
    number = Number(3, log)

    def f(z):
        return z * float(number) + complex(number).real + int(number) + math.gcd(number, 6) + len(log)

    yield f
    number.number = 4
    yield f


@footgun
def products_of_objects():
    log = []

    class Factor:
        def __init__(self, k):
            self.k = k

        def __mul__(self, other):
            log.append("times")
            return other * self.k

        __rmul__ = __mul__

    factor = Factor(2.0)

    def f(z):
        return z * math.prod([factor, 3.0]) + functools.reduce(operator.mul, [factor, 2.0, factor]) + len(log)

    yield f
    yield f
    factor.k = 5.0
    yield f


@footgun
def attributes_asked_for_with_a_default():
    class Told:
        def __get__(self, instance, owner):
            print("got")
            return 2.0

    class Thing:
        told = Told()
        k = 3.0

        @property
        def asked(self):
            print("asked")
            return self.k

        @property
        def broken(self):
            print("broken")
            return self.none

    thing = Thing()

    def f(z):
        z = z * getattr(thing, "told", 1.0) + getattr(thing, "asked", 1.0) + getattr(thing, "broken", 5.0)
        young = Thing()
        z = z + hasattr(thing, "told") + hasattr(young, "asked") + hasattr(young, "broken")
        return z + getattr(young, "asked", 1.0) + hasattr(Thing, "told") + getattr(thing, "none", 7.0)

    yield f
    thing.k = 4.0
    yield f
    Thing.none = 10.0
    yield f


@footgun
def methods_of_operators_called_by_name():
    number = Number(2, [])

    def f(z):
        given = (3).__add__(number), (2.5).__mul__(number)
        return z * (2.0 if given[0] is NotImplemented and given[1] is NotImplemented else 3.0)

    yield f
    yield f
