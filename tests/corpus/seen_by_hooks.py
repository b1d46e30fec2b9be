"""Variables that are bound behind the branch or turn that has registered a hook which reads them."""

from __future__ import annotations

from tests.corpus.register import program


@program
def hook_of_a_turn_reads_a_later_value(x, n):
    seen = []
    k = 1
    y = x * 2
    i = 0
    while i < n:
        y.register_hook(lambda g: seen.append((k, g.sum().item())))
        i = i + 1
    k = 5
    (y * y).sum().backward()
    return seen


@program
def hook_of_a_branch_reads_a_name_bound_later(x, c):
    seen = []
    y = x * 2
    if c > 0:
        y.register_hook(lambda g: seen.append((k, g.sum().item())))
    k = 5
    (y * y).sum().backward()
    return seen, k


@program
def hooks_of_turns_fill_one_list(x, n):
    logs = []
    i = 0
    y = x * 2
    while i < n:
        def note(g):
            logs.append(g.sum().item())

        y.register_hook(note)
        i = i + 1
    (y * y).sum().backward()
    return logs


@program
def hook_and_backward_in_one_turn(x, n):
    seen = []
    k = 0
    i = 0
    while i < n:
        y = x * (i + 1)
        y.register_hook(lambda g: seen.append((k, g.sum().item())))
        k = k + 1
        (y * y).sum().backward()
        i = i + 1
    return seen


@program
def turns_show_other_values_of_one_variable(x, n):
    seen = []
    k = 1
    y = x * 2
    y.register_hook(lambda g: seen.append(k))
    (y * 1).sum().backward()
    i = 0
    while i < n:
        k = 1
        z = x * 3
        z.register_hook(lambda g: seen.append(k))
        z.sum().backward()
        k = 2
        z = x * 4
        z.register_hook(lambda g: seen.append(k))
        z.sum().backward()
        i = i + 1
    k = 1
    w = x * 5
    w.register_hook(lambda g: seen.append(k))
    w.sum().backward()
    return seen
