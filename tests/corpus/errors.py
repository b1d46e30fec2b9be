"""Errors and effects: `raise`, `try`, `assert`, `print`, in branches and loops."""

from __future__ import annotations

from tests.corpus.register import LOG, program, refused


class OwnError(Exception):
    def __init__(self, code, text="text"):
        super().__init__(code, text)
        self.code = code


@program
def raise_in_a_branch(x, c):
    if c < 0:
        raise ValueError("negative")
    return x * c


@program
def own_error_in_a_branch(x, c):
    z = x * x
    if c > 2:
        raise OwnError(3)
    return z


@program
def effects_before_the_raise(x, c):
    LOG.append("first")
    if c > 0:
        LOG.append(c)
        raise KeyError("late")
    LOG.append("second")
    return x


@program
def caught_around(x, c):
    try:
        if c > 0:
            raise ValueError("big")
        z = x * 2
    except ValueError as error:
        LOG.append(str(error))
        z = x * x
    return z


@program
def caught_in_the_same_branch(x, c):
    if c > 0:
        try:
            raise KeyError("k")
        except KeyError:
            x = x * x
    return x


@program
def else_and_finally(x, c):
    try:
        if c > 1:
            raise ValueError(1)
        z = x
    except ValueError:
        z = x * 2
    else:
        z = x * 3
    finally:
        LOG.append("finally")
    return z


@program
def return_in_try_with_finally(x, c):
    try:
        if c > 0:
            return x * x
        z = x * 2
    finally:
        LOG.append("finally")
    return z


@program
def raise_from(x, c):
    try:
        if c > 0:
            raise KeyError("inner")
    except KeyError as error:
        raise ValueError("outer") from error
    return x


@program
def not_caught(x, c):
    try:
        if c > 0:
            raise TypeError("other")
    except ValueError:
        return x * 2
    return x


@program
def raise_in_a_helper(x, c):
    def checked(z):
        if c < 0:
            raise ValueError("in the helper")
        return z * c

    try:
        return checked(x)
    except ValueError:
        return -x


@program
def raise_in_a_tensor_loop(x, n):
    for i in range(n):
        if i == 2:
            raise ValueError("third turn")
        x = x * 2
    return x


@program
def caught_in_a_tensor_loop(x, n):
    for i in range(n):
        try:
            if i == 1:
                raise ValueError("second turn")
            x = x * 2
        except ValueError:
            x = x + 10
    return x


@program
def caught_around_a_tensor_loop(x, n):
    turns = 0
    try:
        for i in range(n):
            if i == 2:
                raise ValueError("third turn")
            x = x * 2
            turns += 1
    except ValueError:
        x = x + 10
    return x, turns


@program
def continue_in_try(x, n):
    for i in range(4):
        try:
            if n > i:
                continue
            x = x * 2
        finally:
            LOG.append(i)
    return x


@program
def break_in_try(x, n):
    for i in range(4):
        try:
            if n == i:
                break
            x = x * 2
        finally:
            LOG.append(i)
    return x


@program
def assert_on_a_condition(x, c):
    assert c > -1, "too small"
    return x * x


@program
def assert_without_message(x, c):
    LOG.append("before")
    assert c <= 2
    return x


@program
def assert_with_tensor_in_message(x, c):
    assert (x * c).sum() < 2, f"sum of {c > 0}" if isinstance(c, float) else "sum"
    return x


@program
def print_in_branches(x, c):
    print("start")
    if c > 0:
        print("positive", x)
    else:
        print("else", c, sep="|")
    return x * x


@program
def print_in_a_tensor_loop(x, n):
    for i in range(n):
        print(i, x.sum().item())
        x = x * 2
    return x


@program
def print_of_an_f_string(x, c):
    print(f"{c} and {c:.2f}" if isinstance(c, float) else f"{c.item():.2f}")
    return x


@program
def log_in_a_tensor_loop(x, n):
    for i in range(n):
        LOG.append((i, x))
        x = x * 2
    return x


@program
def error_of_an_op(x, y, c):
    if c > 2:
        return x.reshape([2, 2])
    return x * y


@program
def error_of_an_op_caught(x, c):
    try:
        z = x.reshape([2, 2])
    except ValueError:
        z = x * c
    return z


@program
def zero_division(x, n):
    scale = 6 // n
    return x * scale


@program
def zero_division_caught(x, n):
    try:
        scale = 6 // int(n)
    except ZeroDivisionError:
        scale = -1
    return x * scale


@program
def index_error(x, n):
    parts = [x, x * 2, x * x]
    return parts[int(n)]


@program
def assert_caught(x, c):
    try:
        assert c > 0, "not positive"
        x = x * c
    except AssertionError as error:
        LOG.append(str(error))
        x = x + 1
    return x


@program
def assert_in_a_tensor_loop(x, n):
    for i in range(n):
        assert i < 4, "five turns"
        x = x * 2
    return x


@program
def message_of_an_assert_is_lazy(x, c):
    def message():
        LOG.append("asked")
        return "too big"

    assert c < 2, message()
    return x


@refused
def refusal_is_not_caught(x, n):
    parts = (x, x * 2)
    try:
        return parts[:: int(n)]
    except TypeError:
        return -x


@refused
def refusal_is_not_caught_in_a_branch(x, c, n):
    parts = (x, x * 2)
    if c > 0:
        try:
            x = parts[:: int(n)][0]
        except Exception:
            x = -x
    return x


@program
def unbound_name_in_try(x, c, n):
    if c > 0:
        z = x * 2
    try:
        x = x * z
        if n > 2:
            raise ValueError
    except NameError as error:
        LOG.append(str(error))
        x = x + 1
    except ValueError:
        x = -x
    return x


@program
def raised_with_values_of_a_turn(x, n):
    i = 0
    while i < n:
        y = (x * x).sum()
        if i > 1:
            raise StopIteration(i)
        if y > 30:
            raise ValueError(float(y), i, f"{i} turns")
        x = x * 2
        i = i + 1
    return x


class _WithFields(Exception):
    def __init__(self, message, turn):
        super().__init__(message)
        self.turn = turn


@program
def caught_with_values_of_a_turn(x, n):
    try:
        for i in range(n):
            y = x * i
            if y.sum() > 1:
                raise _WithFields(y, i)
            x = x + 1
    except _WithFields as error:
        return error.args[0] * 2, error.turn
    return x, -1


# --- errors that tell values of the run ------------------------------------------------


@program
def raised_before_anything_else(x, n):
    raise ValueError(x.sum(), [n])


@program
def raised_from_one_that_tells_a_tensor(x, c):
    try:
        raise KeyError(x.sum())
    except KeyError as error:
        if c > 0:
            raise ValueError(1) from error
    return x


@program
def group_that_tells_tensors(x, c):
    if c < 0:
        raise ExceptionGroup("group", [ValueError(x.sum()), ExceptionGroup("inner", [KeyError(c)])])
    return x


@program
def notes_that_tell_tensors(x, c):
    error = ValueError(1)
    error.add_note(f"{x.sum()}")
    error.add_note("known")
    if c > 0:
        raise error
    return x


@program
def raised_from_another_in_a_tensor_loop(x, c, n):
    for i in range(n):
        try:
            x = x * 2
            if x.sum() > c + 3:
                raise ValueError(x.sum())
        except ValueError as error:
            raise RuntimeError(i) from error
    return x
