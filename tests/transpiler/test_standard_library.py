"""The standard library as a corpus: everything converts, and pure modules work on when all of it is converted."""

from __future__ import annotations

import bisect
import difflib
import heapq
import importlib
import json.decoder
import json.encoder
import json.scanner
import shlex
import statistics
import textwrap
import types
from fractions import Fraction

import pytest

from d2s.errors import SourceError
from d2s.transpiler import JIT_PASSES, PythonOperators, convert

MODULES = [
    "argparse",
    "ast",
    "base64",
    "bdb",
    "calendar",
    "cmd",
    "code",
    "codeop",
    "collections",
    "colorsys",
    "compileall",
    "configparser",
    "contextlib",
    "copy",
    "csv",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "dis",
    "doctest",
    "email.message",
    "email.header",
    "email.utils",
    "enum",
    "filecmp",
    "fileinput",
    "fnmatch",
    "fractions",
    "ftplib",
    "functools",
    "getopt",
    "gettext",
    "glob",
    "gzip",
    "hashlib",
    "hmac",
    "html",
    "html.parser",
    "http.client",
    "http.cookies",
    "http.cookiejar",
    "http.server",
    "imaplib",
    "inspect",
    "ipaddress",
    "keyword",
    "linecache",
    "locale",
    "logging",
    "logging.config",
    "logging.handlers",
    "mailbox",
    "mimetypes",
    "netrc",
    "numbers",
    "optparse",
    "pathlib",
    "pdb",
    "pickle",
    "pickletools",
    "pkgutil",
    "platform",
    "plistlib",
    "poplib",
    "pprint",
    "profile",
    "pstats",
    "py_compile",
    "pyclbr",
    "pydoc",
    "queue",
    "quopri",
    "random",
    "reprlib",
    "sched",
    "selectors",
    "shelve",
    "shutil",
    "smtplib",
    "socket",
    "socketserver",
    "ssl",
    "string",
    "subprocess",
    "symtable",
    "tabnanny",
    "tarfile",
    "tempfile",
    "threading",
    "timeit",
    "token",
    "tokenize",
    "trace",
    "traceback",
    "types",
    "typing",
    "unittest.case",
    "unittest.mock",
    "urllib.parse",
    "urllib.request",
    "uuid",
    "warnings",
    "wave",
    "weakref",
    "xml.dom.minidom",
    "xml.etree.ElementTree",
    "xmlrpc.client",
    "zipfile",
    "asyncio.base_events",
    "asyncio.tasks",
    "concurrent.futures.thread",
]
EVERY = 40  # a sample: the whole takes minutes


def functions_of(owner, module):
    """Functions and methods written in `module`, with the place to put their converted form."""
    for name, value in list(vars(owner).items()):
        wrapper = type(value) if isinstance(value, (staticmethod, classmethod)) else None
        inner = value.__func__ if wrapper else value
        if isinstance(inner, types.FunctionType) and inner.__module__ == module.__name__:
            yield owner, name, inner, wrapper
        elif isinstance(value, type) and value.__module__ == module.__name__ and is_written_in(value, owner, name):
            yield from functions_of(value, module)


def is_written_in(cls, owner, name):
    """Is the class the one defined here, and not an alias of another one?"""
    return cls.__qualname__ == (name if isinstance(owner, types.ModuleType) else f"{owner.__qualname__}.{name}")


@pytest.mark.parametrize("offset", range(4))
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_sample_of_everything_converts(offset):
    modules = [importlib.import_module(name) for name in MODULES[offset::4]]
    functions = [entry[2] for module in modules for entry in functions_of(module, module)]
    converted = 0
    for fn in functions[::EVERY]:
        try:
            convert(fn, JIT_PASSES)
        except SourceError:
            continue  # made by exec, as the methods of dataclasses are
        convert(fn, JIT_PASSES, PythonOperators, instrument=True)
        converted += 1
    assert converted > 10


@pytest.fixture(params=["plain", "instrumented"])
def converted_modules(request, monkeypatch):
    """Replace every function of some modules by its converted form."""

    def replace(*modules):
        for module in modules:
            for owner, name, fn, wrapper in functions_of(module, module):
                new = convert(fn, JIT_PASSES, PythonOperators, instrument=request.param == "instrumented").function
                monkeypatch.setattr(owner, name, wrapper(new) if wrapper else new)

    return replace


TEXT = """  The quick brown fox,\tjumps over the lazy-dog.  And then
 it--that is, the 'fox'--

    rests for averyveryverylongword."""


def with_textwrap():
    return [
        textwrap.wrap(TEXT, width, break_long_words=long, fix_sentence_endings=True)
        for width in (9, 20, 70)
        for long in (True, False)
    ] + [textwrap.dedent(TEXT), textwrap.indent(TEXT, "> "), textwrap.shorten(TEXT, 30)]


def with_heapq():
    data = [5, 3, 8, 1, 9, 2, 7]
    heap = list(data)
    heapq.heapify(heap)
    return heap, heapq.nsmallest(3, data, key=lambda v: -v), heapq.nlargest(2, data), list(heapq.merge([1, 4], [2, 3]))


def with_bisect():
    return [(bisect.bisect_left([1, 2, 2, 5], v), bisect.bisect([1, 2, 2, 5], v)) for v in range(7)]


def with_statistics():
    data = [1.5, 2, 2, Fraction(7, 2), 11]
    results = [statistics.mean(data), statistics.median(data), statistics.mode(data), statistics.quantiles(data, n=3)]
    results += [statistics.variance([1.0, 2.0, 4.0]), statistics.multimode("aabbc"), statistics.geometric_mean([1, 2])]
    try:
        statistics.mean([])
    except statistics.StatisticsError as error:
        results.append(str(error))
    return results


def with_shlex():
    return (
        shlex.split('a \'b c\' "d\\"e" f\\ g # no', comments=True),
        shlex.join(["a b", "c"]),
        list(shlex.shlex("x=1;y")),
    )


def with_difflib():
    a, b = "one\ntwo\nthree\n".splitlines(True), "ore\ntree\nemu\n".splitlines(True)
    matcher = difflib.SequenceMatcher(None, "private volatile", "private static volatile")
    return list(difflib.ndiff(a, b)), list(difflib.unified_diff(a, b)), matcher.get_opcodes(), matcher.ratio()


def with_json():
    decoder = json.decoder.JSONDecoder()
    decoder.scan_once = json.scanner.py_make_scanner(decoder)
    found = []
    for text in ('{"a": [1, -2.5e3, true, null, "\\u00e9\\n"], "b": {}}', "[1,", '{"a" 1}', '"\\x"', ""):
        try:
            found.append(decoder.decode(text))
        except ValueError as error:
            found.append(str(error))
    encoder = json.encoder.JSONEncoder(indent=2, sort_keys=True)
    return found, "".join(encoder.iterencode({"b": [1, 2.5, None], "a": {"x": "é"}}))


@pytest.mark.parametrize(
    ("work", "modules"),
    [
        (with_textwrap, [textwrap]),
        (with_heapq, [heapq]),
        (with_bisect, [bisect]),
        (with_statistics, [statistics]),
        (with_shlex, [shlex]),
        (with_difflib, [difflib]),
        (with_json, [json.decoder, json.encoder, json.scanner]),
    ],
)
def test_converted_module_works_as_before(work, modules, converted_modules):
    expected = work()
    converted_modules(*modules)
    assert work() == expected
