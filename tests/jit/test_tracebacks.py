"""Errors, warnings and debuggers in static functions: they show the user's lines, as in eager mode."""

from __future__ import annotations

import io
import logging
import pdb
import pickle
import re
import sys
import traceback
import warnings

import pytest

import d2s
from d2s.errors import Location


def helper(x, k):
    if k > 2:
        raise ValueError("bad", k)
    return x.reshape([7])


def in_a_branch_of_a_loop(x, k):
    y = x
    if x.sum() > 0:
        for _ in range(2):
            y = helper(x, k)
    return y


def in_a_loop_on_a_tensor(x, k):
    while x.sum() > 0:
        x = x - 1
        if x.sum() < 0.5:
            raise KeyError(k)
    return x


def zero_division(x, k):
    if x.sum() > 0:
        return x * (k / (k - k))
    return x


def missing_key(x, k):
    table = {}
    return table[k]


def index_of_the_run(x, k):
    y = x * 2
    return y[d2s.to_tensor(5) if x.sum() < 0 else x.sum().astype("int64") + 6]


def recursion(x, k):
    if k > 0:
        return recursion(x, k - 1)
    raise RuntimeError("deep")


def with_cause(x, k):
    try:
        helper(x, 3)
    except ValueError as error:
        found = TypeError("wrong")
        found.add_note("look here")
        raise found from error


def with_context(x, k):
    if x.sum() > 0:
        try:
            helper(x, 3)
        except ValueError:
            raise TypeError("second")  # noqa: B904
    return x


def without_context(x, k):
    try:
        helper(x, 3)
    except ValueError:
        raise TypeError("second") from None


FUNCTIONS = [in_a_branch_of_a_loop, in_a_loop_on_a_tensor, zero_division, missing_key, recursion, with_cause,
             with_context, without_context]


def shown(function, *args):
    """The traceback below the call, as Python prints it, and the error."""
    try:
        function(*args)
    except Exception as error:
        error.__traceback__ = error.__traceback__.tb_next
        text = "".join(traceback.format_exception(error))
        # Lines that were covered as a whole have no marks; where operators stand in between the marks differ.
        return re.sub(r"\n +[~^]+(?=\n)", "", text), error
    raise AssertionError("no error")


@pytest.mark.parametrize("k", [3, 4])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_traceback_is_that_of_eager_mode(function, k):
    x = d2s.ones([2])
    eager, static = shown(function, x, k), d2s.to_static(function)
    for _ in range(2):
        text, error = shown(static, x, k)
        assert text == eager[0]
        assert type(error) is type(eager[1])
        assert error.args == eager[1].args


def test_error_of_an_operator_while_tracing_shows_only_the_user():
    text, error = shown(d2s.to_static(in_a_branch_of_a_loop), d2s.ones([2]), 1)
    assert isinstance(error, d2s.ShapeError)
    assert [frame.name for frame in traceback.extract_tb(error.__traceback__)] == ["in_a_branch_of_a_loop", "helper"]
    assert "    return x.reshape([7])\n" in text


def test_error_of_an_operator_in_the_run_stands_at_its_line_with_the_caret():
    function = d2s.to_static(index_of_the_run)
    with pytest.raises(d2s.IndexOutOfRangeError) as raised:
        function(d2s.ones([2]), 1)
    line = index_of_the_run.__code__.co_firstlineno + 2
    assert raised.value.location == Location(__file__, line)
    text = "".join(traceback.format_exception(raised.value))
    assert f'File "{__file__}", line {line}, in index_of_the_run\n    return y[' in text
    assert re.search(r"\n    +~\^+", text)
    assert "<d2s" not in text
    assert "d2s/static" not in text


def test_internal_frames_are_shown_on_request():
    d2s.jit.show_internal_frames()
    try:
        text, _ = shown(d2s.to_static(zero_division), d2s.ones([2]), 1)
    finally:
        d2s.jit.show_internal_frames(False)
    assert "<d2s program zero_division" in text
    assert "control_flow.py" in text


def test_place_of_an_error_can_be_pickled():
    with pytest.raises(d2s.ShapeError) as raised:
        d2s.to_static(in_a_branch_of_a_loop)(d2s.ones([2]), 1)
    again = pickle.loads(pickle.dumps(raised.value))
    assert again.location == raised.value.location


# --- warnings and logging ---------------------------------------------------------------------------------------------


def warner(x, level):
    if x.sum() > 0:
        warnings.warn(f"sum {x.sum().item()}", RuntimeWarning, stacklevel=level)
    return x


def calls_the_warner(x, level):
    for _ in range(1):
        x = warner(x, level)
    return x


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_warnings_stand_at_the_line_of_eager_mode(level):
    places = []
    for function in (calls_the_warner, d2s.to_static(calls_the_warner)):
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                function(d2s.ones([2]), level)
            places.append([(w.category, str(w.message), w.filename, w.lineno) for w in caught])
    assert all(place == places[0] for place in places)
    assert len(places[0]) == 1


