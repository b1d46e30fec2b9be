"""Dicts, sets and deques of which only the run knows what is in them."""

from __future__ import annotations

import collections
import copy
import heapq

from tests.corpus.register import LOG, program, record, refused


def grown(x, n):
    d = {}
    for i in range(n):
        d[i] = x * i
    return d


@program
def table_read_in_all_ways(x, n):
    d = grown(x, n)
    total = x
    for k in d:
        total = total + k
    for v in d.values():
        total = total + v
    for k, v in d.items():
        total = total + v * k
    for j, k in enumerate(d):
        total = total + j * k
    for k, v in zip(d.keys(), d.values()):
        total = total - v
    return total, len(d), 1 in d, list(d), list(d.values()), sorted(d, reverse=True), dict(d), max(d, default=-1)


@program
def table_methods(x, n):
    d = grown(x, n)
    a = d.get(0, x * 5)
    b = d.get(77)
    c = d.pop(1, x * 7)
    e = d.setdefault(9, x * 9)
    d.update({10: x})
    d.update([(11, x * 2)], )
    del d[10]
    f = d.copy()
    f[0] = x * 100
    f.clear()
    k, v = d.popitem()
    return a, b, c, e, len(d), len(f), k, v


@program
def table_missing_key(x, n):
    d = grown(x, n)
    return d[2]


@program
def table_missing_key_caught(x, n):
    d = grown(x, n)
    try:
        y = d[2]
    except KeyError as e:
        LOG.append(e.args)
        y = x * 10
    return y


@program
def table_deleted_in_a_loop(x, n):
    d = {0: x, 1: x * 2, 2: x * 3, 3: x * 4, 4: x * 5}
    for i in range(n):
        del d[i]
    return sum(d.values(), x), list(d)


@program
def table_changed_while_looped_over(x, n):
    d = grown(x, n)
    for k in d:
        if k == 1:
            d[k + 10] = x
    return len(d)


@program
def table_of_text(x, n):
    words = ["a", "b", "a", "c", "b", "a"]
    counts = {}
    for i in range(n):
        counts[words[i]] = counts.get(words[i], 0) + 1
    return x, counts, sorted(counts.items(), key=lambda p: (-p[1], p[0]))


@program
def table_of_tuples(x, n):
    grid = {}
    for i in range(n):
        for j in range(i + 1):
            grid[i, j] = x.sum() * (i + j)
    return x, len(grid), (1, 1) in grid, [k for k in grid], sum(v for (i, j), v in grid.items() if i == j)


@program
def table_of_tables(x, n):
    d = {}
    for i in range(n):
        d.setdefault(i % 2, {})[i] = x * i
    return {k: len(v) for k, v in d.items()}


@program
def table_of_lists(x, n):
    groups = {}
    for i in range(n):
        if i % 2 not in groups:
            groups[i % 2] = []
        groups[i % 2].append(x * i)
    return {k: len(v) for k, v in groups.items()}, [sum(v) for v in groups.values()]


@program
def table_with_hooks(x, n):
    d = {}
    for i in range(n):
        y = x * (i + 1)
        y.register_hook(record("y", lambda g: g + 1))
        d[i] = y * y
    out = x
    for k, v in d.items():
        v.register_hook(record("v", lambda g: g * g))
        out = out + v
    return out


@program
def counter_of_run(x, n):
    c = collections.Counter()
    for i in range(n):
        c[i % 3] += 1
    return x * c[0], c.most_common(1), c[99], sum(c.values())


@program
def defaultdict_of_numbers(x, n):
    d = collections.defaultdict(int)
    for i in range(n):
        d[i % 2] += i
    return x * d[1], dict(d)


@program
def defaultdict_with_a_factory(x, n):
    d = collections.defaultdict(lambda: x * 2)
    for i in range(n):
        d[i % 2] = d[i % 2] + i
    return d[0], len(d)


