"""What each subcommand does; each returns its exit status."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from d2s.catalogue import KINDS, find
from d2s.cli.doctor import examine
from d2s.cli.explaining import explanation
from d2s.cli.mistakes import DIFFERENT, DONE, FAILED, Mistake
from d2s.cli.registrations import registrations
from d2s.cli.targets import calls_of, in_full, inputs_of, static_of, target_of
from d2s.cli.writing import write
from d2s.drawing.table import table
from d2s.errors import DTypeError
from d2s.jit.function import plain_function
from d2s.playground.server import Playground
from d2s.testing import ModesDiffer, WrongGradient
from d2s.testing.arguments import Arguments
from d2s.testing.comparing import Tolerance, shown
from d2s.testing.gradients import Settings, compare_gradients
from d2s.testing.observing import CALLS_BACKWARD, Observation
from d2s.testing.same import compare
from d2s.testing.surroundings import SURROUNDINGS
from d2s.words import counted

_FORMATS = ("svg", "html", "mmd", "dot", "txt")


def show(options: argparse.Namespace) -> int:
    """User's code and converted code."""
    sides = static_of(target_of(options.target)).side_by_side()
    if options.html:
        return write(sides.html(), options.output)
    wanted = {"always": True, "never": False}.get(options.color, sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    return write(sides.text(options.width, wanted and options.output is None), options.output)


def hooks(options: argparse.Namespace) -> int:
    """Each registration of a hook."""
    target = target_of(options.target)
    return write(registrations(target, plain_function(static_of(target)._function)))


def graph(options: argparse.Namespace) -> int:
    """The Program of one call."""
    suffix = Path(options.output).suffix.lstrip(".") if options.output else "txt"
    if suffix not in _FORMATS:
        raise Mistake(f"{options.output}: a picture is .svg, .html, .mmd or .dot, and .txt the text")
    target = target_of(options.target, to_call=True)
    static = static_of(target)
    given = in_full(target, inputs_of(target, options.input))
    program = given.call(static.get_concrete_program).main_program
    picture = program.picture(backward=not options.no_backward)
    make = {"svg": picture.svg, "html": picture.html, "mmd": picture.mermaid, "dot": picture.dot}.get(suffix)
    text = make() if make is not None else f"{picture.text}\n"
    return write(text, options.output)


def check(options: argparse.Namespace) -> int:
    """Both modes compared."""
    target = target_of(options.target, to_call=True)
    given = inputs_of(target, options.input)
    try:
        seen = compare(target, given, Tolerance(options.rtol, options.atol), calls=options.calls)
    except ModesDiffer as error:
        write(f"{error}\n")
        return FAILED if error.difference.is_refusal else DIFFERENT
    failing = [number for number, one in enumerate(seen, 1) if one.raised is not None]
    if failing:
        head = f"the program fails, in the same way in both modes, in {_calls(failing, len(seen))}"
    else:
        head = f"both modes do the same in {counted(len(seen), 'call')}"
    write(f"{head}\n" + "".join(f"  {line}\n" for line in _what_was_compared(seen[failing[0] - 1 if failing else -1])))
    if failing:
        return FAILED
    return _check_gradients(target, given, seen[-1]) if options.gradients else DONE


def _calls(numbers: list[int], of: int) -> str:
    return "every call" if len(numbers) == of else f"call {', '.join(map(str, numbers))} of {of}"


def _check_gradients(target: Any, given: Arguments, seen: Observation) -> int:
    """Gradients compared with differences; hooks may change gradients, so what they return is left aside."""
    if CALLS_BACKWARD in seen.left_out:
        raise Mistake(f"--gradients: {CALLS_BACKWARD}, so what it returns cannot be differentiated")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            changes = compare_gradients(target, given, Settings(), 1, ("eager", "static"), hooks=False)
    except WrongGradient as error:
        write(f"{error}\n")
        return DIFFERENT
    except DTypeError as error:
        raise Mistake(f"--gradients: {error.message}") from error
    return write("gradients agree with differences of values in both modes\n" + "".join(
        f"  without what this hook makes of them: {change.name}\n" for change in changes))


def _what_was_compared(seen: Observation) -> Iterator[str]:
    """What the last call has shown."""
    if seen.raised is not None:
        yield f"both raise {seen.raised}"
        yield from seen.raised.place.excerpt().splitlines() if seen.raised.place else ()
        yield from [f"  {seen.raised.advice}"] if seen.raised.advice else []
    for name, output in seen.outputs.items():
        yield f"{name}: {shown(output)}"
    yield from (f"no backward is called on what is returned: {reason}" for reason in dict.fromkeys(seen.left_out))
    gradients = [name for name, gradient in seen.gradients.items() if gradient.is_array]
    yield f"gradients: {', '.join(gradients) or 'none'}"
    yield f"hook calls: {', '.join(call.name for call in seen.hooks) or 'none'}"
    count = len(seen.state) - len(SURROUNDINGS)
    yield f"printed lines: {len(seen.printed)}, warnings: {len(seen.warned)}, values in reach: {count}"


def explain(options: argparse.Namespace) -> int:
    """What was done to a function."""
    target = target_of(options.target, to_call=True)
    calls = [in_full(target, given) for given in calls_of(target, options.input)]
    return write(explanation(static_of(target), calls, options.calls, options.top))


def doctor(options: argparse.Namespace) -> int:
    """The state of the installation."""
    text, is_well = examine()
    write(text)
    return DONE if is_well else DIFFERENT


def error(options: argparse.Namespace) -> int:
    """Entries of the catalogue of errors, or the list of all."""
    if not options.id:
        return write(table(["id", "class", "what"], [[k.id, k.error, k.title] for k in KINDS.values()]) + "\n")
    for id in options.id:
        try:
            write(find(id).text() + "\n")
        except KeyError:
            raise Mistake(f"there is no error {id}; `d2s error` lists them") from None
    return DONE


def playground(options: argparse.Namespace) -> int:
    """Serve the playground until Ctrl-C."""
    try:
        server = Playground(options.port, options.seconds)
    except (OSError, OverflowError) as reason:
        raise Mistake(f"port {options.port} cannot be used: {reason}") from reason
    write(f"d2s playground: {server.address}\nStop it with Ctrl-C.\n")
    sys.stdout.flush()
    if not options.no_browser:
        webbrowser.open(server.address)
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return DONE