def test_a_warning_that_is_an_error_is_one():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match=r"sum 2\.0"):
            d2s.to_static(warner)(d2s.ones([2]), 1)


def test_wrong_category_is_told_as_in_python():
    def wrong(x):
        warnings.warn("a", int, stacklevel=1)
        return x

    for function in (wrong, d2s.to_static(wrong)):
        with pytest.raises(TypeError, match="category must be a Warning subclass"):
            function(d2s.ones([1]))


def test_log_records_stand_at_the_users_line(caplog):
    def logs(x):
        logging.getLogger("users").warning("sum %s", x.sum().item())
        return x

    for function in (logs, d2s.to_static(logs)):
        function(d2s.ones([2]))
    eager, static = caplog.records
    assert (static.pathname, static.lineno, static.funcName) == (eager.pathname, eager.lineno, eager.funcName)
    assert static.getMessage() == eager.getMessage() == "sum 2.0"


# --- debuggers --------------------------------------------------------------------------------------------------------


def stops(x):
    y = x + 1
    breakpoint()
    z = y * 2
    return z


def test_breakpoint_stops_in_the_users_line_on_every_call(monkeypatch):
    typed = io.StringIO("p x\nnext\ncontinue\n" * 2)
    printed = io.StringIO()
    monkeypatch.setattr(sys, "stdin", typed)
    monkeypatch.setattr(sys, "stdout", printed)
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.delenv("PYTHONBREAKPOINT", raising=False)
    before = sys.gettrace()
    static = d2s.to_static(stops)
    try:
        for _ in range(2):
            assert static(d2s.ones([1])).item() == 4.0
    finally:
        sys.settrace(before)
    line = stops.__code__.co_firstlineno
    # Newer versions of Python stop at the call itself first.
    assert printed.getvalue().count(f"test_tracebacks.py({line + 3})stops()\n-> z = y * 2") == 2
    assert "d2s/operators" not in printed.getvalue()


def test_a_hook_for_breakpoint_is_called(monkeypatch):
    calls = []
    monkeypatch.setattr(sys, "breakpointhook", lambda *args: calls.append(args))
    static = d2s.to_static(stops)
    for _ in range(3):
        static(d2s.ones([1]))
    assert calls == [()] * 3


def test_breakpoints_of_pdb_in_the_file_stop_while_tracing():
    printed = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("continue\np 'here'\ncontinue\n"), stdout=printed, nosigint=True, readrc=False)
    debugger.use_rawinput = False
    line = helper.__code__.co_firstlineno + 3
    assert debugger.set_break(__file__, line) is None
    before = sys.gettrace()
    try:
        debugger.runcall(d2s.to_static(lambda x: helper(x, 1)), d2s.ones([7]))
    finally:
        sys.settrace(before)
    assert f"({line})helper()\n-> return x.reshape([7])" in printed.getvalue()
    assert "'here'" in printed.getvalue()


# --- coverage ---------------------------------------------------------------------------------------------------------


def counted(x, k):
    y = x * 2
    if k > 5:
        y = y + 1
        y = y * 3
    elif k > 4:
        return y
    for _ in range(k):
        y = y + 1
    while k > 3:
        k = k - 1
    if y.sum() > 0:
        return y
    return None


@pytest.mark.parametrize("k", [0, 2, 4, 5, 6])
def test_the_lines_that_run_while_tracing_are_those_of_eager_mode(k):
    """What coverage tools see, where only Python values decide (of a branch on a tensor, both sides are traced)."""
    lines = []
    for function in (counted, d2s.to_static(counted)):
        seen = set()

        def trace(frame, event, arg, seen=seen):
            if frame.f_code.co_filename != __file__ or frame.f_code.co_name != "counted":
                return None if frame.f_code.co_filename.startswith("<") else trace
            if event == "line":
                seen.add(frame.f_lineno - counted.__code__.co_firstlineno)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            function(d2s.ones([1]), k)
        finally:
            sys.settrace(before)
        lines.append(seen)
    eager, static = lines
    assert eager <= static
    assert static - eager <= {13}  # the other side of the branch on a tensor


def test_an_interruption_before_the_first_line_of_a_function_comes_out() -> None:
    """Python has no line for it then."""

    def interrupted(gradient):
        raise KeyboardInterrupt

    interrupted.__code__ = interrupted.__code__.replace(co_linetable=b"")
    x = d2s.to_tensor([1.0], stop_gradient=False)

    @d2s.to_static
    def f(x):
        y = x * 2
        y.register_hook(interrupted)
        y.backward()
        return y

    for _ in range(2):
        # pytest itself cannot show a frame without a line.
        kind, names = None, []
        try:
            f(x)
        except BaseException as error:
            kind, names = type(error), [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
        assert kind is KeyboardInterrupt
        assert names[-1] == "interrupted"
