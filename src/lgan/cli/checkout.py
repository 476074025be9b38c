"""Commands whose code is in the repository and not in the installed package.

`lgan table` reads `paper/` and `lgan bench` reads `benchmarks/`, which stand beside `src/` in a
checkout and load only when they are asked for.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

__all__ = ["from_checkout"]

ROOT = Path(__file__).resolve().parents[3]


def from_checkout(app: typer.Typer, name: str, module: str, description: str) -> None:
    """Add a command to an app without loading the code behind it.

    Args:
        app: The app that lists it.
        name: Name of the command.
        module: Module in the root of the repository that defines ``app``.
        description: Its help, in a line.
    """

    @app.command(
        name,
        help=description,
        add_help_option=False,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )
    def forward(context: typer.Context) -> None:
        command = typer.main.get_command(_load(name, module))
        with command.make_context(name, [*context.args], parent=context.parent) as inner:
            command.invoke(inner)


def _load(name: str, module: str) -> Any:
    package = module.partition(".")[0]
    if not (ROOT / package / "__init__.py").is_file():
        raise ImportError(
            f"`lgan {name}` belongs to a checkout of the repository of lgan, whose folder "
            f"`{package}` it runs; this is an installed package. Clone the repository and run it "
            "there (`make demo` sets it up)."
        )
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return import_module(module).app
