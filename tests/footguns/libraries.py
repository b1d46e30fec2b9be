"""Objects and settings of the standard library and of NumPy that behave otherwise after the trace."""

from __future__ import annotations

import collections
import configparser
import contextlib
import contextvars
import copyreg
import datetime
import decimal
import enum
import functools
import io
import itertools
import json
import locale
import logging
import math
import os
import random
import re
import sys
import threading
import time
import types
import warnings
import weakref

import numpy as np

from tests.footguns.stage import footgun, refused
from tests.footguns.things import Box, constant, x


def fresh_logger(name):
    """A logger as it is when it is asked for first."""
    logger = logging.getLogger(name)
    logger.handlers[:], logger.filters[:] = [], []
    logger.setLevel(logging.NOTSET)
    logger.propagate, logger.disabled = True, False
    return logger


class Noting(logging.Handler):
    """Prints what it is given."""

    def __init__(self, name):
        super().__init__()
        self.prefix = name

    def emit(self, record):
        print(self.prefix, self.format(record))


@footgun
def logger_gets_a_filter():
    logger = fresh_logger("footguns.one")
    logger.addHandler(Noting("h"))

    def f(z):
        logger.warning("sum %s", z.shape)
        return z * 2

    yield f
    dropped = lambda record: False  # noqa: E731
    logger.addFilter(dropped)
    yield f
    logger.removeFilter(dropped)
    yield f

    def loud(record):
        print("filter", record.levelname)
        return True

    logger.addFilter(loud)
    yield f


@footgun
def logger_gets_handlers():
    logger = fresh_logger("footguns.two")
    logger.propagate = False

    def f(z):
        logger.warning("shape %s", z.shape)
        if logger.hasHandlers():
            z = z + 1
        return z * len(logger.handlers)

    yield f
    first = Noting("first")
    logger.addHandler(first)
    yield f
    first.setLevel(logging.ERROR)
    yield f
    first.setLevel(logging.NOTSET)
    first.setFormatter(logging.Formatter("<%(message)s>"))
    yield f
    first.addFilter(lambda record: False)
    yield f
    logger.addHandler(Noting("second"))
    yield f
    logger.removeHandler(first)
    yield f


@footgun
def logger_levels_of_parents_and_disable():
    parent = fresh_logger("footguns.three")
    parent.propagate = False
    parent.addHandler(Noting("parent"))
    logger = fresh_logger("footguns.three.child")

    def f(z):
        logger.info("info")
        logger.warning("warning")
        return z * logger.getEffectiveLevel() + (1 if logger.isEnabledFor(logging.INFO) else 0)

    yield f
    parent.setLevel(logging.INFO)
    yield f
    logging.disable(logging.WARNING)
    yield f
    logging.disable(logging.NOTSET)
    yield f
    logger.propagate = False
    yield f
    logger.propagate = True
    logger.disabled = True
    yield f
    logger.disabled = False
    yield f
    logger.manager.disable = logging.CRITICAL
    yield f
    logger.manager.disable = logging.NOTSET
    yield f


@footgun
def logger_that_is_found_by_name_inside():
    logger = fresh_logger("footguns.four")
    logger.propagate = False
    logger.addHandler(Noting("four"))

    def f(z):
        found = logging.getLogger("footguns.four")
        found.warning("here")
        return z * (2 if found.isEnabledFor(logging.DEBUG) else 3) + found.level

    yield f
    logger.setLevel(logging.DEBUG)
    yield f
    logger.addFilter(lambda record: "here" not in record.getMessage())
    yield f


@footgun
def logger_with_an_adapter():
    logger = fresh_logger("footguns.five")
    logger.propagate = False
    logger.addHandler(Noting("five"))
    adapter = logging.LoggerAdapter(logger, {"k": 1})

    def f(z):
        adapter.warning("adapted %s", z.shape[0])
        return z * adapter.extra["k"]

    yield f
    adapter.extra = {"k": 2}
    yield f
    adapter.process = lambda msg, kwargs: ("changed " + msg, kwargs)
    yield f
    logger.setLevel(logging.ERROR)
    yield f
    adapter.logger = logging.getLogger("footguns.one")
    yield f


