import csv
import io

import pytest

from paper.render import Grid, csv_text, latex, markdown, render

GRID = Grid("Table_1", ["model", "A&B"], [["lgan", "92.5 ± 6.3 ▼"], ["a|b", "50 %"]], ["p < 0.05"])


def test_markdown_has_a_line_for_every_row_and_note():
    lines = markdown(GRID).splitlines()
    assert lines[0] == "**Table_1**"
    assert lines[2:6] == [
        "| model | A&B |",
        "|---|---|",
        "| lgan | 92.5 ± 6.3 ▼ |",
        "| a\\|b | 50 % |",
    ]
    assert lines[-1] == "- p < 0.05"


def test_latex_escapes_what_latex_reads():
    text = latex(GRID)
    assert r"model & A\&B \\" in text
    assert r"lgan & 92.5 $\pm$ 6.3 $^{\downarrow}$ \\" in text
    assert r"a|b & 50 \% \\" in text
    assert r"\caption{Table\_1. p $<$ 0.05}" in text
    assert text.count("{lc}") == 1


def test_csv_survives_commas():
    text = csv_text(["a", "b"], [["1,5", 'say "x"']])
    assert list(csv.reader(io.StringIO(text))) == [["a", "b"], ["1,5", 'say "x"']]


def test_grids_follow_each_other():
    assert render([GRID, GRID], "md").count("**Table_1**") == 2


def test_unknown_format_lists_the_known():
    with pytest.raises(ValueError, match=r"md, latex, csv, got 'pdf'"):
        render([GRID], "pdf")
