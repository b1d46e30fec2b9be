"""Every construct of Python: the converted function does what the original does.

PYTEST_DONT_REWRITE: the originals have to be what Python makes of them.
"""

# ruff: noqa
# The functions here are odd on purpose.

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools

import pytest

from d2s.transpiler import transpile

LOG = []
CASES = []


def log(value):
    LOG.append(value)
    return value


def case(*calls):
    """Register a function to be run on each of these argument tuples."""

    def register(fn):
        CASES.append(pytest.param(fn, calls, id=fn.__name__))
        return fn

    return register


ints = [(n,) for n in range(-1, 8)]
pairs = [(a, b) for a in range(4) for b in range(4)]


@case(*ints)
def if_elif_else(x):
    if x > 3:
        y = log("big")
    elif x == 2:
        y = log("two")
    else:
        y = log("small")
    return y


@case(*ints)
def early_returns(x):
    if x == 0:
        return "zero"
    elif x > 5:
        return "many"
    y = x * 2
    if y == 4:
        return -y
    log(y)


@case(*pairs)
def mixed_returns(a, b):
    if a:
        log("a")
        if b == 1:
            return "b1"
        log("after")
    else:
        if b == 2:
            return "b2"
    log("rest")
    return a, b


@case(*pairs)
def return_in_with(a, b):
    with contextlib.nullcontext(a) as c:
        if b == 1:
            return log("one")
        log(c)
        if b == 2:
            log("two")
    log("after")
    return b


@case(*pairs)
def return_overridden_on_the_way_out(a, b):
    class Manager:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            if a == 1:
                raise ValueError("exit")

    try:
        with Manager():
            if b == 1:
                return "returned"
            log("in")
    except ValueError:
        log("caught")
    return "end"


@case(*ints)
def bool_operands(x):
    return [x and "and", x or "or", x and x - 1 and x - 2, x or x - 1 or "last", not x, not (x and x > 1)]


@case(*pairs)
def short_circuit(a, b):
    log("x") if a and log(b) or log("c") else log("y")
    return (log(a) and log(b)) or log("end")


@case(*pairs)
def ternaries(a, b):
    return "p" if a else "q" if b else "r", (a if a > b else b) + 1


@case(*pairs)
def chained_comparisons(a, b):
    return 0 < log(a) < 3, 0 <= a < b <= 2, log(a) < log(b) < log(2) < log(9), a < b != 2, 1 < 2 < b


@case(*pairs)
def while_loops(a, b):
    total = 0
    while a > 0:
        a -= 1
        while b > 0:
            b -= 1
            total += a * 10 + b
            if total > 30:
                break
        else:
            total += 100
    return total


@case(*ints)
def endless_loop(x):
    n = 0
    while True:
        n += 1
        if n > x:
            break
        if n == 3:
            continue
        log(n)
    return n


@case(*pairs)
def for_else(a, b):
    for i in range(a):
        if i == b:
            log("break")
            break
        log(i)
    else:
        log("else")
    return a


@case(*pairs)
def continue_and_break(a, b):
    out = []
    for i in range(5):
        if i == a:
            continue
        if i == b:
            log(i)
            if a > 1:
                break
        elif i == 3:
            out.append("three")
            continue
        out.append(i)
    return out, i


@case(*pairs)
def nested_loops_with_flags(a, b):
    seen = []
    for i in range(4):
        for j in range(4):
            if j == a:
                break
            if i == b:
                continue
            seen.append((i, j))
        else:
            seen.append("else")
            if i == 2:
                break
        if i == 3:
            return "i3", seen
    return seen


@case(*pairs)
def return_from_nested_loops(a, b):
    for i in range(3):
        while True:
            for j in (0, 1, 2):
                if (i, j) == (a, b):
                    return log((i, j))
                if j == 1:
                    break
            log("inner")
            break
    return "none"


@case(*pairs)
def break_in_try_finally(a, b):
    for i in range(4):
        try:
            if i == a:
                break
            if i == b:
                continue
            log(i)
        finally:
            log("finally")
    return i


@case(*pairs)
def try_else_with_exits(a, b):
    out = []
    for i in range(4):
        try:
            if i == a:
                continue
            if i == b:
                raise ValueError(i)
            out.append(i)
        except ValueError as error:
            out.append(str(error))
            if i == 2:
                break
        else:
            out.append("else")
        finally:
            out.append("fin")
    return out


@case(*pairs)
def return_in_try(a, b):
    try:
        if a == 1:
            return log("try")
        if a == 2:
            raise KeyError(b)
        log("body")
    except KeyError:
        if b == 1:
            return "handler"
        log("handled")
    else:
        if b == 2:
            return "else"
        log("else")
    finally:
        log("finally")
    return "end"