@footgun
def logger_whose_class_is_exchanged():
    logger = fresh_logger("footguns.six")
    logger.propagate = False
    logger.addHandler(Noting("six"))

    def f(z):
        logger.warning("w")
        return z + 1

    yield f
    logger.warning = lambda *args: print("another", args)
    yield f
    del logger.warning
    yield f
    factory = logging.getLogRecordFactory()

    def made(*args, **kwargs):
        record = factory(*args, **kwargs)
        record.msg = "made " + record.msg
        return record

    logging.setLogRecordFactory(made)
    try:
        yield f
    finally:
        logging.setLogRecordFactory(factory)
    yield f


@footgun
def names_of_levels():
    def f(z):
        return z * len(logging.getLevelName(logging.INFO))

    yield f
    logging.addLevelName(logging.INFO, "INFORMATION")
    yield f
    logging.addLevelName(logging.INFO, "INFO")
    yield f


@footgun
def warnings_by_their_place(stage):
    def f(z):
        for _ in range(3):
            warnings.warn("again", UserWarning, stacklevel=1)
        return z

    f = stage.static(f)
    for action in ("default", "once", "module", "always", "ignore"):
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            stage(f, x())


@footgun
def warnings_asked_for():
    def f(z):
        return z * len(warnings.filters)

    yield f
    before = list(warnings.filters)
    warnings.filterwarnings("ignore", "nothing of this text", UserWarning)
    yield f
    warnings.filters[:] = before
    yield f


@refused("warnings are caught inside: the manager would act while the function is traced")
def warnings_caught_inside(stage):
    def f(z):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn("inside", UserWarning, stacklevel=1)
        return z * len(caught)

    stage(stage.static(f), x())


@footgun
def standard_output_exchanged():
    def f(z):
        print("shape", z.shape)
        sys.stdout.write("direct\n")
        return z * 2

    yield f
    kept, sys.stdout = sys.stdout, io.StringIO()
    try:
        yield f
        text = sys.stdout.getvalue()
    finally:
        sys.stdout = kept

    def g(z):
        return z * len(text)

    yield g


@footgun
def standard_output_in_a_branch():
    def f(z):
        if z.sum() > 0:
            print("positive", file=sys.stderr)
            print("there")
        return z

    yield f
    kept, sys.stderr = sys.stderr, io.StringIO()
    try:
        yield f
        text = sys.stderr.getvalue()
    finally:
        sys.stderr = kept

    def g(z):
        return z * (1 + len(text))

    yield g


@footgun
def stream_that_is_a_default():
    stream = io.StringIO()

    def f(z, out=stream):
        print("into", file=out)
        return z * len(out.getvalue())

    yield f
    yield f
    stream.truncate(0)
    stream.seek(0)
    yield f


@footgun
def numbers_by_the_locale():
    def f(z):
        return z * len(locale.localeconv()["decimal_point"]) + len(locale.format_string("%.2f", 1.5))

    yield f
    yield f
    before = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_ALL, "C")
    yield f
    locale.setlocale(locale.LC_ALL, before)


@footgun
def decimals_by_their_context():
    one, seven = decimal.Decimal(1), decimal.Decimal(7)

    def f(z):
        return z * float(one / seven) + float(round(one / seven, 2)) + float(+seven.sqrt())

    yield f
    with decimal.localcontext() as context:
        context.prec = 3
        yield f
        context.rounding = decimal.ROUND_UP
        yield f
    yield f


@footgun
def decimals_made_of_text():
    def f(z):
        value = decimal.Decimal("1.23456789")
        return z * float(value * 2) + len(str(value / 3))

    yield f
    with decimal.localcontext(prec=4):
        yield f
    decimal.getcontext().prec = 6
    yield f
    decimal.getcontext().prec = 28
    yield f


@refused("the decimal context is asked for inside: decimal numbers are computed while the function is traced")
def decimals_with_flags_of_their_context(stage):
    one, three = decimal.Decimal(1), decimal.Decimal(3)

    def f(z):
        found = one / three
        return z * float(found) + decimal.getcontext().flags[decimal.Inexact]

    f = stage.static(f)
    stage(f, x())


@footgun
def decimals_that_trap():
    one, three = decimal.Decimal(1), decimal.Decimal(3)

    def f(z):
        return z * float(one / three)

    yield f
    with decimal.localcontext() as context:
        context.traps[decimal.Inexact] = True
        yield f
    yield f


@footgun
def random_states_set_between():
    generator = random.Random(3)

    def f(z):
        return z * random.random() + generator.random()

    random.seed(1)
    yield f
    yield f
    random.seed(1)
    generator.seed(3)
    yield f
    state = random.getstate()
    yield f
    random.setstate(state)
    yield f