@program
def sets_of_run(x, n):
    s = set()
    for i in range(n):
        s.add(i % 3)
    t = {0, 5}
    u = s | t
    s.discard(0)
    return x * len(s), sorted(u), s & t, s <= u, sorted(u - s), 5 in u, u == s, len(s ^ t)


@program
def seen_numbers(x, n):
    seen = set()
    out = []
    for i in range(n):
        k = (i * i) % 3
        if k in seen:
            continue
        seen.add(k)
        out.append(x * k)
    return out, len(seen)


@program
def deque_in_all_ways(x, n):
    q = collections.deque([x])
    for i in range(n):
        q.append(x * i)
        q.appendleft(x + i)
    q.rotate(1)
    first, last = q[0], q[-1]
    total = x
    for part in q:
        total = total + part
    for part in reversed(q):
        total = total * 0.5 + part
    q.extend([x, x])
    return first, last, total, len(q), list(q)[:2]


@program
def deque_window_mean(x, n):
    q = collections.deque(maxlen=2)
    out = []
    for i in range(n):
        q.append(x.sum() * i)
        out.append(sum(q) / len(q))
    return out


@program
def deque_popped_when_empty(x, n):
    q = collections.deque()
    for i in range(n):
        q.append(i)
    try:
        for _ in range(3):
            x = x + q.popleft()
    except IndexError:
        x = x * 2
    return x


@program
def table_in_an_object(x, n):
    class Memo:
        def __init__(self):
            self.held = {}
            self.hits = 0
        def get(self, k, make):
            if k in self.held:
                self.hits += 1
            else:
                self.held[k] = make()
            return self.held[k]
    m = Memo()
    out = x
    for i in range(n):
        out = out + m.get(i % 2, lambda: x * i)
    return out, m.hits


@program
def table_merged_by_or(x, n):
    a = grown(x, n)
    b = {7: x}
    c = a | b
    a |= {8: x}
    return len(c), len(a), list(c), c[7]


@program
def table_spread_in_a_display(x, n):
    return [*grown(x, n)], [*grown(x, n).values()]


@program
def table_unpacked(x, n):
    d = {}
    for i in range(2):
        d[i + n] = x * i
    a, b = d.values()
    k, *rest = d
    return a + b, k, len(rest)


@program
def table_copied(x, n):
    d = grown(x, n)
    a, b = copy.copy(d), copy.deepcopy(d)
    a[50] = x
    return len(a), len(b), len(d)


@program
def table_compared(x, n):
    c = {}
    for i in range(n):
        c[i] = i * i
    return x, c == {0: 0, 1: 1}, c != {}, bool(c), not c, c.keys() == {0, 1}


@program
def table_printed(x, n):
    c = {}
    for i in range(n):
        c[f"k{i}"] = i
    print(c, c.keys(), list(c.items()))
    return x, f"{c}", str(c)


@program
def value_by_key_none_or_tensor(x, n):
    d = {}
    for i in range(n):
        d[i] = None if i % 2 else x * i
    out = x
    for v in d.values():
        if v is not None:
            out = out + v
    return out


@program
def keys_of_run_in_a_closed_dict(x, n):
    d = {0: x, 1: x * 2}
    return d.get(n, x * 9), d.get(n), n in d, d[int(n) % 2]


@program
def set_display_of_run(x, c):
    k = int(x.sum())
    return len({k, 1, 2}), {k: x}[1], {k + 1: x, "a": 1}


@program
def heap_of_pairs(x, n):
    h = []
    for i in range(n):
        heapq.heappush(h, (-i, i * 2))
    out = []
    while h:
        a, b = heapq.heappop(h)
        out.append(a + b)
    return x, out


@program
def dijkstra(x, n):
    graph = {0: [(1, 2), (2, 5)], 1: [(2, 1)], 2: []}
    dist = {0: 0}
    todo = [(0, 0)]
    while todo:
        d, u = heapq.heappop(todo)
        for v, w in graph[u]:
            if v not in dist or d + w * n < dist[v]:
                dist[v] = d + w * n
                heapq.heappush(todo, (d + w * n, v))
    return x * dist[2], dist


