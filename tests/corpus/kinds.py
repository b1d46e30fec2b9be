"""Variables of loops on tensors that are of several kinds: text, None or a tensor, tensors of several shapes."""

from __future__ import annotations

from tests.corpus.register import LOG, program, record, refused


@program
def tensor_or_none_out_of_while_true(x, c):
    while True:
        x = x + 1
        if x.sum() > 9:
            return x * c
        if x.max() > 4.2:
            return None


@program
def number_or_text_out_of_while_true(x):
    while True:
        x = x + 1
        if x.sum() > 9:
            return 1
        if x.max() > 4.2:
            return "no"


@program
def tensors_of_two_shapes_out_of_a_loop(x, c, n):
    for _ in range(n):
        x = x + 1
        if x.sum() > 6:
            return x.sum()
        if c > 2:
            return x
    return None


@program
def pair_or_none_out_of_a_loop(x, c, n):
    for i in range(n):
        x = x + 1
        if x.sum() > 6:
            return x, i
        if c > 2:
            return None
    return x


@program
def hooks_on_what_a_loop_returns(x, c):
    x.register_hook(lambda g: LOG.append(g.tolist()))
    while True:
        x = x * 1.5 + 1
        if x.sum() > 9:
            y = x * c
            y.register_hook(lambda g: g * g + 1)
            return y
        if x.max() > 4.2:
            return None


@program
def found_or_not_in_helpers(x):
    def found(v):
        while True:
            v = v * 1.5 + 0.3
            if v.sum() > 8:
                return v
            if v.min() < -4:
                return None

    first, second = found(x), found(x * 2)
    LOG.append(second)
    return first if first is None else (first, second)


@program
def text_by_turns(x, n):
    name, size = "none", "small"
    while n > 0:
        name = "big" if x.sum() > 2 else "small"
        if x.sum() > 1:
            size = f"{name} {n}"
        x, n = x + 1, n - 1
    print(name, size)
    return x if name == "none" else x * 2, size


@program
def text_that_grows(x, n):
    text = ""
    while n > 0:
        if x.sum() > 1:
            text = text + "a"
        else:
            text += f"{n}"
        x, n = x + 0.5, n - 1
    return x, text, len(text)


@program
def states_by_name(x, c, n):
    state, following = "a", {"a": "b", "b": "c", "c": "a"}
    while n > 0:
        if state == "a":
            x = x * 2
        elif state == "b" and x.sum() > c:
            x = x - 1
        state, n = following[state], n - 1
    match state:
        case "b":
            return x
        case _:
            return -x


@program
def none_number_or_tensor(x, c, n):
    kept, other = None, 1
    while n > 0:
        if x.sum() > c:
            kept, other = x * 2, x
        else:
            kept, other = None, 3.5
        x, n = x + 0.5, n - 1
    return kept, other


@program
def computed_with_what_may_be_none(x, c, n):
    kept = None
    while n > 0:
        kept = x * 2 if x.sum() > c else None
        x, n = x + 1, n - 1
    return x if kept is None else kept * x


@program
def tuple_that_grows(x, n):
    kept, sums, numbers = (), (x,), ()
    i = 0
    while i < n:
        kept, sums = (*kept, x * i), (*sums, sums[-1] * 0.5)
        numbers += (i,)
        i += 1
    last = sums[-1]
    last.register_hook(record("last", lambda g: g * g))
    return kept, len(sums), sum(kept, last), numbers


@program
def type_of_what_may_be_none(x, c, n):
    kept = None
    while n > 0:
        kept = x * 2 if x.sum() > c else None
        x, n = x + 1, n - 1
    return type(kept) is type(None), kept.__class__.__name__, kept is None, kept == None  # noqa: E711


@refused
def match_on_what_may_be_none(x, c, n):
    kept = None
    while n > 0:
        kept = x * 2 if x.sum() > c else None
        x, n = x + 1, n - 1
    match kept:
        case None:
            return x
        case _:
            return kept


@refused
def match_on_a_bool_of_the_run(x, c):
    match bool(c > 0), x:
        case True, y:
            return y
        case _, y:
            return -y
