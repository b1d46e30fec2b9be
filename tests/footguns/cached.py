"""Functions behind `functools.lru_cache`, and functions of libraries that look at the process around."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import pathlib
import tempfile
import time
import typing

import numpy as np

import d2s
from tests.footguns.stage import footgun
from tests.footguns.things import Box, x


@footgun
def cached_value_is_kept(stage):
    """It gives what it has kept, whatever has changed since; and computes again what was dropped."""
    scale = [2.0]

    @functools.lru_cache(maxsize=1)
    def table(n):
        return scale[0] * n

    function = stage.static(lambda z: z * table(3))
    stage(function, x())
    scale[0] = 4.0
    stage(function, x())
    table.cache_clear()
    stage(function, x())
    scale[0] = 5.0
    table(9)
    stage(function, x())


@footgun
def cached_function_with_effects(stage):
    @functools.lru_cache
    def scale(k):
        stage.log.append(("computed", k))
        return k * 2.0

    def f(z, k):
        return z * scale(k)

    f = stage.static(f)
    for k in (1, 1, 2, 1):
        stage(f, x(), k)
    scale.cache_clear()
    stage(f, x(), 1)


@footgun
def cached_function_behind_effects(stage):
    """It is asked at its place: what it reads was changed by the line before."""
    count = [1.0]

    @functools.cache
    def table(n):
        return count[0] * n

    def f(z):
        count[0] += 1
        return z * table(3)

    f = stage.static(f)
    for _ in range(2):
        stage(f, x())
    table.cache_clear()
    stage(f, x())


@footgun
def cached_function_in_a_branch(stage):
    """It is asked when the branch is taken first, not when it is traced."""
    scale = [1.0]

    @functools.cache
    def table(n):
        return scale[0] * n

    def f(z):
        if z.sum() > 0:
            z = z * table(3)
        return z

    f = stage.static(f)
    stage(f, -x())
    for scale[0] in (5.0, 7.0):
        stage(f, x())


@footgun
def object_of_a_cached_function(stage):
    @functools.cache
    def shared():
        return Box(scale=2.0)

    function = stage.static(lambda z: z * shared().scale)
    stage(function, x())
    shared().scale = 3.0
    stage(function, x())
    shared.cache_clear()
    stage(function, x())


@footgun
def list_of_a_cached_function(stage):
    @functools.cache
    def shared():
        return []

    def f(z):
        shared().append(1)
        return z * len(shared())

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())


@footgun
def tensor_of_a_cached_function(stage):
    """The same one in each call: it is written to, and read again."""
    @functools.cache
    def mask(n):
        return d2s.ones([n])

    def f(z):
        y = mask(3)
        y.add_(d2s.ones([3]))
        return z * y

    f = stage.static(f)
    for _ in range(3):
        stage(f, x())
    mask(3).set_value(d2s.ones([3]) * 7)
    stage(f, x())


@footgun
def cached_method_and_key(stage):
    @dataclasses.dataclass(frozen=True)
    class Key:
        n: int

    class Table:
        scale = 2.0

        @functools.lru_cache
        def of(self, key):
            return self.scale * key.n

    table = Table()
    function = stage.static(lambda z: z * table.of(Key(3)))
    stage(function, x())
    table.scale = 7.0
    stage(function, x())
    Table.of.cache_clear()
    stage(function, x())


@footgun
def cached_function_that_draws(stage):
    @functools.cache
    def drawn():
        return float(d2s.rand([1]).item())

    function = stage.static(lambda z: z * drawn() + d2s.rand([1]))
    d2s.seed(3)
    for _ in range(3):
        stage(function, x())


# --- what is around the program ---------------------------------------------------------------------------------------


@footgun
def builtin_that_comes_later(stage):
    import builtins

    def f(z):
        try:
            scale = scale_that_comes_later  # type: ignore[name-defined]
        except NameError:
            scale = 1.0
        return z * scale

    f = stage.static(f)
    stage(f, x())
    builtins.scale_that_comes_later = 4.0  # type: ignore[attr-defined]
    try:
        stage(f, x())
    finally:
        del builtins.scale_that_comes_later  # type: ignore[attr-defined]
    stage(f, x())


@footgun
def descriptor_that_changes_its_kind(stage):
    class Constant:
        def __get__(self, instance, owner):
            return 4.0

    class Holder:
        pass

    holder = Holder()
    holder.k = 1.0
    function = stage.static(lambda z: z * holder.k)
    stage(function, x())
    Holder.k = Constant()
    stage(function, x())
    Constant.__set__ = lambda self, instance, value: None
    stage(function, x())
    del Constant.__set__
    stage(function, x())


@footgun
def folders_and_variables_of_the_process(stage):
    home, here = os.environ.get("HOME", ""), os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        link = os.path.join(folder, "link")

        def f(z):
            z = z * len(os.path.expanduser("~")) + len(os.path.abspath("q")) - len(os.path.relpath("/"))
            z = z * len(os.path.expandvars("$HOME")) * len(os.path.basename("a/b"))
            return z * 2 if os.path.islink(link) else z * len(os.path.realpath(link)) / len(link)

        f = stage.static(f)
        stage(f, x())
        try:
            os.environ["HOME"] = "/somewhere/else"
            stage(f, x())
            os.chdir("/")
            stage(f, x())
            os.symlink("/", link)
            stage(f, x())
        finally:
            os.environ["HOME"] = home
            os.chdir(here)


@footgun
def files_by_their_paths(stage):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "data.txt"
        path.write_text("a")
        inner = pathlib.Path(folder)

        def f(z):
            (inner / "made").touch()
            return z * path.lstat().st_size + len(path.suffix + path.parent.name[:0])

        f = stage.static(f)
        stage(f, x())
        path.write_text("abc")
        (inner / "made").unlink()
        stage(f, x())
        stage.note((inner / "made").exists())


@footgun
def time_zone(stage):
    import datetime

    day, before = datetime.datetime(2020, 1, 1), os.environ.get("TZ")
    function = stage.static(lambda z: z * (day.timestamp() % 86400))
    try:
        for zone in ("UTC", "America/New_York"):
            os.environ["TZ"] = zone
            time.tzset()
            stage(function, x())
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
        time.tzset()


@footgun
def what_inspect_finds(stage):
    class Config:
        size: int

    def helper(a, k=2.0):
        """One."""

    def f(z):
        hints = len(typing.get_type_hints(Config))
        return z * inspect.signature(helper).parameters["k"].default + len(inspect.getdoc(helper)) * hints

    f = stage.static(f)
    stage(f, x())
    helper.__defaults__ = (3.0,)
    stage(f, x())
    helper.__doc__ = "Twenty."
    stage(f, x())
    Config.__annotations__["other"] = int
    stage(f, x())


@footgun
def settings_of_numpy(stage):
    def f(z):
        z = z * (2 if np.geterr()["divide"] == "ignore" else 3)
        return z * np.get_printoptions()["precision"] + len(np.array2string(np.array([1 / 3]))) + np.getbufsize()

    f = stage.static(f)
    stage(f, x())
    with np.errstate(divide="ignore"):
        stage(f, x())
    with np.printoptions(precision=2):
        stage(f, x())


@footgun
def divisions_of_numpy(stage):
    """They warn in each call, or raise, as NumPy is set to then."""
    def f(z):
        a = np.array([1.0, 2.0, 3.0]) / np.array([0.0, 1.0, 2.0])
        a /= np.array([1.0, 0.0, 2.0])
        b = np.log(0.0) + np.float64(1) / np.float64(0) + np.array([1e308, 1e308]).sum()
        return z * float(a[2]) + float(b > 0)

    f = stage.static(f)
    for setting in ("warn", "ignore", "warn", "raise", "warn"):
        with np.errstate(all=setting):
            stage(f, x())
