"""``finally`` that leaves by return, break or continue, in functions with loops on tensors."""

from __future__ import annotations

from tests.corpus.register import LOG, program


@program
def a_loop_in_a_try_whose_finally_returns(x, n):
    try:
        for i in range(n):
            x = x * 1.5 + i
    finally:
        return x


@program
def loops_beside_a_finally_with_break(x, n, c):
    i = 0
    while i < 3:
        try:
            x = x + 1
            if x.sum() > c * 5:
                i += 1
                raise ValueError("caught by the break")
        finally:
            if i >= 2:
                break
        i += 1
    k = 0
    while k < n:
        x = x * 1.1
        k = k + 1
    for j in range(n):
        if x.sum() > 50:
            break
        x = x + j
    return x, i


@program
def early_returns_before_a_finally(x, n, c):
    if c > 2:
        return x * 3
    total = x * 0
    try:
        while n > 0:
            total = total + x * n
            n = n - 1
        if total.sum() > c:
            return total
    finally:
        LOG.append("done")
        if c < -1:
            return -total
    return total + 1


@program
def continue_in_the_finally_of_an_inner_loop(x, n, c):
    for i in range(n):
        for j in range(3):
            try:
                x = x + j * c
                if j == 1:
                    raise KeyError(j)
            finally:
                if j < 2:
                    continue
            x = x * 2
    return x


@program
def a_swallowed_error_of_a_tensor(x, c):
    def risky(v):
        try:
            if v.sum() > 0:
                raise ValueError("sum")
            return v * 2
        finally:
            if c > 0:
                return v * 3
    try:
        return risky(x)
    except ValueError:
        return x


@program
def return_and_break_in_one_if_in_a_plain_loop(x, c):
    for i in range(4):
        try:
            if x.sum() > c:
                break
            else:
                return x * i
        finally:
            if c > 2:
                return x * 5
            LOG.append(i)
    return x - 1
