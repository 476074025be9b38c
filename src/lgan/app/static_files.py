"""The files of the page, read once: no request reaches the file system."""

from hashlib import sha256
from importlib.resources.abc import Traversable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from lgan.app.limits import RefusedError

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


# Contents by name, with their type and a tag by which a browser knows them again.
Files = dict[str, tuple[bytes, str, str]]


def served(files: Files, name: str, request: Request) -> Response:
    """A file by its name."""
    if name not in files:
        raise RefusedError(404, "There is nothing here.")
    content, kind, tag = files[name]
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


def read_files(folder: Traversable, prefix: str = "") -> Files:
    """All files below a folder, their names after a prefix."""
    found: Files = {}
    for entry in folder.iterdir():
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            found |= read_files(entry, f"{name}/")
        else:
            content = entry.read_bytes()
            kind = TYPES.get(Path(name).suffix, "text/plain; charset=utf-8")
            found[name] = (content, kind, f'"{sha256(content).hexdigest()[:16]}"')
    return found
