"""The page about one's own data: every command in it prints what the page says."""

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lgan.cli import main

PAGE = Path(__file__).resolve().parents[1] / "docs" / "own-data.md"
BLOCK = re.compile(r"(?:<!-- file (\S+) -->\n)?```(\w*)\n(.*?)```", re.DOTALL)
ALIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_the_page_tells_the_truth(tmp_path, monkeypatch):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    pytest.importorskip("optuna", reason="searches need optuna")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    wrong = [f"{what}\n--- page\n{wanted}--- got\n{got}" for what, wanted, got in _differences()]
    assert not wrong, "\n\n".join(wrong)


def _differences():
    """Every example whose output is another than on the page."""
    names: dict[str, object] = {}
    for file, kind, body in BLOCK.findall(PAGE.read_text()):
        if file:
            Path(file).write_text(body)
        elif kind == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, _, wanted = part.partition("\n")
                yield from _compared(f"$ {command}", wanted, _run(command))
        elif kind == "python":
            for example in doctest.DocTestParser().get_examples(body):
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(compile(example.source, str(PAGE), "single"), names)
                yield from _compared(f">>> {example.source}", example.want, out.getvalue())


def _compared(what, wanted, got):
    # A table is as wide as its numbers are.
    wanted, got = (re.sub(r"([━─])\1+", r"\1", text) for text in (wanted, got))
    if not doctest.OutputChecker().check_output(wanted, got, ALIKE):
        yield what, wanted, got


def _run(command):
    """What a command prints, notes and results as they come."""
    words = shlex.split(command)
    if words[0] != "lgan":
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    before, sys.argv = sys.argv, words
    out = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out),
            contextlib.suppress(SystemExit),
        ):
            main()
    finally:
        sys.argv = before
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())
