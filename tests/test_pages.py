"""The pages of *Start* and *How to*: every command and example in them prints what they say.

A block ``console`` holds commands behind ``$`` with their output, ``pycon`` examples behind
``>>>``; ``...`` stands for anything. A block behind ``<!-- file NAME -->`` is written to that file.
All pages are read in their order, in one folder that begins with the tables of examples/.
"""

import contextlib
import doctest
import io
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lgan.cli import main

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"(?:<!-- file (\S+) -->\n)?^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
ALIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def pages():
    """The pages that are run."""
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    sections = {name: content for section in nav for name, content in section.items()}
    return [
        name for title in ("Start", "How to") for page in sections[title] for name in page.values()
    ]


# Of folds by scaffold, as the page on scikit-learn says.
@pytest.mark.filterwarnings("ignore:values the model was not trained on")
def test_the_pages_tell_the_truth(tmp_path, monkeypatch):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    pytest.importorskip("optuna", reason="searches need optuna")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("LGAN_MIRROR", raising=False)
    for table in (ROOT / "examples").glob("*.csv"):
        shutil.copy(table, tmp_path)
    wrong = [
        f"docs/{page}: {what}\n--- page\n{wanted}--- got\n{got}"
        for page in pages()
        for what, wanted, got in _differences(ROOT / "docs" / page)
    ]
    assert not wrong, "\n\n".join(wrong)


def _differences(page):
    """Every example whose output is another than on the page."""
    names: dict[str, object] = {}
    for file, kind, body in BLOCK.findall(page.read_text()):
        if file:
            Path(file).write_text(body)
        elif kind == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, _, wanted = part.partition("\n")
                yield from _compared(f"$ {command}", wanted, _run(command))
        elif kind == "pycon":
            for example in doctest.DocTestParser().get_examples(body):
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(compile(example.source, str(page), "single"), names)
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
