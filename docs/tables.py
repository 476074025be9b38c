"""Puts tables into the documents, so that no figure is typed by hand.

A block between ``<!-- lgan table NAME -->`` and ``<!-- end -->`` holds what that command prints, or
with ``, first`` behind the name the first of its tables. `make docs` runs this; a test checks it.
"""

import contextlib
import io
import re
import sys
from pathlib import Path

from lgan.cli import main

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"<!-- (lgan table [a-z0-9 -]+?)(, first)? -->\n.*?<!-- end -->", re.DOTALL)


def printed(command: str) -> str:
    """What a command prints as Markdown, run in the root of the project."""
    before = sys.argv
    sys.argv = [*command.split(), "--format", "md"]
    out = io.StringIO()
    try:
        with contextlib.chdir(ROOT), contextlib.redirect_stdout(out):
            main()
    except SystemExit as stopped:
        if stopped.code:
            raise RuntimeError(f"`{command}` ended with exit code {stopped.code}.") from stopped
    finally:
        sys.argv = before
    return out.getvalue()


def refreshed(text: str) -> str:
    """A document with all its tables as the records are now."""

    def block(found: re.Match[str]) -> str:
        command, first = found.groups()
        body = printed(command)
        if first:
            body = body.split("\n\n**")[0].rstrip() + "\n"
        return f"<!-- {command}{first or ''} -->\n{body}<!-- end -->"

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    for document in DOCUMENTS:
        document.write_text(refreshed(document.read_text()))
