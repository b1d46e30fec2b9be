"""Loops on tensors whose own ``finally`` leaves: it swallows the exception, or overrides the exit, on its way."""

from __future__ import annotations

import contextlib

from tests.corpus.register import LOG, program, record


@program
def break_in_the_finally_of_a_tensor_loop(x, n):
    while n > 0:
        try:
            x = x * 2
            n = n - 1
        finally:
            if x.sum() > 10:
                break
    return x, n


@program
def continue_in_finally_swallows_an_error(x, n, c):
    k = n * 0
    for i in range(n):
        try:
            x = x * 1.5
            if x.sum() > c:
                raise ValueError("too large")
            LOG.append(("fine", i))
        finally:
            k = k + 1
            if i < 2:
                continue
            LOG.append(("last", i))
        x = x + 1
    return x, k


@program
def return_in_the_finally_of_a_tensor_loop(x, n, c):
    while n > 0:
        try:
            n = n - 1
            if x.sum() > c:
                return x * 10
            x = x + c
        finally:
            LOG.append("turn")
            if n < 2:
                return x - 1
    return x * 7


@program
def finally_overrides_a_break_by_continue(x, n, c):
    turns = 0
    for i in range(n):
        try:
            if x.sum() > c:
                break
            x = x + 0.5
        finally:
            turns += 1
            if i < 2:
                continue
        x = x * 1.25
    else:
        LOG.append("all turns")
    return x, turns


@program
def finally_overrides_a_return_by_break(x, n, c):
    for i in range(n):
        try:
            return x * i + c
        finally:
            x = x + 1
            if x.sum() > c:
                break
    else:
        return x - 100
    return -x


@program
def an_unconditional_break_ends_the_first_turn(x, n):
    while n > 0:
        try:
            n = n - 1
            x = x / n.sum() if hasattr(n, "sum") else x / 2
        finally:
            break
    return x, n


@program
def an_error_of_the_run_swallowed(x, n):
    names = []
    while n > 0:
        n = n - 1
        try:
            names.append([10, 20, 30][int(n) + 1])
        finally:
            x = x * 2
            if n > 1:
                continue
        names.append("behind")
    return x, names


@program
def nested_finallys_that_leave(x, n, c):
    for i in range(n):
        try:
            try:
                if x.sum() > c:
                    raise KeyError(i)
                x = x + 1
            finally:
                LOG.append("inner")
                if i == 1:
                    return x * 3
        except KeyError as error:
            LOG.append(error.args)
            x = x - 0.25
        finally:
            LOG.append("outer")
            if x.sum() > 4:
                break
    return x


@program
def loop_inside_of_a_try_whose_finally_breaks(x, n, c):
    while n > 0:
        try:
            for j in range(3):
                if x.sum() > c + j:
                    return x * j
                x = x + 0.5
        finally:
            n = n - 1
            if n < 2:
                break
    return x - 3


@program
def an_exception_that_the_finally_lets_through(x, n, c):
    try:
        for i in range(n):
            try:
                x = x * 1.5
                if x.sum() > 2:
                    raise ValueError(f"turn {i}")
            finally:
                if c > 2:
                    break
    except ValueError as error:
        return x, str(error)
    return x, "no error"


@program
def an_error_raised_inside_of_the_finally(x, n, c):
    try:
        while n > 0:
            try:
                n = n - 1
                if x.sum() > c:
                    raise KeyError("first")
            finally:
                x = x + 1
                if n < 1:
                    raise ValueError("second")
                if n < 3:
                    continue
    except ValueError as error:
        return x, error.args, type(error.__context__).__name__
    return x, n


@program
def hooks_in_turns_whose_finally_leaves(x, n, c):
    y = x * 2
    for i in range(n):
        try:
            y = y * 1.5
            y.register_hook(record("turn", lambda g: g + 1))
            if y.sum() > c:
                raise ValueError
        finally:
            if i > 0:
                break
            continue
    return y


