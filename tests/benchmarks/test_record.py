import json

import pytest

from benchmarks import Bar, Record, Row

RECORD = Record(
    "triangles",
    [Row("a", "b", 1.0, "igraph", 12.0, bar=Bar("speedup", 10)), Row("c", "d", None, note="no")],
    {"device": "cpu", "threads": 2},
    "quick",
)


def test_a_record_survives_the_disk(tmp_path):
    path = tmp_path / "new" / "triangles.json"
    path.parent.mkdir()
    RECORD.save(path)
    assert Record.load(path) == RECORD
    assert json.loads(path.read_text())["rows"][0]["holds"] is True


def test_a_record_of_another_format_is_refused():
    with pytest.raises(ValueError, match=r"format 1, got 9.*measure again"):
        Record.from_json(RECORD.to_json() | {"format": 9})
