"""`lgan app`."""

import errno
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Annotated

import typer

from lgan._optional import require
from lgan.cli import options
from lgan.cli.screen import activity, console, note

if TYPE_CHECKING:
    import socket

PORT = 8765


def page(
    checkpoint: options.ModelFile,
    port: Annotated[
        int | None,
        options.number(min=0, max=65535, help=f"Port of the page; {PORT} or the next free one."),
    ] = None,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Address; another than 127.0.0.1 needs the token."),
    ] = "127.0.0.1",
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    token: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Token that requests carry; drawn where it is needed."),
    ] = None,
) -> None:
    """Open a page on this machine to ask a model: draw a molecule or drop a file, and see why.

    Nothing leaves the machine, and nothing is fetched from outside. Ctrl-C ends it.

    \b
    Examples:
      lgan app runs/active/model.safetensors
      lgan app runs/active/model.safetensors --port 9000 --no-browser
    """
    for package in ("starlette", "uvicorn"):
        require(package)
    if token is not None and len(token) < 16:
        raise typer.BadParameter("`--token` must have 16 characters or more.")

    from lgan.app import build_app, serve
    from lgan.app.routes import LOCAL
    from lgan.app.subjects import read_columns
    from lgan.predictor import load_model

    token = token or (None if host in LOCAL else token_urlsafe(24))
    listening = _listen(host, port)
    try:
        with activity() as tell:
            tell("loading the model")
            predictor = load_model(checkpoint)
            app = build_app(predictor, hosts={*LOCAL, host.lower()}, token=token)
        name = f"[{host}]" if ":" in host else host
        address = f"http://{name}:{listening.getsockname()[1]}/" + (
            f"#token={token}" if token else ""
        )
        console.print(f"page: {address}", soft_wrap=True, markup=False, highlight=False)
        if columns := read_columns(predictor):
            note(
                f"this model reads {columns} of a table, which the page cannot give: drop a table "
                "that has it, or use `lgan predict`"
            )
        note("nothing leaves this machine; Ctrl-C ends it")
        if browser:
            typer.launch(address)
        serve(app, listening)
    finally:
        listening.close()


def _listen(host: str, port: int | None) -> "socket.socket":
    from lgan.app.server import listen, next_free

    wanted = PORT if port is None else port
    try:
        return listen(host, wanted)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise typer.BadParameter(f"No page at {host}:{wanted}: {error.strerror}.") from error
    free = next_free(host, wanted)
    if port is None and free is not None:
        note(f"port {wanted} is busy; taking {free}")
        return listen(host, free)
    other = f" Port {free} is free: `--port {free}`." if free is not None else " Choose another."
    raise typer.BadParameter(f"Port {wanted} is busy.{other}")
