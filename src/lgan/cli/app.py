"""The commands by name, and how a failure ends."""

import logging
import sys
from typing import Annotated

import typer
from rich.markup import escape

from lgan._version import __version__
from lgan.cli import data, demo, explain, sweep, training, wl
from lgan.cli.checkout import from_checkout
from lgan.cli.screen import log

__all__ = ["app", "main"]

app = typer.Typer(
    name="lgan",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Line Graph Aggregation Networks: train, compare and understand graph classifiers.",
)
app.command()(demo.demo)
app.command()(training.train)
app.command()(training.cv)
app.command()(training.predict)
app.command()(sweep.sweep)
app.command()(explain.explain)
app.command()(wl.wl)
app.add_typer(data.app, name="data")
from_checkout(app, "table", "paper.commands.table", "Tables from records: accuracy, power, speed.")
from_checkout(app, "bench", "benchmarks.command", "Measure speed and memory beside the peers.")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lgan {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    logging.basicConfig(format="%(message)s", stream=sys.stderr)


def main() -> None:
    """Run the command line; 0 for success, 1 for failure, 2 for bad usage, 130 for Ctrl-C."""
    try:
        app()
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        log.print(f"[bold red]Error:[/] {escape(str(error))}", soft_wrap=True, highlight=False)
        sys.exit(1)
