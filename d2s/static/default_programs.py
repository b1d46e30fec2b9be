"""Which Programs are built now: `program_guard`, and the switch between the two modes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from d2s.core.interpreter import pop_interpreter, push_interpreter, state, use_interpreter
from d2s.device import check_device
from d2s.errors import DTypeError, ProgramError, user_location
from d2s.static.builder import StaticInterpreter
from d2s.static.graph import recorder_of
from d2s.static.program import Program


class _Defaults(threading.local):
    """The Programs that are built now, by thread."""

    def __init__(self) -> None:
        self.main = Program("main")
        self.startup = Program("startup")


_defaults = _Defaults()


def default_main_program() -> Program:
    """The Program that ops are recorded into."""
    return _defaults.main


def default_startup_program() -> Program:
    """The Program that gives parameters their first values."""
    return _defaults.startup


@contextmanager
def program_guard(main_program: Program, startup_program: Program | None = None) -> Iterator[None]:
    """Record what is done inside into `main_program`, and first values of parameters into `startup_program`.

    Raises
    ------
    DTypeError
        If one of them is no Program.
    """
    for program in (main_program, startup_program):
        if program is not None and not isinstance(program, Program):
            raise DTypeError(f"program_guard needs a Program, got {type(program).__name__}")
    before = _defaults.main, _defaults.startup
    recorder = recorder_of(main_program)
    _defaults.main, _defaults.startup = main_program, startup_program or _defaults.startup
    try:
        with use_interpreter(recorder):
            yield
    finally:
        _defaults.main, _defaults.startup = before


@contextmanager
def name_scope(prefix: str | None = None) -> Iterator[None]:
    """Nothing: variables are called the same inside as outside."""
    yield


def enable_static() -> None:
    """Record ops into the default main Program from now on, in this thread."""
    if in_dynamic_mode():
        push_interpreter(recorder_of(_defaults.main))


def disable_static(place: Any = None) -> None:
    """Compute ops at once again, in this thread.

    Parameters
    ----------
    place : CPUPlace or "cpu", optional
        There is only the CPU.

    Raises
    ------
    ProgramError
        Inside a `program_guard`.
    ArgumentError
        If `place` is another device.
    """
    if place is not None:
        check_device(place)
    if not in_dynamic_mode():
        if state.current is not _defaults.main.recorder or len(state.stack) != 2:
            raise ProgramError(
                "disable_static() inside program_guard or a traced function", user_location(),
                kind="P06",
            )
        pop_interpreter()


def in_dynamic_mode() -> bool:
    """True if ops are computed at once, False while a Program is built."""
    return not isinstance(state.current, StaticInterpreter)
