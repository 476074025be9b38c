"""Tables in the documents are what the commands print today."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
assert spec is not None
assert spec.loader is not None
tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tables)


@pytest.mark.parametrize("document", tables.DOCUMENTS, ids=lambda path: path.name)
def test_tables_are_up_to_date(document):
    text = document.read_text()
    assert tables.refreshed(text) == text, "run `make docs`"


def test_documents_have_tables_at_all():
    found = [name for d in tables.DOCUMENTS for name, _ in tables.BLOCK.findall(d.read_text())]
    assert {"lgan table classification", "lgan table ablation"} <= set(found)
