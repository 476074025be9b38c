"""Docstrings as the site reads them: one example is a section too, roles of Sphinx are code."""

import re
from typing import Any

import griffe

# Equations become plain text: nothing that draws them comes with the site.
SYMBOLS = {
    "bigl": "", "bigr": "", "Bigl": "", "Bigr": "", "quad": "", "qquad": "",
    "sum": "∑", "int": "∫", "partial": "∂", "cdot": "·", "odot": "⊙", "dots": "…", "infty": "∞",
    "in": "∈", "ne": "≠", "subset": "⊂", "setminus": "∖", "cup": "∪", "uplus": "⊎",
    "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "top": "T", "uparrow": "↑",
    "log": "log", "tanh": "tanh", "Delta": "Δ", "alpha": "α", "delta": "δ", "epsilon": "ε",
    "lambda": "λ", "phi": "φ", "psi": "ψ", "sigma": "σ", "tau": "τ",
}  # fmt: skip


class Docstrings(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None and not obj.is_alias:
            obj.docstring.value = readable(obj.docstring.value)


def readable(text: str) -> str:
    """A docstring without what only other tools understand."""
    text = re.sub(r"^( *)Example:$", r"\1Examples:", text, flags=re.MULTILINE)
    text = re.sub(r":(?:func|class|meth|data|mod|attr):(?=`)", "", text)
    text = re.sub(r":math:`([^`]+)`", lambda found: f"`{plain(found[1])}`", text)
    text = re.sub(r"^( *)\.\. math:: (\S.*)$", r"\1.. math::\n\1    \2", text, flags=re.MULTILINE)
    return re.sub(r"^( *)\.\. math::\n((?:\1 +\S.*\n|\n)+)", _block, text, flags=re.MULTILINE)


def plain(tex: str) -> str:
    r"""An equation as text, for example ``\sum_{p \in N(t)} z_{tp}`` as ``∑_{p ∈ N(t)} z_{tp}``."""
    tex = re.sub(r"\\(?:mathrm|mathbf|mathbb|text)\s*(?:\{([^}]*)\}|(\w))", r"\1\2", tex)
    tex = re.sub(r"\\tilde (\w)", "\\1\N{COMBINING TILDE}", tex)
    tex = re.sub(r"\\frac\{([^}]*)\}\{([^}]*)\}", r"(\1/\2)", tex)
    tex = re.sub(r"\\tfrac(\w)(\w)", r"\1/\2 ", tex)
    tex = tex.replace(r"\{\!\{", "{{").replace(r"\}\!\}", "}}").replace(r"\|", "‖")
    tex = re.sub(
        r"\\!|&|\\\\$", "", tex.replace(r"\,", " ").replace(r"\;", " "), flags=re.MULTILINE
    )
    tex = re.sub(r"\\([A-Za-z]+)", lambda found: SYMBOLS[found[1]], tex)
    return re.sub(r"(?<=\S) +", " ", tex).replace(" \n", "\n")


def _block(found: re.Match[str]) -> str:
    indent, body = found.groups()
    return f"{indent}```text\n{plain(body.rstrip())}\n{indent}```\n\n"
