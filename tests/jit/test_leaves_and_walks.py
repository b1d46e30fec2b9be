"""When a leaf is finished: outputs that backward does not reach, and leaves that the function makes itself."""

import pytest

import d2s


def in_both_modes(steps):
    """What `steps` logs in each mode, if that is the same."""
    logs = []
    for convert in (lambda function: function, d2s.to_static):
        log = []

        def record(name, change=lambda g: g + 1, log=log):
            def hook(g):
                log.append((name, g.tolist()))
                return change(g)

            return hook

        steps(convert, record, log)
        logs.append(log)
    assert logs[0] == logs[1]
    return logs[0]


def leaf(data, hook=None):
    tensor = d2s.to_tensor(data, stop_gradient=False)
    if hook is not None:
        tensor.register_hook(hook)
    return tensor


def square(g):
    return g * g


def test_a_leaf_does_not_wait_for_outputs_that_are_not_reached():
    def steps(convert, record, log):
        x, y = leaf([1.0, 2.0], record("x")), leaf([3.0, 4.0], record("y"))

        @convert
        def older(x, y):
            return x * 3.0, x * y

        @convert
        def newer(a, y):
            a.register_hook(record("between", square))
            return a * y

        first, _ = older(x, y)
        newer(first, y).sum().backward()

    # The older call contributes to y only by the output that is not used: y is complete before it is visited.
    assert [name for name, _ in in_both_modes(steps)] == ["y", "between", "x"]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_leaf_does_not_wait_for_the_branch_that_was_not_taken(sign):
    def steps(convert, record, log):
        x, y = leaf([1.0, 2.0], record("x")), leaf([3.0, 4.0], record("y"))

        @convert
        def older(x, y, c):
            if c > 0:
                z = x * y
            else:
                z = x * 2.0
            z.register_hook(record("older", square))
            return z

        @convert
        def newer(a, y):
            b = a * 2.0
            b.register_hook(record("newer", square))
            return b * y

        newer(older(x, y, d2s.to_tensor(sign)), y).sum().backward()

    expected = ["newer", "older", "x", "y"] if sign > 0 else ["y", "newer", "older", "x"]
    assert [name for name, _ in in_both_modes(steps)] == expected


@pytest.mark.parametrize("used", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_leaf_of_the_function_gets_its_gradient_whatever_is_reached(used, sign):
    def steps(convert, record, log):
        x = leaf([1.0 * sign, 2.0 * sign], record("x"))

        @convert
        def function(x):
            w = leaf([2.0, 3.0])
            if x.sum() > 0:
                w.register_hook(record("w", square))
                z = x * w
            else:
                z = x + 1.0
            z.register_hook(record("z"))
            return z, w, x + 1.0

        for _ in range(2):
            outputs = function(x)
            outputs[1].register_hook(record("w from outside"))
            sum((outputs[number] * (number + 2.0)).sum() for number in used).backward()
            log += [None if tensor.grad is None else tensor.grad.tolist() for tensor in (x, outputs[1])]

    in_both_modes(steps)


def test_a_leaf_of_the_function_is_finished_with_its_last_use_not_where_it_is_made():
    def steps(convert, record, log):
        @convert
        def function(x):
            w = leaf([2.0, 3.0], record("w"))
            z = x * 2.0
            z.register_hook(record("z", square))
            return z * w

        function(leaf([1.0, 2.0], record("x"))).sum().backward()

    assert [name for name, _ in in_both_modes(steps)] == ["w", "z", "x"]


def test_leaves_of_turns():
    def steps(convert, record, log):
        @convert
        def function(x, n):
            z = w = x
            for _ in range(n):
                w = x.detach() * 2.0
                w.stop_gradient = False
                w.register_hook(record("w"))
                z = z * w + x
                z.register_hook(record("z", square))
            return z, w

        x = leaf([1.0, 2.0], record("x"))
        for turns in (0, 1, 3):
            z, w = function(x, d2s.to_tensor(turns))
            z.sum().backward()
            log += [x.grad.tolist(), w.grad.tolist()]

    in_both_modes(steps)
