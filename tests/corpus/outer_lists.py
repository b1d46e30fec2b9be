"""Lists of tensors that are older than the call, read and written at places that only the run knows."""

from __future__ import annotations

import d2s
from tests.corpus.register import LOG, made


def three():
    return [d2s.to_tensor([1.0 + k, 2.0, 3.0], stop_gradient=False) for k in range(3)]


@made
def read_behind_an_effect():
    kept = three()

    def f(x, n):
        LOG.append("before")
        return x * kept[int(n) % 3], kept[int(n) % 3] is kept[1]

    return f


@made
def read_behind_a_write():
    kept = three()

    def f(x, c, n):
        LOG.append("before")
        if c > 0:
            kept[0] = x.detach() * 2
        return x * kept[int(n) % 3]

    return f


@made
def read_of_a_dict_with_new_keys():
    kept = dict(enumerate(three()[:2]))

    def f(x, n):
        kept[0] = x.detach() * 3
        kept[2] = x.detach() + 1
        return x * kept[int(n) % 3]

    return f


@made
def written_and_read():
    kept = three()

    def f(x, n):
        kept[int(n) % 3] = x.detach()
        kept[1] = x.detach() * 5
        kept[int(n) % 2] = x.detach() * 7
        return x * kept[0] + kept[1] * x + kept[2], d2s.stack(kept)

    return f


@made
def written_out_of_range():
    kept = three()

    def f(x, n):
        LOG.append("before")
        kept[int(n)] = x.detach()
        return x * kept[0]

    return f


@made
def written_and_exchanged():
    kept = three()

    def f(x, n):
        first = kept[int(n) % 3]
        kept[int(n) % 3] = kept[0]
        kept[0] = first.detach()
        return x * kept[0] + kept[1] + kept[2]

    return f


@made
def hook_on_one_of_them():
    kept = three()

    def f(x, n):
        kept[int(n) % 3].register_hook(lambda g: LOG.append(g.tolist()))
        return (x * kept[0] * kept[1]).sum()

    return f


@made
def grows_between_calls():
    kept = three()[:1]

    def f(x, n):
        LOG.append(len(kept))
        return x * kept[min(int(n), len(kept) - 1)]

    def calls(x, n):
        result = f(x, n)
        kept.append(x.detach())
        return result

    return calls


# --- read as a whole behind a change --------------------------------------------------------------------------------


@made
def stacked_behind_an_append():
    kept = []

    def f(x):
        LOG.append("before")
        kept.append(x.detach())
        if len(kept) > 2:
            kept.pop(0)
        return x - d2s.stack(kept).mean(0)

    return f


@made
def looped_over_behind_appends():
    kept = three()[:1]

    def f(x, c):
        if c > 0:
            kept.append(x.detach())
        else:
            kept.append(x.sum().detach())
        total = 0
        for part in kept:
            total = total + part * x
        return total

    return f


@made
def appended_in_turns_and_read():
    kept = three()

    def f(x, n):
        for i in range(n):
            kept.append(x.detach() * i)
        kept[0] = x.detach()
        found = d2s.concat(kept).sum() * x, [part * x for part in kept]
        kept.clear()
        kept.append(x.detach())
        return found, len(kept)

    return f
