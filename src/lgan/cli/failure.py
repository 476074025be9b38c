"""How a failure is told: a line for people, a JSON object for programs, the stack where asked."""

import traceback
from typing import Any

import typer
from rich.text import Text

from lgan.cli.screen import note, print_json

# What typer raises for bad usage: the class has moved between packages, its place has not.
BAD_USAGE: Any = typer.BadParameter.__mro__[1]
# What the library raises for wrong arguments, files, memory and packages that are missing.
EXPECTED = (ValueError, OSError, MemoryError, ImportError)


def report(error: Exception, *, as_json: bool, debug: bool) -> int:
    """Say what went wrong and give the exit code: 2 for bad usage, 1 for all else."""
    usage = isinstance(error, BAD_USAGE)
    text = _usage(error) if usage else _failure(error, debug=debug)
    if debug:
        traceback.print_exception(error)
    if text:
        note(Text.assemble(("Error: ", "bold red"), text))
    if as_json:
        print_json({"error": text})
    return 2 if usage else 1


def _usage(error: Any) -> str:
    """What is wrong with a command line; nothing where the help was shown instead."""
    text = str(error.format_message())
    if text and error.ctx is not None:
        note(error.ctx.get_usage())
        note(f"`{error.ctx.command_path} --help` shows how.")
    return text.removeprefix("Invalid value: ")


def _failure(error: Exception, *, debug: bool) -> str:
    text = str(error)
    if isinstance(error, MemoryError) or "allocate memory" in text or "out of memory" in text:
        first = text.partition("\n")[0]
        return f"There is not enough memory. Choose a smaller model, batch or data set. {first}"
    if "gloo" in text and "pair.cc" in text:
        return (
            "Another process of this training was lost, or its machine cannot be reached. "
            "torchrun's `--max-restarts` starts all of them anew; `--resume` does so by hand."
        )
    if isinstance(error, EXPECTED):
        return text
    how = "" if debug else " Add `--debug` to see where, and report what it shows."
    return f"This is a mistake in lgan itself: {type(error).__name__}: {text}.{how}"
