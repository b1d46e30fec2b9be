"""``python -m tests.transpiler.cpython_tests``: CPython's own tests of modules that are converted as a whole.

For each module its functions are transpiled and put in the place of the originals, then the module of package `test`
that belongs to it runs, in a process of its own; of tests of the language, it is these that are converted. The
outcome of every single test must be what it is without that.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
import time
import types
import unittest
import warnings
from collections.abc import Iterator
from typing import Any

# Modules written in Python, and the tests of them.
PAIRS = {
    "abc": "test_abc", "argparse": "test_argparse", "ast": "test_ast", "base64": "test_base64",
    "bisect": "test_bisect", "calendar": "test_calendar", "cmd": "test_cmd", "code": "test_code_module",
    "codeop": "test_codeop", "collections": "test_collections", "colorsys": "test_colorsys",
    "configparser": "test_configparser", "contextlib": "test_contextlib", "copy": "test_copy", "csv": "test_csv",
    "dataclasses": "test_dataclasses", "difflib": "test_difflib", "enum": "test_enum", "filecmp": "test_filecmp",
    "fileinput": "test_fileinput", "fnmatch": "test_fnmatch", "fractions": "test_fractions", "ftplib": "test_ftplib",
    "functools": "test_functools", "genericpath": "test_genericpath", "getopt": "test_getopt",
    "gettext": "test_gettext", "glob": "test_glob", "graphlib": "test_graphlib", "heapq": "test_heapq",
    "hmac": "test_hmac", "html": "test_html", "html.parser": "test_htmlparser", "http.cookies": "test_http_cookies",
    "ipaddress": "test_ipaddress", "json.decoder": "test_json", "json.encoder": "test_json",
    "keyword": "test_keyword",
    "linecache": "test_linecache", "mimetypes": "test_mimetypes", "netrc": "test_netrc",
    "numbers": "test_numeric_tower",
    "optparse": "test_optparse", "pickletools": "test_pickletools", "plistlib": "test_plistlib",
    "posixpath": "test_posixpath", "pprint": "test_pprint", "queue": "test_queue", "quopri": "test_quopri",
    "random": "test_random", "reprlib": "test_reprlib", "sched": "test_sched", "secrets": "test_secrets",
    "shelve": "test_shelve", "shlex": "test_shlex", "statistics": "test_statistics", "string": "test_string",
    "stringprep": "test_stringprep", "tabnanny": "test_tabnanny", "textwrap": "test_textwrap",
    "timeit": "test_timeit", "tokenize": "test_tokenize", "urllib.parse": "test_urlparse", "uuid": "test_uuid",
    "wave": "test_wave", "weakref": "test_weakset", "xml.sax.saxutils": "test_sax", "zipapp": "test_zipapp",
}
# Tests of the language itself, in which the functions of the tests are converted.
LANGUAGE = (
    "test_abstract_numbers", "test_asyncgen", "test_augassign", "test_baseexception", "test_binop", "test_bool",
    "test_builtin", "test_call", "test_class", "test_compare", "test_complex", "test_contains", "test_coroutines",
    "test_decorators", "test_defaultdict", "test_deque", "test_descr", "test_dict", "test_dictcomps",
    "test_dictviews", "test_dynamic", "test_dynamicclassattribute", "test_enumerate", "test_except_star",
    "test_exception_group", "test_exception_variations", "test_exceptions", "test_extcall", "test_float",
    "test_format", "test_fstring", "test_funcattrs", "test_functools", "test_generator_stop", "test_generators",
    "test_genericalias", "test_genexps", "test_global", "test_grammar", "test_hash", "test_index", "test_int",
    "test_isinstance", "test_iter", "test_itertools", "test_keywordonlyarg", "test_list", "test_listcomps",
    "test_long", "test_metaclass", "test_named_expressions", "test_opcodes", "test_operator", "test_patma",
    "test_pep646_syntax", "test_pkg", "test_positional_only_arg", "test_pow", "test_property", "test_raise",
    "test_range", "test_richcmp", "test_scope", "test_set", "test_setcomps", "test_slice", "test_sort",
    "test_string_literals", "test_subclassinit", "test_super", "test_syntax", "test_tuple", "test_typechecks",
    "test_unary", "test_unpack", "test_unpack_ex", "test_userdict", "test_userlist", "test_userstring",
    "test_weakref", "test_with", "test_yield_from",
)
PAIRS |= {f"test.{name}": name for name in LANGUAGE}
# These run in the test suite of d2s: quick ones that use many constructs.
QUICK = (
    "calendar", "difflib", "fnmatch", "getopt", "graphlib", "json.decoder", "shlex", "textwrap",
    "test.test_asyncgen", "test.test_grammar", "test.test_patma", "test.test_scope", "test.test_with",
)

# Tests that look at what is documented to change: the frames around a call, what `dir()` finds there, the depth of
# recursion; or that hold functions of their module by a reference from before these were exchanged.
_PLURALS = "test.test_gettext.GNUTranslationsClassPluralFormsTestCase"
KNOWN = frozenset({
    "test.test_call.TestRecursion.test_super_deep", "test.test_contextlib.TestExitStack.test_exit_exception_traceback",
    "test.test_contextlib_async.TestAsyncExitStack.test_exit_exception_traceback",
    "test.test_descr.ClassPropertiesAndMethods.test_dir",
    "test.test_enum.TestSpecial.test_pickle_enum_function", f"{_PLURALS}.test_plural_forms_null_translations",
    f"{_PLURALS}.test_plural_context_forms_null_translations",
    "test.test_functools.TestLRUPy.test_pickle", "test.test_functools.TestPartialMethod.test_repr",
    "test.test_plistlib.TestBinaryPlistlib.test_deep_nesting",
})


def functions_of(owner: Any, module: types.ModuleType) -> Iterator[tuple[Any, str, Any, Any]]:
    """Functions and methods written in `module`: (owner, name, function, how to wrap its converted form)."""
    for name, value in list(vars(owner).items()):
        if isinstance(value, property):
            parts = [value.fget, value.fset, value.fdel]
            if any(isinstance(part, types.FunctionType) and part.__module__ == module.__name__ for part in parts):
                yield owner, name, value, None
            continue
        wrapper = type(value) if isinstance(value, staticmethod | classmethod) else None
        inner = value.__func__ if wrapper else value
        if isinstance(inner, types.FunctionType) and inner.__module__ == module.__name__:
            yield owner, name, inner, wrapper
        elif isinstance(value, type) and value.__module__ == module.__name__ and _is_written_in(value, owner, name):
            yield from functions_of(value, module)


def _is_written_in(cls: type, owner: Any, name: str) -> bool:
    """Is the class the one defined here, and not an alias of another one?"""
    return cls.__qualname__ == (name if isinstance(owner, types.ModuleType) else f"{owner.__qualname__}.{name}")


def convert_module(name: str) -> int:
    """Put converted functions in the place of all functions of a module; how many there were."""
    from d2s.errors import SourceError
    from d2s.transpiler import transpile

    def converted(function: Any) -> Any:
        if not isinstance(function, types.FunctionType) or function.__module__ != name:
            return function
        if function not in made:
            try:
                made[function] = transpile(function)
            except SourceError:
                return function  # made by exec, as methods of dataclasses and named tuples are
        return made[function]

    # One function may have several names, and is one function then.
    made: dict[Any, Any] = {}
    module = importlib.import_module(name)
    for owner, attribute, function, wrapper in functions_of(module, module):
        if isinstance(function, property):
            parts = map(converted, (function.fget, function.fset, function.fdel))
            # Names like `__dict__` cannot be given another property.
            with contextlib.suppress(AttributeError, TypeError):
                setattr(owner, attribute, property(*parts, function.__doc__))
            continue
        new = converted(function)
        if new is not function:
            setattr(owner, attribute, wrapper(new) if wrapper else new)
    for attribute, value in list(vars(module).items()):
        if isinstance(value, dict | list | tuple) and not attribute.startswith("__"):
            setattr(module, attribute, exchanged(value, made))
    return len(made)


def exchanged(tree: Any, made: dict[Any, Any]) -> Any:
    """A table of a module, with converted functions in the place of the originals."""
    if type(tree) is dict:
        tree.update({key: exchanged(value, made) for key, value in tree.items()})
    elif type(tree) is list:
        tree[:] = [exchanged(value, made) for value in tree]
    elif type(tree) is tuple:
        return tuple(exchanged(value, made) for value in tree)
    return made.get(tree, tree) if isinstance(tree, types.FunctionType) else tree


class _Outcomes(unittest.TestResult):
    """Takes down how each test ended."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, str] = {}

    def _note(self, test: Any, outcome: str) -> None:
        self.outcomes[test.id()] = outcome

    def addSuccess(self, test: Any) -> None:
        self.outcomes.setdefault(test.id(), "ok")

    def addError(self, test: Any, err: Any) -> None:
        self._note(test, f"error: {err[0].__name__}: {str(err[1])[:300]}")

    def addFailure(self, test: Any, err: Any) -> None:
        self._note(test, f"failure: {str(err[1])[:300]}")

    def addSkip(self, test: Any, reason: str) -> None:
        self._note(test, "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._note(test, "expected failure")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._note(test, "unexpected success")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._note(test, f"sub-test: {err[0].__name__}: {str(err[1])[:300]}")


def run_here(name: str, is_converted: bool) -> dict[str, Any]:
    """Run the tests of one module in this process."""
    warnings.simplefilter("ignore")
    importlib.import_module("d2s.transpiler")  # what it imports is there in both cases
    count = convert_module(name) if is_converted else 0
    suite = unittest.defaultTestLoader.loadTestsFromName(f"test.{PAIRS.get(name, name.removeprefix('test.'))}")
    result = _Outcomes()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        suite.run(result)
    return {"functions": count, "outcomes": result.outcomes}


def run_apart(name: str, is_converted: bool, timeout: float) -> dict[str, Any]:
    """The same in a process of its own, in an empty folder."""
    import tempfile

    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, "--here", name]
    path = os.pathsep.join([os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*command, *(["--converted"] if is_converted else [])], cwd=folder, timeout=timeout, text=True,
            capture_output=True, stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
        )
    if done.returncode:
        raise RuntimeError(f"the tests of {name} came to no end:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def differences(name: str, timeout: float = 600) -> tuple[int, int, list[str]]:
    """Tests and functions of a module, and the tests whose outcome conversion changes."""
    before, after = (run_apart(name, is_converted, timeout) for is_converted in (False, True))
    expected, got = before["outcomes"], after["outcomes"]
    told = [
        f"{test}: {expected.get(test)} became {got.get(test)}"
        for test in sorted({*expected, *got})
        if _kind(expected.get(test)) != _kind(got.get(test)) and test not in KNOWN
    ]
    return len(expected), after["functions"], told


def _kind(outcome: str | None) -> str | None:
    return outcome and outcome.partition(":")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="module", help="all of the table if none is given")
    parser.add_argument("--here", metavar="module")
    parser.add_argument("--converted", action="store_true")
    options = parser.parse_args()
    if options.here:
        out = sys.stdout
        found = run_here(options.here, options.converted)
        print(json.dumps(found), file=out, flush=True)
        os._exit(0)  # threads that tests have left
    total = [0, 0, 0]
    for name in options.names or PAIRS:
        start = time.perf_counter()
        try:
            tests, functions, told = differences(name)
        except (subprocess.TimeoutExpired, RuntimeError, ModuleNotFoundError) as error:
            print(f"{name}: {error}", flush=True)
            total[2] += 1
            continue
        for part, value in enumerate((tests, functions, len(told))):
            total[part] += value
        seconds = time.perf_counter() - start
        print(f"{name}: {functions} functions, {tests} tests, {len(told)} differ ({seconds:.0f} s)", flush=True)
        for line in told:
            print(f"    {line}", flush=True)
    print(f"{total[1]} functions, {total[0]} tests, {total[2]} differ")
    raise SystemExit(total[2] > 0)


if __name__ == "__main__":
    main()
