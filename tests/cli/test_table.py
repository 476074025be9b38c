import csv
import io
import json
from pathlib import Path

import pytest
import torch

from lgan import CVResult
from paper.commands import measuring
from paper.expressivity import Count, ExpressivityRecord
from paper.runtime import Cost, RuntimeRecord


def _record(path, model="lgan", metric="accuracy", **options):
    CVResult(
        metric=metric,
        dataset="MUTAG",
        model={"name": model, "hidden": 8, **options},
        config={"epochs": 1, "seed": 0},
        fold_sizes=[4, 4],
        test=torch.tensor([[1.0], [0.75]], dtype=torch.float64),
        loss=torch.zeros(2, 1),
        inner_sizes=[],
        inner_test=torch.zeros(0, 1),
        inner_validation=torch.zeros(0, 1),
        seconds=torch.ones(1),
        info={"folds": [0] * 4 + [1] * 4, "environment": {}},
    ).save(path)


def test_classification_as_csv_goes_to_standard_output_alone(lgan, tmp_path):
    _record(tmp_path / "results" / "cv" / "a.json", pair_code="full")
    ran = lgan("table", "classification", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert ran.code == 0
    assert list(rows[0]) == ["model", "dataset", "rule", "mean", "std", "published", "record"]
    [row] = [r for r in rows if r["mean"] and r["rule"] == "gin"]
    assert (row["model"], row["dataset"], row["mean"]) == ("lgan + full", "MUTAG", "87.50")
    assert row["record"] == "results/cv/a.json"


def test_classification_as_json_has_numbers_and_null(lgan, tmp_path):
    _record(tmp_path / "results" / "cv" / "a.json")
    rows = lgan("table", "classification", "--json").json["rows"]
    [row] = [r for r in rows if r["mean"] and r["rule"] == "gin"]
    assert row == {
        "model": "lgan", "dataset": "MUTAG", "rule": "gin", "mean": 87.5, "std": 12.5,
        "published": 92.5, "record": "results/cv/a.json",
    }  # fmt: skip
    assert any(r["mean"] is None for r in rows)


@pytest.mark.parametrize("words", [["ablation"], ["classification", "--brief"]])
def test_other_tables_as_json_are_their_grids(lgan, tmp_path, words):
    _record(tmp_path / "a.json")
    [grid] = lgan("table", *words, "--records", tmp_path, "--json").json["tables"]
    assert set(grid) == {"title", "columns", "rows", "notes"}
    assert all(len(row) == len(grid["columns"]) for row in grid["rows"])


def test_the_demo_is_shown_from_its_records(lgan, tmp_path):
    _record(tmp_path / "gin.json", model="gin")
    ran = lgan("table", "demo", "--records", tmp_path)
    assert "| gin | 87.5% ± 12.5% | sums over neighbours; at most 1-WL |" in ran.out


@pytest.mark.parametrize(
    ("form", "part"), [("md", "|---|"), ("latex", r"\begin{tabular}"), ("text", "┃ model")]
)
def test_classification_in_every_format_states_its_optimism(lgan, tmp_path, form, part):
    _record(tmp_path / "results" / "cv" / "a.json")
    ran = lgan("table", "classification", "--format", form)
    assert part in ran.out
    assert "optimistic" in ran.out
    assert "Nadeau" in ran.out


def test_where_standard_output_is_no_terminal_a_table_is_markdown(lgan, tmp_path):
    _record(tmp_path / "a.json")
    ran = lgan("table", "classification", "--records", tmp_path)
    assert ran.out.startswith("**Accuracy in percent, rule gin")


@pytest.mark.parametrize(
    "words",
    [["classification"], ["ablation"], ["demo"], ["expressivity"], ["explanations", "--show"]],
    ids=lambda words: words[0],
)
def test_without_records_the_command_says_how_to_make_one(lgan, words):
    ran = lgan("table", *words)
    assert ran.code == 1
    assert "There is no record" in ran.err
    assert "`lgan " in ran.err


def test_ablation_is_rendered_from_records(lgan, tmp_path):
    _record(tmp_path / "results" / "ablation" / "a.json", branches="target")
    ran = lgan("table", "ablation")
    assert "| without AGGR_n (no neighbour pairs) | 87.5 ± 12.5 ‡ |" in ran.out


def test_expressivity_shows_all_records_of_the_folder(lgan, tmp_path):
    folder = tmp_path / "results" / "expressivity"
    for kind, pairs in {"refinement": 52, "trained": 50}.items():
        count = Count("lgan", kind, {"basic": pairs}, 1.0)
        ExpressivityRecord([count], {}).save(folder / f"{kind}.json")
    ran = lgan("table", "expressivity")
    assert "| lgan | 52 | not run | 50 |" in ran.out


@pytest.mark.data
@pytest.mark.slow
def test_expressivity_measures_brec(lgan, tmp_path, brec_folder, monkeypatch):
    few = {"basic": measuring.load_brec(brec_folder)["basic"][:3]}
    monkeypatch.setattr(measuring, "load_brec", lambda _: few)
    ran = lgan("table", "expressivity", "--brec", brec_folder, "--row", "lgan-res + full")
    assert "| lgan-res + full | 3 | 3 | not run |" in ran.out
    assert (tmp_path / "results" / "expressivity" / "brec.json").exists()


def test_runtime_measures_records_and_draws(lgan, tmp_path, monkeypatch):
    def measured(models, datasets, run, arguments, told):
        assert arguments["epochs"] == 2
        for model in models:
            told(Cost(model, datasets[0], 1.0, 0.5, 1 << 20))

    monkeypatch.setattr(measuring, "measure_costs", measured)
    ran = lgan(
        "table", "runtime", "--model", "gin", "--model", "lgan", "--dataset", "MUTAG",
        "--epochs", 2, "--device", "cpu",
    )  # fmt: skip
    assert "| gin | 500 ms |" in ran.out
    folder = tmp_path / "results" / "runtime"
    assert len(RuntimeRecord.load(folder / "cpu.json").cells) == 2
    assert (folder / "cpu.png").exists()
    again = lgan("table", "runtime", "--show")
    assert again.out == ran.out


@pytest.mark.slow
def test_a_cell_of_the_runtime_table_is_measured_in_a_child(lgan, tmp_path):
    ran = lgan(
        "table", "runtime", "--model", "gin", "--dataset", "triangles", "--epochs", 1,
        "--device", "cpu",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    [cell] = json.loads((tmp_path / "results" / "runtime" / "cpu.json").read_text())["cells"]
    assert cell["memory"] > 1 << 20
    assert cell["epoch"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["classification", "--format", "pdf"], "Choose one of: text, md, latex, csv"),
        (["ablation", "--rule", "best"], "Choose one of: gin, fold-max, fair, bagged"),
        (["expressivity", "--row", "x"], "Unknown row 'x'"),
        (["expressivity", "--row", "lgan"], "say what to measure: add `--brec FOLDER`"),
        (["explanations", "triangle", "--show"], "Unknown case 'triangle'. Did you mean triangles"),
        (["rules", "x", "--show"], "Unknown rule 'x'"),
        (["coverage", "--records", "."], "must be a file, but . is a folder"),
        (["runtime", "--model", "x"], "Unknown model 'x'"),
        (["runtime", "--dataset", "x"], "Unknown data set 'x'"),
    ],
)
def test_bad_usage_ends_with_code_2(lgan, empty, arguments, message):
    ran = lgan("table", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert empty()


def test_searches_without_records_say_how_to_make_one(lgan):
    ran = lgan("table", "searches")
    assert ran.code == 1
    assert "no search by the rule gin in results/sweep. Make one with `lgan sweep MUTAG`" in ran.err


@pytest.mark.parametrize("words", [["classification"], ["ablation"], ["bonds"]])
def test_records_of_another_metric_are_not_shown_as_accuracy(lgan, tmp_path, words):
    _record(tmp_path / "runs" / "a" / "result.json", metric="roc-auc")
    ran = lgan("table", *words, "--records", "runs")
    assert ran.code == 1
    assert "Expected a record of accuracy in runs/a/result.json, got one of roc-auc" in ran.err
    assert "87.5" not in ran.out


def test_searches_by_another_metric_are_not_shown_as_accuracy(lgan, tmp_path):
    head = {"objective": "gin", "model": "lgan", "dataset": "MUTAG", "fixed": {}, "metric": "mae"}
    outcome = {"state": "done", "value": -0.5}
    trials = [{"number": 0, "params": {}, "outcome": outcome}]
    (tmp_path / "a.json").write_text(json.dumps({**head, "trials": trials}))
    ran = lgan("table", "searches", "--records", ".")
    assert ran.code == 1
    assert "Expected a record of accuracy in a.json, got one of mae" in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["classification", "--records", "."], "in a.json, got no JSON object"),
        (["speed", "--records", "."], "a.json: "),
        (["rules", "--show", "--output", "a.json"], "record of `lgan table rules` in a.json"),
        (["coverage", "--records", "b.jsonl"], "rows of `python -m benchmarks.coverage` in b.js"),
    ],
    ids=lambda words: words[0],
)
def test_a_file_that_is_no_record_is_named(lgan, tmp_path, words, message):
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.jsonl").write_text('{"a": 1}\n')
    ran = lgan("table", *words)
    assert ran.code == 1
    assert message in ran.err
    assert "mistake in lgan" not in ran.err


def test_the_brief_table_of_molecules_is_brief_in_every_format(lgan):
    pytest.importorskip("matplotlib")
    records = Path(__file__).parents[2] / "results" / "molecules"
    brief = ["table", "molecules", "--records", records, "--brief"]
    assert lgan(*brief, "--format", "csv").out.startswith("model,FreeSolv")
    [grid] = lgan(*brief, "--json").json["tables"]
    assert grid["columns"][0] == "model"
    ran = lgan(*brief, "--plot", "nowhere/a.png")
    assert ran.code == 2
    assert "must be in a folder that exists" in ran.err
    assert "picture: a.png" in lgan(*brief, "--plot", "a.png").err