@program
def topological_order(x, n):
    after = {0: [1, 2], 1: [3], 2: [3], 3: []}
    need = {0: 0, 1: 1, 2: 1, 3: 2}
    ready = collections.deque([0])
    order = []
    while ready and len(order) < n:
        u = ready.popleft()
        order.append(u)
        for v in after[u]:
            need[v] -= 1
            if need[v] == 0:
                ready.append(v)
    return x, order


@program
def union_find(x, n):
    parent = {i: i for i in range(5)}
    def find(a):
        while parent[a] != a:
            a = parent[a]
        return a
    for i in range(n):
        a, b = find(i), find((i * 2) % 5)
        if a != b:
            parent[a] = b
    return x, [find(i) for i in range(5)]


@program
def word_count_of_text(x, c):
    text = "a b a c" if c > 0 else "b"
    d = {}
    for w in text.split():
        d[w] = d.get(w, 0) + 1
    return x, d


@program
def two_sum(x, n):
    nums = [2, 7, 11, 15]
    seen = {}
    for i, v in enumerate(nums):
        if 9 + n - v in seen:
            return x * i, seen[9 + n - v]
        seen[v] = i
    return None


@program
def cache_in_loop(x, n):
    cache = {}
    for i in range(n):
        k = i % 2
        if k not in cache:
            cache[k] = x * (k + 1)
        x = x + cache[k]
    return x, len(cache)


@program
def dict_of_text_keys(x, n):
    stats = {}
    for i in range(n):
        stats[f"step{i}"] = x.sum() * i
    return stats


@program
def bfs_queue(x, n):
    q = collections.deque([0])
    total = x * 0
    while q:
        k = q.popleft()
        total = total + x * k
        if k < n:
            q.append(k + 1)
            if k % 2 == 0:
                q.append(k + 2)
    return total


@program
def lru(x, n):
    d = collections.OrderedDict()
    for i in range(n):
        d[i % 3] = x * i
        d.move_to_end(i % 3)
        if len(d) > 2:
            d.popitem(last=False)
    return list(d.values())


@program
def set_ops_in_loop(x, n):
    todo = {0, 1, 2, 3, 4}
    done = set()
    for i in range(n):
        done |= {i}
        todo -= {i}
    return len(todo), len(done), x


@program
def dict_grown_in_a_helper(x, n):
    def note(table, k, v):
        table[k] = v
        return table
    d = {}
    for i in range(n):
        note(d, i, x * i)
    return d


@program
def dict_grown_in_branches_of_turns(x, n, c):
    pos, neg = {}, {}
    for i in range(n):
        if x.sum() * i > c:
            pos[i] = x * i
        else:
            neg[i] = x - i
    return len(pos), len(neg), sum(pos.values(), x), sum(neg.values(), x)


@program
def two_names_of_one_dict(x, n):
    a = {}
    b = a
    for i in range(n):
        a[i] = x
        b[i + 10] = x * 2
    return len(a), a is b, list(b)


@program
def dict_reset_in_turns(x, n):
    d = {}
    for i in range(n):
        if i == 2:
            d = {}
        d[i] = x * i
    return d


@program
def comprehension_over_grown_dict(x, n):
    d = {}
    for i in range(n):
        d[i] = x * i
    return {k: v * 2 for k, v in d.items() if k != 1}, [k for k in d], {k % 2 for k in d}, sum(k for k in d)


@program
def hooks_through_dict_default(x, n):
    d = {}
    for i in range(n):
        y = d.get("h", x) * 1.5
        y.register_hook(record("y", lambda g: g * g))
        d["h"] = y
    return d.get("h", x)


@refused
def dict_views_kept(x, n):
    d = {}
    keys, values = d.keys(), d.values()
    for i in range(n):
        d[i] = i * 2
    return x, len(keys), 1 in keys, list(values), sorted(keys | {99})