@footgun
def random_choices_that_steer():
    names = ["a", "bb", "ccc"]

    def f(z):
        name = random.choice(names)
        order = random.sample(range(3), 3)
        return z * len(name) + order[0]

    for seed in range(4):
        random.seed(seed)
        yield f
    names.append("dddd")
    random.seed(2)
    yield f


@footgun
def numpy_random_state_set_between():
    generator = np.random.default_rng(5)
    old = np.random.RandomState(2)

    def f(z):
        return z * float(np.random.rand()) + float(generator.random()) + float(old.rand())

    np.random.seed(1)
    yield f
    yield f
    np.random.seed(1)
    generator.bit_generator.state = np.random.default_rng(5).bit_generator.state
    old.seed(2)
    yield f
    yield f


@footgun
def generator_exchanged_between():
    box = Box(rng=np.random.default_rng(0))

    def f(z):
        return z * float(box.rng.standard_normal())

    yield f
    box.rng = np.random.default_rng(0)
    yield f
    box.rng = np.random.RandomState(0)
    yield f
    box.rng = Box(standard_normal=lambda: 2.5)
    yield f


@footgun
def random_functions_replaced():
    def f(z):
        return z * random.random()

    kept = random.random
    random.seed(0)
    yield f
    random.random = lambda: 0.25
    try:
        yield f
    finally:
        random.random = kept
    yield f


@footgun
def environment_changed_between():
    os.environ.pop("D2S_FOOTGUN", None)

    def f(z):
        if "D2S_FOOTGUN" in os.environ:
            z = z + 1
        return z * float(os.environ.get("D2S_FOOTGUN", "2")) + len(os.getenv("D2S_FOOTGUN", ""))

    yield f
    os.environ["D2S_FOOTGUN"] = "3"
    yield f
    os.environ.update(D2S_FOOTGUN="44")
    yield f
    del os.environ["D2S_FOOTGUN"]
    yield f
    os.putenv("D2S_FOOTGUN", "5")
    yield f


@footgun
def environment_written_inside():
    def f(z):
        os.environ["D2S_FOOTGUN_2"] = str(len(os.environ.get("D2S_FOOTGUN_2", "")) + 1) * 2
        return z * len(os.environ["D2S_FOOTGUN_2"])

    os.environ.pop("D2S_FOOTGUN_2", None)
    yield f
    yield f
    os.environ["D2S_FOOTGUN_2"] = "abcdef"
    yield f
    del os.environ["D2S_FOOTGUN_2"]
    yield f


@footgun
def clock_replaced():
    box = Box(now=1.0)
    kept = time.time

    def f(z):
        return z * time.time()

    time.time = lambda: box.now
    try:
        yield f
        box.now = 3.0
        yield f
    finally:
        time.time = kept


@footgun
def clock_that_decides():
    def f(z):
        begin = time.perf_counter()
        z = z * 2
        if time.perf_counter() - begin < 1e6:
            z = z + 1
        if time.time_ns() % 1 == 0:
            z = z + datetime.datetime.now().year * 0
        return z

    yield f
    yield f


@footgun
def context_variables_set_and_reset():
    scale = contextvars.ContextVar("scale", default=2.0)

    def f(z):
        return z * scale.get()

    yield f
    token = scale.set(3.0)
    yield f
    scale.reset(token)
    yield f


@footgun
def context_variables_by_context(stage):
    scale = contextvars.ContextVar("scale")

    def f(z):
        return z * scale.get(1.0)

    f = stage.static(f)
    stage(f, x())
    context = contextvars.copy_context()
    context.run(scale.set, 5.0)
    context.run(stage, f, x())
    stage(f, x())
    contextvars.Context().run(stage, f, x())


@footgun
def context_variables_set_inside():
    depth = contextvars.ContextVar("depth", default=1)

    def f(z):
        token = depth.set(depth.get() + 1)
        z = z * depth.get()
        depth.reset(token)
        return z + depth.get()

    yield f
    depth.set(4)
    yield f


@footgun
def caches_that_are_cleared():
    calls = []

    @functools.lru_cache
    def scale(n):
        calls.append(n)
        print("computed", n)
        return n + len(calls)

    def f(z):
        return z * scale(2)

    yield f
    yield f
    scale.cache_clear()
    yield f
    scale(3)
    yield f
    yield lambda z: z * scale.cache_info().hits


