"""Errors that come up when the Program runs, inside of `try` and `with`."""

from __future__ import annotations

import contextlib
import math

import d2s
from tests.corpus.register import LOG, program


@program
def attempt_int_of_text(x, n):
    try:
        v = int(str(int(n)) + "a")
    except ValueError:
        v = -1
    return x * v


@program
def attempt_int_of_run(x, n):
    try:
        k = int(n)
        y = x * k
    except TypeError:
        y = x
    return y


@program
def attempt_math_domain(x, c):
    try:
        v = math.sqrt(float(c))
    except ValueError:
        v = -1.0
    return x * v


@program
def attempt_math_log(x, c):
    try:
        v = math.log(float(c))
    except (ValueError, OverflowError) as error:
        LOG.append(type(error).__name__)
        v = 0.0
    return x + v


@program
def attempt_list_remove(x, n):
    a = [0, 1, 2]
    try:
        a.remove(int(n))
    except ValueError:
        a.append(9)
    return x * len(a), a


@program
def attempt_list_index(x, n):
    try:
        i = [3, 2, 1].index(int(n))
    except ValueError:
        i = -1
    return x * i


@program
def attempt_dict_pop(x, n):
    d = {1: x, 2: x * 2}
    try:
        y = d[int(n)]
    except KeyError:
        y = x * 5
    return y


@program
def attempt_tensor_index(x, n):
    try:
        y = x[n]
    except IndexError:
        y = x.sum()
    return y


@program
def attempt_tensor_item_many(x, c):
    try:
        y = x * x.item()
    except (ValueError, RuntimeError, d2s.D2SError):
        y = x * c
    return y


@program
def attempt_reshape(x, n):
    try:
        y = x.reshape([int(n) + 1, -1])
    except Exception:
        y = x
    return y


@program
def attempt_in_loop(x, n):
    total = x * 0
    for i in range(n):
        try:
            total = total + x / (i - 1)
        except ZeroDivisionError:
            total = total - 1
    return total


@program
def attempt_division_loop_value(x, n):
    t = x
    for i in range(4):
        try:
            k = 10 // (int(n) - i)
        except ZeroDivisionError:
            continue
        t = t + k
    return t


@program
def attempt_getattr(x, c):
    class A:
        pass
    a = A()
    if c > 0:
        a.v = x
    try:
        return a.v * 2
    except AttributeError as e:
        LOG.append(str(e))
        return x


@program
def attempt_unbound(x, c):
    if c > 0:
        z = x
    try:
        return z * 2
    except UnboundLocalError:
        return x * 3


@program
def attempt_nested_reraise(x, c):
    try:
        try:
            if c < 0:
                raise KeyError("k")
            y = x
        except KeyError as e:
            raise ValueError("v") from e
    except ValueError as e:
        LOG.append(type(e.__cause__).__name__)
        y = x * 4
    return y


@program
def attempt_pow_overflow(x, c):
    try:
        v = math.exp(float(c) * 1000)
    except OverflowError:
        v = 7.0
    return x * v


@program
def attempt_int_nan(x, c):
    try:
        v = int(float(c) / 0.5)
    except (ValueError, OverflowError):
        v = 0
    return x * v


@program
def attempt_tensor_division_int(x, n):
    try:
        y = 7 // int(n)
    except ZeroDivisionError as e:
        LOG.append(str(e))
        y = 0
    return x * y, y


@program
def attempt_min_empty(x, n):
    a = [i for i in range(n)]
    try:
        m = max(a)
    except ValueError:
        m = -1
    return x * m


@program
def attempt_pop_empty(x, n):
    a = []
    for i in range(n):
        a.append(x * i)
    try:
        y = a.pop()
    except IndexError:
        y = x
    return y


@program
def attempt_list_getitem_run(x, n):
    a = []
    for i in range(n):
        a.append(x * i)
    try:
        y = a[2]
    except IndexError as e:
        LOG.append(str(e))
        y = x
    return y


@program
def attempt_stack_empty(x, n):
    a = []
    for i in range(n):
        a.append(x * i)
    try:
        y = d2s.stack(a).sum(0)
    except Exception:
        y = x
    return y


@program
def with_suppress(x, n):
    y = x
    with contextlib.suppress(ZeroDivisionError):
        y = x * (6 // int(n))
    return y


@program
def with_suppress_key(x, n):
    y = x
    with contextlib.suppress(KeyError):
        y = x * {1: 2, 2: 4}[int(n)]
    return y


class Watch:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        LOG.append((kind and kind.__name__, str(error)))
        return kind is ZeroDivisionError


@program
def exit_is_told_and_swallows(x, n):
    y = x
    with Watch():
        y = x * (6 // int(n))
    return y


@program
def exit_is_told(x, n):
    a = []
    for i in range(n):
        a.append(x * i)
    with Watch():
        return a.pop()


@contextlib.contextmanager
def guarded(what):
    try:
        yield
    except what as error:
        LOG.append((type(error).__name__, str(error)))
    finally:
        LOG.append("left")


@program
def guarded_by_a_generator(x, c):
    y = x
    with guarded(ValueError):
        y = x * math.log(float(c))
    return y


@program
def not_this_error(x, n):
    try:
        y = x * (6 // int(n))
    except ValueError:
        y = x
    finally:
        LOG.append("finally")
    return y


@program
def error_from_error(x, n):
    try:
        return x * [1.0, 2.0].index(float(n))
    except ValueError as error:
        raise RuntimeError("not there") from error


@program
def error_is_kept(x, n):
    kept = None
    try:
        y = x * math.sqrt(1 - int(n))
    except ValueError as error:
        kept = error
        y = x
    return y, str(kept), kept is None, isinstance(kept, ValueError)


@program
def shape_that_does_not_fit(x, n):
    try:
        y = x.reshape([int(n) + 1, -1])
    except ValueError as error:
        LOG.append(type(error).__name__)
        y = x
    return y * y


@program
def hook_in_the_handler(x, n):
    y = x * x
    try:
        z = y * (4 // int(n))
    except ZeroDivisionError:
        y.register_hook(lambda g: g + 1)
        z = y * y
    y.register_hook(lambda g: g * g)
    return z


@program
def retry_until_it_works(x, n):
    k = int(n)
    for _ in range(3):
        try:
            v = math.sqrt(k - 3)
            break
        except ValueError:
            k = k + 2
    else:
        v = -1.0
    return x * v, k
