import json

import pytest

from benchmarks import Bar, Record, Row
from benchmarks.record import json_lines

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


@pytest.mark.parametrize("broken", ['{"split": 1', "[1, 2]", ""])
def test_a_line_that_breaks_off_is_named(broken, tmp_path):
    path = tmp_path / "splits.jsonl"
    path.write_text('{"split": 0}\n')
    assert json_lines(path) == [{"split": 0}]
    path.write_text(f'{{"split": 0}}\n{broken}\n')
    with pytest.raises(ValueError, match=r"Line 2 of .*splits\.jsonl must be a JSON object"):
        json_lines(path)
