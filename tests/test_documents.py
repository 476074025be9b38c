"""Tables in the documents are what the commands print today."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from lgan import CVResult
from paper.expressivity import ExpressivityRecord

ROOT = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
assert spec is not None
assert spec.loader is not None
tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tables)

README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("document", tables.DOCUMENTS, ids=lambda path: path.name)
def test_tables_are_up_to_date(document):
    text = document.read_text()
    assert tables.refreshed(text) == text, "run `make docs`"


def test_the_picture_of_speed_is_what_the_records_say():
    drawings = pytest.importorskip("docs.drawings", reason="pictures need matplotlib")
    picture = (ROOT / "docs" / "pictures" / "speed.svg").read_text()
    for label, *where in drawings.FASTER:
        times = drawings.shown(drawings.times_faster(*where))
        assert times in picture, f"{label} is {times}: run `make docs`"


def test_documents_have_tables_at_all():
    found = [name for d in tables.DOCUMENTS for name, _ in tables.BLOCK.findall(d.read_text())]
    assert {"lgan table classification", "lgan table ablation", "lgan table speed"} <= set(found)


def test_readme_is_short_and_begins_with_how_to_install():
    assert README.count("\n") <= 120
    assert "pip install" in README[:300]


@pytest.fixture(scope="module")
def separated():
    """Pairs of BREC that every refinement separates, by the records."""
    paths = (ROOT / "results" / "expressivity").glob("*.json")
    return {
        count.row: sum(count.separated.values())
        for path in paths
        for count in ExpressivityRecord.load(path).counts
        if count.kind == "refinement"
    }


def test_counts_in_the_readme_are_those_of_the_records(separated):
    told = re.search(r"from (\d+) to (\d+)–(\d+) of the 400 pairs, where 3-WL has (\d+)", README)
    assert told is not None
    rows = ["lgan-res", "lgan-res + full", "lgan-res + folklore", "3-WL (2-FWL)"]
    assert [int(number) for number in told.groups()] == [separated[row] for row in rows]


def test_counts_in_the_picture_are_those_of_the_records(separated):
    drawn = re.findall(r"(\d+) of 400", (ROOT / "docs" / "pictures" / "hierarchy.svg").read_text())
    rows = ["1-WL", "lgan-res", "lgan-res + triangles", "3-WL (2-FWL)"]
    rows += ["lgan-res + full", "lgan-res + folklore"]
    assert {int(number) for number in drawn} == {separated[row] for row in rows}


@pytest.mark.parametrize("document", tables.DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    # Nitro groups in tables of molecules read like links.
    prose = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#:]+)[#)]", prose):
        assert (document.parent / target).exists(), target


def test_readme_names_every_exit_code():
    assert re.search(r"Exit codes are 0, 1 .*, 2 .*, 130 ", README)


@pytest.mark.parametrize("name", ["README.md", "docs/reproduction.md"])
def test_rules_are_never_described_without_their_limits(name):
    text = (ROOT / name).read_text()
    told = re.search(r"settings.{0,120}searched for on these very folds", text)
    assert "`fair`" not in text or ("inner hold-out" in text and told)
    assert re.search(r"`bagged`.{0,400}\. The suite that the recipe was chosen on holds", text)


def test_messages_in_the_error_index_are_those_of_the_program():
    files = (ROOT / "src" / "lgan").rglob("*.py")
    source = re.sub(r'"\s*\n\s*f?"', "", "\n".join(path.read_text() for path in files))
    rows = (ROOT / "docs" / "errors.md").read_text().partition("| it says |")[2]
    said = re.findall(r"^\| (.+?) \|", rows.partition("|---|---|---|")[2], flags=re.MULTILINE)
    assert len(said) > 5
    pieces = [piece.strip() for line in said for piece in line.split("…")]
    assert [piece for piece in pieces if piece not in source] == []


def test_records_hold_what_their_curves_give() -> None:
    for path in sorted((ROOT / "results" / "cv").glob("*.json")):
        record = CVResult.load(path)
        for rule, stored in json.loads(path.read_text())["results"].items():
            assert record.selected(rule).mean == pytest.approx(stored["mean"]), (path, rule)