@program
def with_and_a_finally_that_returns(x, n, c):
    @contextlib.contextmanager
    def noted(name):
        LOG.append(f"enter {name}")
        try:
            yield
        finally:
            LOG.append(f"leave {name}")

    while n > 0:
        with noted("turn"):
            try:
                n = n - 1
                with noted("body"):
                    if x.sum() > c:
                        raise RuntimeError("large")
                    x = x + 1
            finally:
                if n < 2:
                    return x * 2
    return x


@program
def a_function_whose_finally_returns_for_both_ways(x, c):
    def settled(v):
        try:
            if v.sum() > c:
                return v * 2
            raise ValueError("small")
        finally:
            if v.sum() > 2:
                return v * 5
    try:
        return settled(x) + settled(x + 3)
    except ValueError as error:
        return x, str(error)


@program
def list_filled_in_turns_whose_finally_leaves(x, n, c):
    kept = []
    for i in range(n):
        try:
            kept.append(x * i)
            if (x * i).sum() > c:
                raise ValueError
            kept.append(x + i)
        finally:
            if i >= 2:
                break
            if i >= 1:
                continue
        kept.append(x - i)
    return kept, len(kept)


@program
def state_of_an_object_in_turns_whose_finally_leaves(x, n, c):
    class Counter:
        tries = 0
        done = 0

    counter = Counter()
    while counter.tries < n:
        try:
            counter.tries += 1
            if x.sum() > c:
                raise ValueError
            x = x + 1
            counter.done += 1
        finally:
            if counter.done >= 2:
                break
            if counter.tries < 3:
                continue
        x = x * 0.5
    return x, counter.tries, counter.done


class Door:
    """A manager that raises when it is left in an orderly way, swallows what is raised inside, or neither."""

    def __init__(self, raises=False, swallows=False):
        self.raises, self.swallows = raises, swallows

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        LOG.append(None if kind is None else kind.__name__)
        if self.raises and kind is None:
            raise ValueError("the door")
        return self.swallows


@program
def a_swallowed_exit_of_a_manager_overrides_a_return(x, c):
    with Door(swallows=True):
        with Door(raises=True):
            if c > 0:
                return x * 2
        LOG.append("not here")
    return x * 3


@program
def one_with_of_several_managers_overrides_a_return(x, c):
    with Door(swallows=True), Door(), Door(raises=True):
        if c > 0:
            return x * 2
        x = x + 1
    return x * 3


@program
def a_swallowed_error_of_finally_overrides_a_return(x, c, n):
    with contextlib.suppress(KeyError):
        try:
            if c > 0:
                return x * 2
            x = x + 1
        finally:
            if n > 1:
                raise KeyError("ending")
        x = x + 10
    return x * 3


@program
def swallowed_errors_override_breaks_and_continues(x, c, n):
    for i in range(n):
        with Door(swallows=True):
            with Door(raises=True):
                if x.sum() > c:
                    break
                if i == 1:
                    continue
            LOG.append("through")
        x = x + i
    else:
        LOG.append("to the end")
    return x


@program
def swallowed_errors_override_a_return_in_a_loop_in_them(x, c, n):
    with Door(swallows=True):
        for i in range(3):
            with Door(raises=i == 1):
                x = x * 1.5
                if x.sum() > c and i < n:
                    return x
            LOG.append(i)
        LOG.append("behind the loop")
    return x * 3


@program
def a_swallowed_error_overrides_an_exit_of_finally(x, c, n):
    for i in range(n):
        try:
            x = x + 1
        finally:
            with Door(swallows=True):
                with Door(raises=i != 1):
                    if c > 0:
                        break
            LOG.append(i)
    return x


@program
def what_is_on_its_way_out_of_three_is_overridden_by_the_second(x, c):
    with Door(swallows=True):
        with Door(swallows=True):
            try:
                with Door():
                    if c > 0:
                        return x * 2
            finally:
                if x.sum() > 0:
                    raise ValueError
            LOG.append("inside")
        LOG.append("between")
    return x * 3
