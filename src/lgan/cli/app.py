"""The commands by name, each read when it is called, and how a failure ends."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from lgan._version import __version__
from lgan.cli.screen import note

# The root of a checkout.
ROOT = Path(__file__).resolve().parents[3]
# Where a command is, and what it does in one line of the help.
COMMANDS = {
    "demo": ("lgan.cli.demo:demo", "See what LGAN sees and GIN does not, on generated graphs."),
    "train": ("lgan.cli.training:train", "Train one model on a source and keep it."),
    "cv": ("lgan.cli.training:cv", "Cross-validate a model, all folds side by side."),
    "predict": ("lgan.cli.predict:predict", "Predict with a trained model, row by row."),
    "app": ("lgan.cli.page:page", "Open a page to ask a model: draw, drop a file, see why."),
    "sweep": ("lgan.cli.sweep:sweep", "Search for the settings of a model."),
    "explain": ("lgan.cli.explain:explain", "Show which edges made a model decide."),
    "bench": ("benchmarks.command:app", "Measure speed and memory, beside other libraries."),
    "wl": ("lgan.cli.wl:wl", "Say which tests tell two graphs apart."),
    "data": ("lgan.cli.data:app", "List, prepare and inspect data sets."),
    "table": ("paper.commands.table:app", "Show tables of accuracy, power and speed from records."),
}


class _Commands(TyperGroup):
    """Reads the module of a command when the command is called, and no other."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        module, _, attribute = COMMANDS[str(name)][0].partition(":")
        if not module.startswith("lgan."):
            _find_checkout(str(name), module)
        found = getattr(import_module(module), attribute)
        if not isinstance(found, typer.Typer):
            found, function = typer.Typer(add_completion=False), found
            found.command(name)(function)
        found.rich_markup_mode = None
        return name, typer.main.get_command(found), rest

    def make_context(self, *args: Any, **settings: Any) -> Any:
        with _stoppable():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: Any) -> Any:
        with _stoppable():
            return super().invoke(ctx)


def _find_checkout(name: str, module: str) -> None:
    """Make the code of a command importable that is in the repository and not in the installed
    package: `paper/` and `benchmarks/`, which stand beside `src/`; or say where it is.
    """
    package = module.partition(".")[0]
    if not (ROOT / package / "__init__.py").is_file():
        raise ImportError(
            f"`lgan {name}` belongs to a checkout of the repository of lgan, whose folder "
            f"`{package}` it runs; this is an installed package. Clone the repository and run it "
            "there (`make demo` sets it up)."
        )
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))


@contextmanager
def _stoppable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:  # which typer would turn into an exit without a word
        note("Stopped.")
        raise typer.Exit(130) from None


app = typer.Typer(
    name="lgan",
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode=None,  # boxes around two ragged columns leave no room at 80
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Line Graph Aggregation Networks: train, compare and understand graph classifiers.",
    epilog="Exit codes: 0 done, 1 failed, 2 bad usage, 130 stopped with Ctrl-C.",
)
for _name, (_, _line) in COMMANDS.items():
    app.command(_name, help=_line)(lambda: None)  # stands in the help for the command itself


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lgan {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where a failure came from; may stand anywhere.")
    ] = False,
) -> None:
    logging.basicConfig(format="%(message)s", stream=sys.stderr)


def run(args: list[str]) -> int:
    """Run a command line and give its exit code; `--debug` is for whoever catches its errors."""
    command = typer.main.get_command(app)
    words = [word for word in args if word != "--debug"]
    code = command.main(words, prog_name="lgan", standalone_mode=False)
    return code if isinstance(code, int) else 0
