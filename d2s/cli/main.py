"""Options of the `d2s` command, and which function answers which subcommand."""

from __future__ import annotations

import argparse
import math
import sys
import traceback
from collections.abc import Callable, Sequence

import d2s
from d2s.cli import commands
from d2s.cli.mistakes import DONE, FAILED, STOPPED, Mistake, statuses
from d2s.cli.targets import NEXT, in_words
from d2s.cli.writing import drop_the_rest, standard_output
from d2s.playground.server import DEFAULT_SECONDS

# A program of the playground that runs for a day has been forgotten.
MOST_SECONDS = 86_400
_TARGET = "file.py:function, file.py:Class.method, file.py:layer or package.module:function"
_INPUT = ("an argument: a spec like 'float32[8,784]' for random numbers ('float32[8]!' stops gradients), or a Python "
          "value like 0.5; 'name=...' for a certain parameter; without a name, for the positional ones, then for '*'")

_EXAMPLES = {
    "show": ["d2s show model.py:step", "d2s show model.py:step --html -o step.html"],
    "hooks": ["d2s hooks model.py:step"],
    "graph": [
        "d2s graph model.py:step --input 'float32[8,4]' --input 'float32[4,1]' -o step.svg",
        "d2s graph model.py:step --input 'float32[8,4]' --input 'float32[4,1]' --no-backward",
        "d2s graph model.py:net --input 'float32[8,4]' -o net.mmd",
    ],
    "check": [
        "d2s check model.py:step --input 'float32[8,4]' --input 'float32[4,1]'",
        "d2s check model.py:net --input 'float32[8,4]' --calls 5 --gradients",
    ],
    "explain": [
        "d2s explain model.py:step --input 'float32[8,4]' --input 'float32[4,1]'",
        "d2s explain model.py:net --input 'float32[8,4]' --next --input 'float32[1,4]'",
    ],
    "error": ["d2s error D2S-H01", "d2s error"],
    "playground": ["d2s playground --no-browser"],
    "doctor": ["d2s doctor"],
}


def _parser() -> argparse.ArgumentParser:
    everything = [example for examples in _EXAMPLES.values() for example in examples[:1]]
    parser = argparse.ArgumentParser(
        "d2s", description="Look at functions in static mode, and compare both modes.",
        epilog=_examples(everything) + "\n" + statuses(None), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"d2s {d2s.__version__}")
    commands_of = parser.add_subparsers(dest="command", required=True, metavar="command")

    def add(name: str, text: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        found = commands_of.add_parser(
            name, help=text, description=text[0].upper() + text[1:] + ".",
            epilog=_examples(_EXAMPLES[name]) + "\n" + statuses(name),
            formatter_class=argparse.RawDescriptionHelpFormatter)
        found.set_defaults(run=run)
        found.add_argument("--traceback", action="store_true", help="show the whole traceback of an error")
        return found

    show = add("show", "the user's code and what it is converted to, side by side, with hooks marked", commands.show)
    show.add_argument("target", help=_TARGET)
    show.add_argument("--html", action="store_true", help="as a page")
    show.add_argument("-o", "--output", metavar="FILE", help="write there in place of the terminal")
    show.add_argument("--width", type=_count, help="columns of the text; by default those of the terminal")
    show.add_argument("--color", choices=["auto", "always", "never"], default="auto",
                      help="colours; auto: on a terminal, if NO_COLOR is not set")

    hooks = add("hooks", "each registration of a hook: line, tensor, where it was moved or why not", commands.hooks)
    hooks.add_argument("target", help=_TARGET)

    graph = add("graph", "the Program of one call, with blocks, hooks and backward", commands.graph)
    graph.add_argument("target", help=_TARGET)
    graph.add_argument("-i", "--input", action="append", default=[], metavar="SPEC", help=_INPUT)
    graph.add_argument("-o", "--output", metavar="FILE", help="a picture: .svg, .html, .mmd or .dot; .txt as text")
    graph.add_argument("--no-backward", action="store_true", help="leave the backward out")

    check = add("check", "run a function in both modes and compare all that can be seen", commands.check)
    check.add_argument("target", help=_TARGET)
    check.add_argument("-i", "--input", action="append", default=[], metavar="SPEC", help=_INPUT)
    check.add_argument("--calls", type=_count, default=3, help="how often it is called in each mode (3)")
    check.add_argument(
        "--rtol", type=_tolerance, default=0.0, help="relative difference that is allowed (0: to the bit)")
    check.add_argument("--atol", type=_tolerance, default=0.0, help="absolute difference that is allowed")
    check.add_argument(
        "--gradients", action="store_true",
        help="compare gradients with differences of values too; what hooks make of them is left aside")

    explain = add("explain", "what was done to a function: passes, traces, memory, time by operator", commands.explain)
    explain.add_argument("target", help=_TARGET)
    explain.add_argument("-i", "--input", action="append", default=[], metavar="SPEC", help=_INPUT)
    explain.add_argument(
        "--next", dest="input", action="append_const", const=NEXT,
        help="the inputs behind it are for another call: to see what is traced again")
    explain.add_argument("--calls", type=_count, default=5, help="how many calls with each inputs are timed (5)")
    explain.add_argument("--top", type=_count, default=10, help="how many rows the tables of time show (10)")

    error = add("error", "what an error means, by the id in its message, and what to do", commands.error)
    error.add_argument("id", nargs="*", metavar="ID", help="such as D2S-H01; without it, all are listed")

    playground = add(
        "playground", "serve a page on this machine: type a function, see what becomes of it", commands.playground)
    playground.add_argument("--port", type=_port, default=0, help="port on 127.0.0.1; by default one that is free")
    playground.add_argument(
        "--seconds", type=_seconds, default=DEFAULT_SECONDS, help="how long a program may run (%(default)g)")
    playground.add_argument("--no-browser", action="store_true", help="print the address, but do not open it")

    add("doctor", "versions, BLAS, compiler and cache, and whether d2s works here", commands.doctor)
    return parser


def _number(kind: type, what: str, fits: Callable[[float], bool]) -> Callable[[str], float]:
    """What reads a number of an option; one that does not fit is wrong use."""

    def read(text: str) -> float:
        try:
            number: float = kind(text)
            if fits(number):
                return number
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"must be {what}, got {text!r}")

    return read


_count = _number(int, "a whole number, at least 1", lambda number: number >= 1)
_tolerance = _number(float, "a number that is not negative", lambda number: 0 <= number < math.inf)
_seconds = _number(float, f"more than 0 and at most {MOST_SECONDS}", lambda number: 0 < number <= MOST_SECONDS)
_port = _number(int, "a whole number from 0 to 65535", lambda number: 0 <= number <= 65535)


def _examples(lines: Sequence[str]) -> str:
    return "examples:\n" + "".join(f"  {line}\n" for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    options = _parser().parse_args(arguments)
    try:
        with standard_output():
            status: int = options.run(options)
        return status
    except BrokenPipeError:
        # The reader (head, less) has had enough.
        drop_the_rest()
        return DONE
    except KeyboardInterrupt:
        return STOPPED
    except (Exception, SystemExit) as error:
        # The program's own exit status would be taken for one of these.
        if options.traceback:
            traceback.print_exc()
        if sys.stderr is not None:
            print(f"d2s: {error if isinstance(error, Mistake) else in_words(error)}", file=sys.stderr)
        return error.status if isinstance(error, Mistake) else FAILED
