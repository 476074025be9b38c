"""Docstrings as the site reads them: one example is a section too, roles of Sphinx are code."""

import re
from typing import Any

import griffe


class Docstrings(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None and not obj.is_alias:
            obj.docstring.value = readable(obj.docstring.value)


def readable(text: str) -> str:
    """A docstring without what only other tools understand.

    Equations become blocks of code: nothing that draws them comes with the site.
    """
    text = re.sub(r"^( *)Example:$", r"\1Examples:", text, flags=re.MULTILINE)
    text = re.sub(r":(?:func|class|meth|data|mod|attr):(?=`)", "", text)
    return re.sub(r"^( *)\.\. math::\n((?:\1 +\S.*\n|\n)+)", _block, text, flags=re.MULTILINE)


def _block(found: re.Match[str]) -> str:
    indent, body = found.groups()
    return f"{indent}```latex\n{body.rstrip()}\n{indent}```\n\n"
