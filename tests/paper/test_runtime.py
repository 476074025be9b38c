import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from paper.runtime import Cost, RuntimeRecord, draw, measure_cost, measure_costs, panels

RECORD = RuntimeRecord(
    [
        Cost("gin", "MUTAG", 0.5, 0.02, 1 << 20, {"hidden": 32}),
        Cost("lgan", "MUTAG", 1.5, 0.01, 3 << 30, {"hidden": 32}),
        Cost("gin", "COLLAB", refused="too large: 9 tuples"),
        Cost("lgan", "COLLAB", 30.0, 12.0, 1 << 30),
    ],
    {"device": "cpu", "threads": 2},
)


@dataclass(frozen=True)
class _Ran:
    memory: int | None = 7
    problem: str = ""
    result: dict[str, Any] = field(default_factory=dict)


def test_a_network_is_measured_on_a_generated_set():
    cost = Cost(**measure_cost("gin", "triangles", epochs=1))
    assert cost.refused == ""
    assert cost.prepare > 0 < cost.epoch
    assert cost.settings == {"hidden": 32, "num_layers": 4, "batch_size": 32}


def test_a_kernel_is_measured_on_a_generated_set(monkeypatch):
    monkeypatch.setattr("paper.runtime.FOLDS", 2)
    cost = Cost(**measure_cost("wl", "triangles", epochs=1))
    assert cost.refused == ""
    assert cost.prepare > 0 < cost.epoch


def test_a_refusal_is_a_result(monkeypatch):
    def refuse(*_, **__):
        raise ValueError("9 tuples, at most 8")

    monkeypatch.setattr("paper.runtime.prepare", refuse)
    cost = Cost(**measure_cost("lgan", "triangles"))
    assert cost.refused == "9 tuples, at most 8"
    assert cost.epoch is None


def test_every_model_meets_every_set_in_a_process_of_its_own():
    calls, told = [], []

    def in_child(function, arguments):
        calls.append((function, arguments["model"], arguments["dataset"], arguments["epochs"]))
        if arguments["model"] == "gin":
            return _Ran(None, "ran out of memory")
        cost = {"model": "lgan", "dataset": arguments["dataset"], "prepare": 1.0, "epoch": 2.0}
        return _Ran(result=cost)

    models, sets = ["gin", "lgan"], ["MUTAG", "COLLAB"]
    costs = measure_costs(models, sets, in_child, {"epochs": 5}, told.append)
    function = "paper.runtime:measure_cost"
    assert calls == [(function, m, d, 5) for d in sets for m in models]
    assert costs == told
    assert costs[0] == Cost("gin", "MUTAG", refused="ran out of memory")
    assert costs[1] == Cost("lgan", "MUTAG", 1.0, 2.0, memory=7)


def test_a_record_survives_json(tmp_path):
    RECORD.save(tmp_path / "new" / "cpu.json")
    assert RuntimeRecord.load(tmp_path / "new" / "cpu.json") == RECORD
    (tmp_path / "a.json").write_text(json.dumps({"format": 9}))
    with pytest.raises(ValueError, match=r"format 1 in .*a.json, got 9"):
        RuntimeRecord.load(tmp_path / "a.json")


def test_tables_of_epoch_preparation_and_memory_with_reasons():
    epoch, prepare, memory = RECORD.grids()
    assert epoch.columns == ["model", "MUTAG", "COLLAB"]
    assert epoch.rows == [["gin", "20 ms", "not done [1]"], ["lgan", "10 ms", "12 s"]]
    assert prepare.rows[1] == ["lgan", "1.5 s", "30 s"]
    assert memory.rows == [["gin", "1 MiB", "not done [1]"], ["lgan", "3.00 GiB", "1.00 GiB"]]
    assert memory.notes[-1] == "[1] too large: 9 tuples"


def test_panels_show_the_fastest_first():
    assert panels(RECORD) == {
        "MUTAG": [("lgan", 0.01), ("gin", 0.02)],
        "COLLAB": [("lgan", 12.0)],
    }


def test_the_plot_is_a_picture(tmp_path):
    draw(RECORD, tmp_path / "new" / "cpu.png")
    assert (tmp_path / "new" / "cpu.png").read_bytes()[:4] == b"\x89PNG"


def test_nothing_measured_is_no_picture(tmp_path):
    with pytest.raises(ValueError, match="no epoch to draw"):
        draw(RuntimeRecord([RECORD.cells[2]], {}), tmp_path / "cpu.png")