@case(*pairs)
def finally_that_leaves(a, b):
    for i in range(3):
        try:
            if a:
                raise ValueError
            log(i)
        finally:
            if b:
                break
    return i


@case(*pairs)
def finally_that_overrides(a, b):
    for i in range(4):
        try:
            if a == i:
                return log("body")
            if b == i:
                break
        finally:
            log(i)
            if a == 1 and i < 2:
                continue
            if b == 2 and i == 2:
                return "ending"
        log("behind")
    else:
        return "else"
    return i


@case(*pairs)
def error_behind_an_exit_of_a_finally(a, b):
    class Manager:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            if a == 1:
                raise KeyError("exit")

    try:
        while True:
            try:
                if b == 1:
                    raise ValueError
            finally:
                with Manager():
                    if b < 3:
                        break
            return "behind"
    except (KeyError, ValueError) as error:
        return repr(error), repr(error.__context__)
    return "end"


@case(*pairs)
def finallys_inside_of_finallys(a, b):
    for i in range(3):
        try:
            try:
                log(1 // a)
            finally:
                try:
                    if b == i:
                        return log("inner")
                finally:
                    if a == i:
                        continue
        except ZeroDivisionError as error:
            log(repr(error))
            if b == 3:
                raise
        finally:
            if b == 2:
                break
    return i


@case(*ints)
def read_in_a_finally_behind_del(x):
    try:
        y = log(x)
    except ValueError:
        pass
    else:
        del y
        if x > 2:
            return log(x)
    finally:
        log(x < 5 or y)


@case(*ints)
def read_behind_exits_that_unbind(x):
    c = 0
    try:
        for i in range(3):
            if i == 2:
                print(c)
            try:
                log(6 // (x - i))
            except ZeroDivisionError as c:
                c = 1
                continue
            finally:
                log(i)
        for d in range(2):
            try:
                if x > d:
                    break
            finally:
                del d
        return x > 6 or d
    except NameError as error:
        return repr(error)


@case(*ints)
def bound_in_the_message_of_an_assert(x):
    try:
        assert x > 2 or x < 0, (y := x)
        return x > 5 or y
    except NameError as error:
        return repr(error)


@case(*ints)
def names_of_what_nothing_leads_to(x):
    match x:
        case 2:
            if log(x):
                return 2
    try:
        log(x)
    except KeyError:
        raise
    else:
        return log(3)
    for a, b in enumerate(x):
        c, b = (log(c), b)


@case(*ints)
def raise_in_branch(x):
    if x > 3:
        raise ValueError(f"got {x}")
    if x == 2:
        raise KeyError("two") from ValueError("cause")
    return x


@case(*ints)
def asserts(x):
    assert x is not None
    assert x > 0, log(f"x is {x}")
    assert x != 3
    return x


@case(*ints)
def bound_in_one_branch(x):
    if x > 2:
        y = x
    if x > 0:
        log("positive")
        return y + 1
    return 0


@case(*ints)
def unbound_in_operand(x):
    for i in range(x):
        last = i
    return x > 100 or last


@case(*ints)
def unbound_after_del(x):
    y = x
    if x > 1:
        del y
    if x > 0:
        del y
    return y


@case(*ints)
def unbound_augmented(x):
    if x > 2:
        y = 1
    if x:
        y += x
    return y


@case(*ints)
def unbound_is_caught(x):
    if x > 2:
        y = 1
    if x:
        try:
            log(y)
        except UnboundLocalError as error:
            log(str(error))
    return x


@case(*ints)
def loop_variable_after_loop(x):
    for i in range(x):
        pass
    return i


@case(*ints)
def walrus_everywhere(x):
    if (y := x + 1) > 3 and (z := y * 2) < 12:
        log(z)
    while (x := x - 1) > 0 and (w := x % 3) != 1:
        log(w)
    a = [v for u in range(4) if u and (v := u * x) >= 0]
    b = x > 1 or (c := x)
    return y, x, a, b, (v, c) if b is not True and a else None


@case(*ints)
def walrus_in_lambda(x):
    return (lambda n: n and (m := n + 1) and m)(x)


@case(*ints)
def comprehensions(x):
    a = [i if i > x else -i for i in range(4) if i != 2 and x]
    b = {i: j for i in range(3) for j in range(i) if not (i == x)}
    c = {i % 2 or x for i in range(x)}
    d = sum(i for i in range(x) if i or x)
    return a, b, sorted(c), d, [[i * j for j in range(i) if j] for i in range(3)]


@case((5,), ([1, 2, 3],), ([1],), ({"k": 1, "z": 2},), ("a",), ((1, (2, 3)),), (None,))
def match_statement(v):
    match v:
        case [a, b, *rest] if a < b:
            return ("list", a, b, rest)
        case [a]:
            r = a
        case {"k": k, **others}:
            r = (k, others)
        case "a" | "b" as letter:
            if letter == "a":
                return log(letter)
            r = letter
        case int(n) if n > 3:
            r = n
        case (x, (y, z)):
            r = x + y + z
        case _:
            r = "default"
    return r


@case(*ints)
def closures_share_cells(x):
    count = 0

    def bump(by=1):
        nonlocal count
        count += by
        return count

    if x > 2:
        bump()
        count += 10
        bump(5)
    for i in range(x):
        bump(i)
        if count > 20:
            count = -count
    return count, bump()


@case(*ints)
def late_binding(x):
    late, fixed = [], []
    for i in range(3):
        late.append(lambda: i + x)
        fixed.append(lambda i=i: i + x)
    if x > 1:
        x = 100
    return [f() for f in late], [f() for f in fixed]


@case(*ints)
def recursion(n):
    def fact(k):
        if k <= 1:
            return 1
        return k * fact(k - 1)

    return fact(n)


COUNTER = 0


@case(*ints)
def global_writes(x):
    if x > 1:
        global COUNTER
        COUNTER = x
        for _ in range(x):
            COUNTER += 1
    try:
        return COUNTER
    finally:
        COUNTER = 0


@case(*ints)
def global_del_and_walrus(x):
    global MADE
    MADE = x
    if x > 2:
        del MADE
    found = (MADE := x) if x == 1 else "no"
    return found, "MADE" in globals() and MADE


@case(*ints)
def generator_inside(x):
    def gen(n):
        while n:
            if n == 2:
                yield "two"
            n -= 1
            got = yield n
            if got:
                return got

    return list(gen(max(x, 0)))


@case(*ints)
def generator_itself(x):
    for i in range(x):
        if i == 2 and x:
            continue
        yield i if i else "zero"


@case(*ints)
def nested_classes(x):
    class Base:
        kind = "base" if x else "none"

        def get(self):
            if x > 2:
                return "big"
            return self.kind

    class Child(Base):
        __secret = 7

        def get(self):
            if x > 1:
                return super().get() + str(self.__secret)
            while True:
                return "one" and super().get()

    return Child().get(), Base.__qualname__, Child.get.__qualname__


@case(*ints)
def star_arguments(x):
    def inner(a, /, b=2, *rest, c, d=4, **more):
        if a > 1:
            return a, b, rest, c, d, more
        return rest

    return inner(x, *range(3), c=1, **{"e": x})


@case(*ints)
def decorated_inside(x):
    def twice(fn):
        @functools.wraps(fn)
        def wrapper(*args):
            if args[0] > 2:
                return fn(*args), fn(*args)
            return (fn(*args),)

        return wrapper

    @twice
    @functools.lru_cache(maxsize=None)
    def inner(v):
        return log(v)

    return inner(x), inner.__name__, inner.__qualname__


@case(*ints)
def with_managers(x):
    @contextlib.contextmanager
    def scope(name):
        log("enter " + name)
        try:
            yield name
        finally:
            log("exit " + name)

    with scope("a") as a, scope("b"):
        if x > 3:
            return log(a)
        for i in range(x):
            if i == 1:
                break
        log("end")
    return x


@case(*ints)
def suppressed(x):
    with contextlib.suppress(ValueError):
        if x > 1:
            if x > 3:
                return "four"
            raise ValueError
        return "small"
    return "suppressed"


@case(*ints)
def targets_of_all_kinds(x):
    class Box:
        pass

    box, cells = Box(), [0, 1, 2, {}]
    box.a, cells[0], *rest = x, log("v"), 3, 4
    (box.b, (cells[1], c)), d = (1, (2, 3)), 4
    cells[log(1)] += x
    cells[3]["k"] = box.c = cells[1:3] = [7, 8]
    box.a += 5
    cells[0:1] *= 2
    for box.i in range(x):
        for cells[2], box.j in [(1, 2)]:
            log(box.j)
    with contextlib.nullcontext(5) as box.w:
        pass
    del cells[0], box.b
    return cells, vars(box), rest, c, d


@case(*ints)
def annotations(x):
    y: int
    z: str = "z"
    if x > 1:
        w: int = x
        y = w
    else:
        y = 0
        q: int
    return y, z


@case(*ints)
def f_strings(x):
    return f"{x:>{x + 3}}|{x!r}|{x=}|{'a' if x > 1 else 'b'}|{x and 1:03d}"


@case(*ints)
def iterables(x):
    out = []
    for i, (a, b) in enumerate(zip(range(x), "abc", strict=False), 1):
        out += [i, a, b]
    for k, v in {"p": x}.items():
        out.append((k, v))
    for n in itertools.count():
        if n * n > x:
            break
    for r in reversed(range(2)):
        out.append(r)
    iterator = iter(range(10))
    for v in iterator:
        if v == x:
            break
    return out, n, next(iterator, "end")


@case(*ints)
def imports_in_branches(x):
    if x > 2:
        import os.path
        from math import sqrt as root

        return os.path.basename("a/b"), root(4)
    import math as m

    return m.floor(2.5)


@case(*ints)
def user_names_like_generated(body):
    if_else, returned, item = 1, 2, 3
    test = orelse = result = broke = body
    for value in range(3):
        if value == body:
            return test, "returned"
        if value == 2:
            break
        item += value
    and_ = if_else and orelse
    return and_, item, returned, result, broke


@case(*ints)
def exceptions_keep_their_line(x):
    y = 1
    if x > 2:
        for i in range(3):
            y = (
                y
                + 1 // (x - 3 - i)
            )  # fmt: skip
    return y and 1 // x


@case(*ints)
def exception_groups(x):
    try:
        if x > 2:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
        log("fine")
    except* ValueError as group:
        log(len(group.exceptions))
    except* TypeError:
        log("type")
    return x


@case(*ints)
def dead_code_keeps_scopes(x):
    def inner():
        return COUNTER_LIKE

    if x > 1:
        return "early"
    else:
        return x
    COUNTER_LIKE = 3
    return inner()


@case(*ints)
def delete_in_loop(x):
    for i in range(x):
        if i:
            log(t)
            del t
        t = i
    return x


@case(*ints)
def exception_name_is_deleted(x):
    e = "before"
    try:
        if x > 1:
            raise ValueError(x)
    except ValueError as e:
        log(str(e))
    return e


@case(*ints)
def membership_and_identity(x):
    if x in (1, 2) or x is None:
        return "in"
    if x not in range(5):
        return "not in"
    return [v for v in range(3) if v in (x, 1)]


@case(*ints)
def stop_iteration_passes(x):
    it = iter(range(x))
    while True:
        if next(it) == 2:
            return "two"


@case((3,), (0,))
def number_literals(x):
    if x:
        return -(1**2), 1e400, -0.0, 10**30, 0xFF, 1_000, 2j, -(x**2)
    return b"\x00", "tab\t", r"\d", "\N{BULLET}"


@case(*ints)
def lambda_defaults(x):
    f = lambda a, b=x or 5, *c, d=(x if x > 1 else 9): (a and b, c, d)  # noqa: E731
    return f(1), f(0, 2, 3)


@case(*ints)
def coroutines_stay(x):
    async def work(n):
        total = 0
        async for v in numbers(n):
            if v == 2:
                continue
            total += v if v else 10
        async with manager() as m:
            while total and m:
                total -= await later(m)
                if total < 3:
                    return total
        return -1

    async def numbers(n):
        for i in range(n):
            yield i and i + 1

    async def later(v):
        return v or 1

    @contextlib.asynccontextmanager
    async def manager():
        log("in")
        yield 2
        log("out")

    return asyncio.run(work(x))


@case(*ints)
def deleted_by_a_function_inside(x):
    def delete():
        nonlocal y
        if x > 1:
            del y

    y = x
    delete()
    if x:
        return y
    return -1


@case(*ints)
def bare_raise_in_branch(x):
    try:
        try:
            1 // (x - 2)
        except ZeroDivisionError:
            if x:
                log("again")
                raise
    except ArithmeticError as error:
        return str(error), type(error.__context__)
    return x


@case(*pairs)
def match_with_exits_in_loop(a, b):
    out = []
    for i in range(5):
        match (i, a):
            case (0, _):
                continue
            case (n, m) if n == m and b:
                break
            case (3, 1):
                return "three"
            case (n, _):
                out.append(n)
        out.append("end")
    else:
        out.append("else")
    return out


@case(*pairs)
def while_else_with_continue(a, b):
    while a < 6:
        a += 1
        if a % 2:
            continue
        if a == b + 2:
            break
        log(a)
    else:
        log("else")
        a = 100
    return a


@case(*pairs)
def finally_runs_between_exits(a, b):
    def inner():
        for i in range(3):
            try:
                try:
                    if i == a:
                        return log("return")
                    if i == b:
                        raise KeyError(i)
                finally:
                    log(("inner", i))
            except KeyError:
                log("caught")
                continue
            finally:
                log(("outer", i))
        return "end"

    return inner()


@case(*ints)
def deletions(x):
    a = b = c = [1, 2, 3]
    if x > 1:
        del (a, b), c[0]
    if x == 1:
        del c
    return a, c


@case(*ints)
def calls_with_everything(x):
    def show(*args, **kwargs):
        return args, sorted(kwargs.items())

    rest, more = [x, log("r")], {"k": x, "z": 1}
    return show(log(1), *rest, log(2), *rest, a=log(3), **more, **{"q": x and 5})


@case(*ints)
def conditional_functions(x):
    if x > 2:

        def pick(v):
            return "big", v

        class Kind:
            size = x
    else:
        pick = lambda v: ("small", v)

        class Kind:
            size = -1

    return pick(x), Kind.size, Kind.__qualname__


@case(*ints)
def nested_scopes_write_outwards(x):
    a = b = 0

    def one():
        nonlocal a
        a += 1

        def two():
            nonlocal a, b
            if x > 1:
                a, b = b + 10, a
            for b in range(x):
                if b == 3:
                    break

        two()
        return a

    for _ in range(4):
        one()
        if b > 2 or x < 2:
            break
    return a, b


@case(*ints)
def conditions_of_all_types(x):
    class Truth:
        def __init__(self, name, value):
            self.name, self.value = name, value

        def __bool__(self):  # how often it is asked is not kept: see `and_` under `if_else`
            return self.value

    a, b = Truth("a", x > 1), Truth("b", x > 3)
    found = a and b or not a
    if a and not b:
        log("only a")
    while b:
        log("loop")
        break
    return found is a, found is b, (a or b) is a, "yes" if b else "no", [v for v in (1, 2) if a]


class Chained:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        log(("lt", self.value))
        return [] if self.value > 2 else [self.value]


@case(*ints)
def chained_comparison_gives_operands(x):
    return Chained(x) < Chained(1) < Chained(2), (Chained(0) < Chained(x) < 9) or "none"


@case(*ints)
def sequence_of_flags(x):
    done = False
    n = 0
    while not done:
        n += 1
        if n > x:
            done = True
            continue
        for k in range(n):
            if k == 2:
                done = n > 3
                break
        else:
            log("no break")
            continue
        log(k)
    return n, done


@case(*ints)
def recursion_through_a_branch(x):
    def walk(tree):
        if isinstance(tree, list):
            total = 0
            for part in tree:
                total += walk(part)
            return total
        return tree if tree > x else 0

    return walk([1, [2, [3, 4]], [], 5])


@case(*ints)
def long_elif_chain(x):
    if x == 0:
        r = "a"
    elif x == 1:
        return "b"
    elif x == 2:
        r = "c"
    elif x == 3:
        raise LookupError(x)
    elif x == 4:
        pass
    else:
        r = "d"
    return r


@case(*ints)
def empty_and_bare(x):
    if x > 2:
        ...
    elif x:
        pass
    for _ in range(x):
        pass
    while False:
        pass
    if x == 1:
        return
    log(x)


@case((1.5,), ("s",), (None,), ([],), (0,))
def truth_of_any_type(v):
    if v:
        r = [v]
    elif v is None:
        r = "none"
    else:
        r = not v
    return r, v and 1, v or 2, v == v and v


def make_counter():
    total = 0

    def count(x):
        nonlocal total
        for i in range(x):
            total += i
            if total > 10:
                total = -total
                break
        if x == 2:
            del total
            try:
                return total
            except NameError as error:
                log(str(error))
            total = 0
        (last := total)
        return total, last

    return count


@pytest.mark.parametrize("x", range(-1, 8))
def test_writes_to_outer_cells(x, converted):
    plain, other = make_counter(), make_counter()
    new = converted(other)
    assert [new(x), new(x + 1)] == [plain(x), plain(x + 1)]
    assert new.__closure__ is not None


@pytest.mark.parametrize(("fn", "calls"), CASES)
def test_converted_function_does_the_same(fn, calls, same):
    same(fn, *calls, log=LOG)


def test_functions_that_look_at_their_frame_stay_as_they_are():
    def frame_reader(x):
        y = 1
        if x:
            y = 2
        return sorted(locals()), eval("x + y")

    assert transpile(frame_reader)(3) == frame_reader(3)