@footgun
def caches_that_are_full():
    @functools.lru_cache(maxsize=1)
    def scale(n):
        print("computed", n)
        return n * 2.0

    def f(z):
        return z * scale(2) + scale(3)

    yield f
    yield f
    scale(2)
    yield f


@footgun
def cached_properties_that_are_deleted():
    class Held:
        base = 2.0

        @functools.cached_property
        def scale(self):
            print("computed")
            return self.base + 1

    held = Held()

    def f(z):
        return z * held.scale

    yield f
    yield f
    del held.scale
    held.base = 5.0
    yield f
    held.scale = 9.0
    yield f


@footgun
def patterns_and_their_flags():
    box = Box(pattern=re.compile("a+"), flags=re.IGNORECASE, text="xAAa")

    def f(z):
        first = re.search("a+", box.text, box.flags)
        second = box.pattern.search(box.text)
        return z * first.end() + (second.start() if second else 7)

    yield f
    box.flags = 0
    yield f
    box.pattern = re.compile("a+", re.IGNORECASE)
    yield f
    box.text = "zza"
    yield f
    re.purge()
    yield f


@footgun
def patterns_with_functions():
    counts = []

    def f(z):
        text = re.sub(r"\d", lambda match: str(int(match.group()) + len(counts)), "1a2")
        return z * len(text) + int(text[0])

    yield f
    counts.append(1)
    yield f


@footgun
def recursion_limit():
    def f(z):
        return z * (1 if sys.getrecursionlimit() > 1200 else 2)

    before = sys.getrecursionlimit()
    yield f
    sys.setrecursionlimit(1100)
    yield f
    sys.setrecursionlimit(before)
    yield f


@footgun
def settings_of_sys():
    def f(z):
        return z * len(sys.argv) + sys.getswitchinterval() + (1 if "footgun_module" in sys.modules else 0)

    yield f
    sys.argv.append("more")
    yield f
    sys.argv.pop()
    sys.modules["footgun_module"] = types.ModuleType("footgun_module")
    yield f
    del sys.modules["footgun_module"]
    yield f


@footgun
def modules_that_are_exchanged():
    first, second = types.ModuleType("footgun_m"), types.ModuleType("footgun_m")
    first.scale, second.scale = 2.0, 5.0

    def f(z):
        import footgun_m

        return z * footgun_m.scale

    sys.modules["footgun_m"] = first
    yield f
    first.scale = 3.0
    yield f
    sys.modules["footgun_m"] = second
    yield f
    del sys.modules["footgun_m"]
    yield f


@footgun
def functions_of_math_replaced():
    def f(z):
        return z * math.sqrt(4.0)

    kept = math.sqrt
    yield f
    math.sqrt = lambda v: v + 1
    try:
        yield f
    finally:
        math.sqrt = kept
    yield f


@footgun
def functions_of_numpy_replaced():
    def f(z):
        return z * float(np.mean(np.arange(4.0)))

    kept = np.mean
    yield f
    np.mean = lambda a: np.float64(10.0)
    try:
        yield f
    finally:
        np.mean = kept
    yield f


@footgun
def encoders_of_json():
    class Encoder(json.JSONEncoder):
        extra = 1

        def default(self, o):
            return [self.extra] * self.extra

    def f(z):
        return z * len(json.dumps({"a": Box()}, cls=Encoder))

    yield f
    Encoder.extra = 4
    yield f


@footgun
def configuration_parser():
    config = configparser.ConfigParser()
    config["run"] = {"scale": "2.5", "deep": "no"}

    def f(z):
        if config.getboolean("run", "deep"):
            z = z + 1
        return z * config.getfloat("run", "scale") + len(config["run"])

    yield f
    config["run"]["scale"] = "3.5"
    yield f
    config.set("run", "deep", "yes")
    yield f
    config.remove_option("run", "deep")
    yield f


@footgun
def chains_of_maps():
    base, over = {"a": 2.0, "b": 1.0}, {}
    chain = collections.ChainMap(over, base)

    def f(z):
        return z * chain["a"] + chain.get("c", 0) + len(chain)

    yield f
    over["a"] = 4.0
    yield f
    base["c"] = 3
    yield f
    chain.maps.insert(0, {"a": 7.0})
    yield f


@footgun
def counters_from_itertools():
    numbers = itertools.count(3)

    def f(z):
        return z * next(numbers)

    yield f
    yield f
    next(numbers)
    yield f


