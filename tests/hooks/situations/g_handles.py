"""G, Y: handles, and hook lists that change while they run."""

from __future__ import annotations

import warnings

from ..register import leaf, outcome, plus_one, recorder, situation, times_ten, val


@situation("G01", (True, [3.0]))
def removed_before_backward(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x, x.register_hook(lambda g: g * g + 1)

    x = leaf(paddle, 2.0)
    y, handle = f(x)
    removed = handle.remove()
    y.backward()
    return removed, val(x.grad)


@situation("G02", [13.0])
def removed_after_first_backward(paddle, to_static):
    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    handle = x.register_hook(lambda g: g * g + 1)
    f(x).backward()
    handle.remove()
    f(x).backward()
    return val(x.grad)


@situation("G03", (True, False, ["RuntimeWarning"]))
def removed_twice(paddle, to_static):
    x = leaf(paddle, 2.0)
    handle = x.register_hook(plus_one)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = handle.remove(), handle.remove()
    return *found, [warning.category.__name__ for warning in caught]


@situation("G04", ([(1, [3.0]), (2, [4.0]), (3, [40.0])], [(1, [3.0]), (3, [4.0])], [44.0]))
def hook_removes_itself(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return 3 * x

    def second(g):
        log.append((2, val(g)))
        handle.remove()
        return g * 10

    x = leaf(paddle, 2.0)
    x.register_hook(recorder(log, 1, plus_one))
    handle = x.register_hook(second)
    x.register_hook(recorder(log, 3))
    f(x).backward()
    first, log[:] = list(log), []
    f(x).backward()
    return first, log, val(x.grad)


@situation("G05", ([(1, [3.0]), (3, [3.0])], [(1, [3.0]), (3, [3.0])]))
def hook_removes_a_later_one(paddle, to_static):
    log, handles = [], []

    @to_static
    def f(x):
        return 3 * x

    def first(g):
        log.append((1, val(g)))
        while handles:
            handles.pop().remove()

    x = leaf(paddle, 2.0)
    x.register_hook(first)
    handles.append(x.register_hook(recorder(log, 2, plus_one)))
    x.register_hook(recorder(log, 3))
    f(x).backward()
    before, log[:] = list(log), []
    f(x).backward()
    return before, log


@situation("G05b", ([(1, [3.0]), (2, [4.0]), (3, [4.0])], [(2, [3.0]), (3, [3.0])]))
def hook_removes_an_earlier_one(paddle, to_static):
    log, handles = [], []

    @to_static
    def f(x):
        return 3 * x

    def second(g):
        log.append((2, val(g)))
        while handles:
            handles.pop().remove()

    x = leaf(paddle, 2.0)
    handles.append(x.register_hook(recorder(log, 1, plus_one)))
    x.register_hook(second)
    x.register_hook(recorder(log, 3))
    f(x).backward()
    before, log[:] = list(log), []
    f(x).backward()
    return before, log


@situation("G06", ([(1, [3.0]), ("new", [3.0])], [(1, [3.0]), ("new", [3.0]), ("new", [4.0])], [9.0]))
def hook_adds_one_to_its_leaf(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return 3 * x

    def first(g):
        log.append((1, val(g)))
        x.register_hook(recorder(log, "new", plus_one))

    x = leaf(paddle, 2.0)
    x.register_hook(first)
    f(x).backward()
    before, log[:] = list(log), []
    f(x).backward()
    return before, log, val(x.grad)


@situation("G06b", ([(1, [3.0]), ("new", [3.0])], [(1, [3.0]), ("new", [3.0]), ("new", [4.0])], [9.0]))
def hook_adds_one_to_its_intermediate(paddle, to_static):
    log, seen = [], []

    @to_static
    def f(x):
        y = x * 1
        seen.append(y)
        return 3 * y

    def first(g):
        log.append((1, val(g)))
        y.register_hook(recorder(log, "new", plus_one))

    x = leaf(paddle, 2.0)
    z = f(x)
    y = seen[0]
    y.register_hook(first)
    z.backward(retain_graph=True)
    before, log[:] = list(log), []
    z.backward()
    return before, log, val(x.grad)


@situation("G07", ([("y", [3.0]), ("x", [8.0])], [9.0]))
def hook_adds_one_upstream(paddle, to_static):
    log = []

    @to_static
    def f(x):
        def hook(g):
            log.append(("y", val(g)))
            x.register_hook(recorder(log, "x", plus_one))
            return g + 1

        y = x * 2
        y.register_hook(hook)
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("G07b", ([("y", [3.0])], [6.0]))
def hook_removes_one_upstream(paddle, to_static):
    log = []

    @to_static
    def f(x):
        handle = x.register_hook(recorder(log, "x", plus_one))

        def hook(g):
            log.append(("y", val(g)))
            handle.remove()

        y = x * 2
        y.register_hook(hook)
        return 3 * y

    x = leaf(paddle, 2.0)
    f(x).backward()
    return log, val(x.grad)


@situation("G08", [(1, [3.0]), (3, [4.0]), (4, [40.0])])
def order_after_removal(paddle, to_static):
    log = []

    @to_static
    def f(x):
        x.register_hook(recorder(log, 1, plus_one))
        second = x.register_hook(recorder(log, 2, plus_one))
        x.register_hook(recorder(log, 3, times_ten))
        second.remove()
        x.register_hook(recorder(log, 4))
        return 3 * x

    f(leaf(paddle, 2.0)).backward()
    return log


@situation("G09", True)
def removed_after_the_tensor_is_gone(paddle, to_static):
    x = leaf(paddle, 2.0)
    handle = x.register_hook(plus_one)
    del x
    return handle.remove()


@situation("G09b", True)
def removed_after_the_graph_is_gone(paddle, to_static):
    @to_static
    def f(x):
        y = x * 2
        handle = y.register_hook(plus_one)
        return 3 * y, handle

    z, handle = f(leaf(paddle, 2.0))
    z.backward()
    del z
    return handle.remove()


@situation("G10", [3.0])
def intermediate_hook_removed(paddle, to_static):
    @to_static
    def f(x):
        y = x * 1
        handle = y.register_hook(lambda g: g * g + 1)
        z = 3 * y
        handle.remove()
        return z

    x = leaf(paddle, 2.0)
    f(x).backward()
    return val(x.grad)


@situation("G11", ([(1, [3.0]), (3, [4.0])], False))
def id_is_not_used_again(paddle, to_static):
    log = []

    @to_static
    def f(x):
        return 3 * x

    x = leaf(paddle, 2.0)
    x.register_hook(recorder(log, 1, plus_one))
    second = x.register_hook(recorder(log, 2, plus_one))
    second.remove()
    x.register_hook(recorder(log, 3, plus_one))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = second.remove()
    f(x).backward()
    return log, again


@situation("X07", ("RuntimeError", True, None))
def hook_that_registers_itself(paddle, to_static):
    calls = []

    @to_static
    def f(x):
        return 3 * x

    def again(g):
        calls.append(1)
        x.register_hook(again)

    x = leaf(paddle, 2.0)
    x.register_hook(again)
    return outcome(lambda: f(x).backward(), "again"), 1000 <= len(calls) <= 1001, val(x.grad)


def one_shot(row, position, count, first, second):
    """A situation of `count` hooks, of which the one at `position` removes itself; two backwards."""

    @situation(row, (first, second, [6.0 + 2 * count - 1]))
    def program(paddle, to_static):
        log, handles = [], {}

        @to_static
        def f(x):
            return 3 * x

        def hook(number):
            def run(g):
                log.append(number)
                if number == position:
                    handles[number].remove()
                return g + 1

            return run

        x = leaf(paddle, 2.0)
        for number in range(count):
            handles[number] = x.register_hook(hook(number))
        f(x).backward()
        before, log[:] = list(log), []
        f(x).backward()
        return before, log, val(x.grad)

    return program


one_shot("Y010", 0, 1, [0], [])
one_shot("Y020", 0, 2, [0, 1], [1])
one_shot("Y021", 1, 2, [0, 1], [0])
one_shot("Y030", 0, 3, [0, 1, 2], [1, 2])
one_shot("Y031", 1, 3, [0, 1, 2], [0, 2])
one_shot("Y032", 2, 3, [0, 1, 2], [0, 1])