@footgun
def cycles_and_chains_of_numbers():
    turns = itertools.cycle([1.0, 2.0, 3.0])
    numbers = itertools.chain([1.0], [2.0, 3.0])

    def f(z):
        return z * next(turns) + next(turns) + next(numbers, 10.0)

    yield f
    yield f
    next(turns)
    yield f
    yield f


@footgun
def events_and_queues():
    event, numbers = threading.Event(), collections.deque([1.0, 2.0, 3.0, 4.0])

    def f(z):
        if event.is_set():
            z = z + 1
        return z * numbers.popleft()

    yield f
    event.set()
    yield f
    event.clear()
    numbers.appendleft(9.0)
    yield f


@footgun
def names_of_threads(stage):
    def f(z):
        return z * len(threading.current_thread().name) + threading.active_count() * 0

    f = stage.static(f)
    stage(f, x())
    worker = threading.Thread(target=stage, args=(f, x()), name="a long name of a thread")
    worker.start()
    worker.join()
    stage(f, x())


@footgun
def thread_locals_by_thread(stage):
    local = threading.local()
    local.scale = 2.0

    def f(z):
        return z * getattr(local, "scale", 5.0)

    f = stage.static(f)
    stage(f, x())
    local.scale = 3.0
    stage(f, x())
    worker = threading.Thread(target=stage, args=(f, x()))
    worker.start()
    worker.join()
    stage(f, x())


@footgun
def weak_containers():
    class Key:
        pass

    held = Key(), Key()
    table = weakref.WeakKeyDictionary({held[0]: 2.0, held[1]: 3.0})
    members = weakref.WeakSet(held)

    def f(z):
        return z * len(table) + len(members)

    yield f
    held = held[:1]
    yield f
    table[held[0]] = 8.0
    yield f


@footgun
def tables_of_copyreg():
    class Held:
        def __init__(self, value):
            self.value = value

    held = Held(2.0)

    def f(z):
        import copy

        return z * copy.copy(held).value

    yield f
    copyreg.pickle(Held, lambda one: (Held, (one.value + 5,)))
    try:
        yield f
    finally:
        del copyreg.dispatch_table[Held]
    yield f


@footgun
def text_streams_read_from():
    stream = io.StringIO("1\n2\n3\n4\n")

    def f(z):
        return z * float(stream.readline())

    yield f
    yield f
    stream.seek(0)
    yield f


@footgun
def printing_options_of_numpy():
    array = np.array([1.23456789, 2.0])

    def f(z):
        return z * len(str(array)) + len(f"{array}") + len(repr(array))

    yield f
    with np.printoptions(precision=2):
        yield f
    yield f


@footgun
def error_functions_of_numpy():
    array = np.array([1.0, 0.0])

    def f(z):
        return z * float((1.0 / array)[0])

    with np.errstate(divide="ignore"):
        yield f
    with np.errstate(divide="raise"):
        yield f
    with np.errstate(divide="call", call=lambda kind, flag: print("called", kind)):
        yield f


@footgun
def enum_members_that_change():
    class Kind(enum.Enum):
        A = 1
        B = 2

        @property
        def scale(self):
            return self.value * self.factor

    Kind.A.factor, Kind.B.factor = 2.0, 3.0
    box = Box(kind=Kind.A)

    def f(z):
        return z * box.kind.scale + len(box.kind.name) + (box.kind in (Kind.B,))

    yield f
    Kind.A.factor = 4.0
    yield f
    box.kind = Kind.B
    yield f
    Kind.scale = property(lambda self: 11.0)
    yield f


@footgun
def exit_stacks_and_suppression():
    log = []

    def f(z):
        with contextlib.ExitStack() as stack:
            stack.callback(log.append, len(log))
            stack.callback(print, "leaving", len(log))
            with contextlib.suppress(ZeroDivisionError):
                z = z * (1 / (len(log) % 2))
            return z + len(log)

    yield f
    yield f
    yield f


@footgun
def constants_in_the_library():
    def f(z):
        return z * math.pi + math.tau * 0

    kept = math.pi
    yield f
    math.pi = 3.0
    try:
        yield f
    finally:
        math.pi = kept
    yield f


@footgun
def recorded_tensors_of_a_stream(stage):
    stream = io.StringIO()
    held = constant()

    def f(z):
        print(held.sum().item(), file=stream)
        return z * len(stream.getvalue())

    f = stage.static(f)
    stage(f, x())
    held.set_value(np.array([10.0, 20.0, 30.0], "float32"))
    stage(f, x())
    stage.note(stream.getvalue())
