"""The table of molecules: parts, cells and what is shown of them."""

import csv
import io
import json
import shutil
from functools import partial

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from lgan.data.cache import load_tensors, save_tensors
from lgan.train.stack import drawn, stack
from paper import molecule_choices, molecule_peers, molecule_sets, molecules, recipe_study
from paper.attentive_fp import AttentiveNetwork
from paper.commands.table import app
from paper.molecule_networks import networks
from paper.molecule_sets import (
    TEST,
    TRAIN,
    VALIDATION,
    PreparedSet,
    balanced_parts,
    ogb_parts,
    prepare,
)
from paper.molecule_table import CSV_COLUMNS, csv_rows, draw, molecule_grids


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A regression and a set of two labels, some missing, prepared as all sets are."""
    pytest.importorskip("rdkit", reason="the sets are prepared by rdkit")
    place = tmp_path_factory.mktemp("molecules")
    kinds = [("C" * (1 + i % 7) + "O", "c1ccccc1" + "C" * (i % 6), "C1CCCCC1") for i in range(20)]
    smiles = [text for three in kinds for text in three]
    rows = [f"{text},{len(text) + i % 5}" for i, text in enumerate(smiles)]
    (place / "numbers.csv").write_text("\n".join(["smiles,y", *rows]))
    rows = [f"{text},{i % 2},{'' if i % 5 == 0 else i // 2 % 2}" for i, text in enumerate(smiles)]
    (place / "labels.csv").write_text("\n".join(["smiles,a,b", *rows, "C1CC,0,1"]))
    return place


@pytest.fixture
def sets(folder, monkeypatch):
    monkeypatch.setitem(molecule_sets.SETS, "Numbers", ("numbers.csv", 0, ("random",)))
    monkeypatch.setitem(molecule_sets.SETS, "Labels", ("labels.csv", 50, ("random",)))
    prepare(folder, folder, ["Numbers", "Labels"])
    return folder


def test_balanced_parts_share_no_group_and_large_groups_train():
    groups = ["large"] * 30 + [f"g{i // 3}" for i in range(70)]
    part = balanced_parts(groups, 1)
    assert [int((part == k).sum()) for k in range(2)] <= [80, 10]
    assert int((part == TEST).sum()) in range(10, 13)
    assert bool((part[:30] == TRAIN).all())
    for group in set(groups):
        assert len({int(part[i]) for i, own in enumerate(groups) if own == group}) == 1
    assert not torch.equal(part, balanced_parts(groups, 2))


def test_ogb_parts_go_by_size_then_by_the_latest_first_row():
    # Rows 2 and 9 cannot be read: they take room as groups of their own.
    rows = torch.tensor([0, 1, 3, 4, 5, 6, 7, 8])
    part = ogb_parts(["a", "a", "a", "b", "c", "d", "e", "f"], rows, [2, 9])
    by_row = dict(zip(rows.tolist(), part.tolist(), strict=True))
    # a (3 rows) first, then the single rows from the last on: 9 8 7 6 5 | 4 | 2 to test.
    assert [by_row[row] for row in (0, 1, 3, 8, 7, 6, 5, 4)] == [0, 0, 0, 0, 0, 0, 0, 1]


def test_a_prepared_set_has_the_same_rows_on_both_sides(sets):
    data = PreparedSet.load(sets, "Labels")
    with data.table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == data.union.num_graphs == len(data.bits) == 50
    truth = [[float(row[name] or "nan") for name in ("a", "b")] for row in rows]
    np.testing.assert_array_equal(data.union.y.numpy(), truth)
    assert {key: torch.bincount(part).tolist() for key, part in data.parts.items()} == {
        ("random", seed): [40, 5, 5] for seed in (0, 1, 2)
    }


@pytest.mark.parametrize("model", ["lgan+morgan", "lgan+rf-tuned"])
def test_networks_never_see_a_target_of_the_test_part(model, sets):
    told = {"folder": str(sets), "name": "Numbers", "split": "random", "seeds": [0],
            "model": model, "members": 2, "change": {"epochs": 1}}  # fmt: skip
    first = networks(**told)["predictions"]
    path = sets / "Numbers.safetensors"
    kept = path.read_bytes()
    tensors, about = load_tensors(path)
    part = PreparedSet.load(sets, "Numbers").parts["random", 0]
    found = []
    for changed in (part == TEST, part != TEST):
        y = tensors["y"].clone()
        y[changed] *= 10
        save_tensors(path, {**tensors, "y": y}, about)
        found.append(networks(**told)["predictions"])
    path.write_bytes(kept)
    assert found[0] == first
    assert found[1] != first


@pytest.mark.parametrize("name", ["Numbers", "Labels"])
def test_beside_a_forest_the_mean_of_both_answers(name, sets):
    told = {"folder": str(sets), "name": name, "split": "random", "seeds": [1]}
    ran = {**told, "members": 1, "change": {"epochs": 1}}
    [alone] = networks(**ran, model="lgan+none")["predictions"]
    joined = networks(**ran, model="lgan+rf-tuned")
    assert joined["alone"] == [alone]
    [both] = joined["predictions"]
    trees = molecule_peers.forest(str(sets), name, "random", 1, "rf-tuned")["predictions"]
    np.testing.assert_allclose(both, (np.array(alone) + np.array(trees)) / 2)


def test_a_choice_is_judged_on_the_validation_part_and_reads_no_target_of_it(sets):
    told = {"folder": str(sets), "name": "Numbers", "split": "random", "seeds": [0],
            "model": "lgan", "members": 2, "judged": VALIDATION}  # fmt: skip
    told["change"] = {"epochs": 2}
    first = networks(**told)
    data = PreparedSet.load(sets, "Numbers")
    part = data.parts["random", 0]
    assert len(first["predictions"][0]) == int((part == VALIDATION).sum())
    assert first["settings"]["epochs"] == 2
    path = sets / "Numbers.safetensors"
    kept = path.read_bytes()
    tensors, about = load_tensors(path)
    tensors["y"][part != TRAIN] *= 10
    save_tensors(path, tensors, about)
    again = networks(**told)["predictions"]
    path.write_bytes(kept)
    assert again == first["predictions"]


def test_choices_are_measured_once_each_and_shown(sets, monkeypatch, tmp_path):
    asked = []

    def short(change, **arguments):
        asked.append(change["epochs"])
        return networks(**arguments, change={**change, "epochs": 1})

    monkeypatch.setattr(molecule_choices, "networks", short)
    monkeypatch.setattr(
        molecule_choices, "called", lambda _, arguments: molecule_peers.forest(**arguments)
    )
    monkeypatch.setitem(molecule_choices.SPLITS, "Numbers", ("Numbers", "random"))
    output = tmp_path / "validation.jsonl"
    for _ in range(2):
        choices = ["default before", "dropout 0.2", "twice the epochs", "a forest, leaves of two"]
        molecule_choices.run(sets, output, ["Numbers"], choices, molecule_choices.MEMBERS)
    *rows, forest = recipe_study.records(tmp_path)
    assert (forest["members"], forest["settings"]["min_samples_leaf"]) == (1, 2)
    data = PreparedSet.load(sets, "Numbers")
    trees = molecule_peers.forest(str(sets), "Numbers", "random", 1, "rf-tuned", VALIDATION)
    score = data.score("random", 1, VALIDATION, np.array(trees["predictions"]))
    assert forest["bagged_folds"][1] == pytest.approx(score, abs=1e-5)
    assert [row["settings"]["dropout"] for row in rows] == [0, 0.2, 0]
    assert asked == [60, 60, 120]
    shown = recipe_study.recipe_grids([*rows, forest])[0]
    assert shown.rows[0][:2] == ["default before", "+0.0"]
    assert len(shown.rows) == 3


def test_attentive_fp_stacked_is_separate_models_and_a_batch_its_graphs(sets):
    union = PreparedSet.load(sets, "Labels").union
    network = partial(AttentiveNetwork, union.num_features, 2, edge_dim=union.num_edge_features)
    models = [drawn(network, seed).double().eval() for seed in (0, 1)]
    batch = union.batch(torch.arange(7))
    alone = [model(batch) for model in models]
    torch.testing.assert_close(stack(models).eval()(batch), torch.stack(alone))
    apart = torch.cat([models[0](union.batch(torch.tensor([graph]))) for graph in range(7)])
    torch.testing.assert_close(alone[0], apart)
    ran = networks(str(sets), "Numbers", "random", [0, 1], "attentivefp", 2, change={"epochs": 2})
    assert len(ran["predictions"]) == 2
    assert np.isfinite(ran["predictions"][0]).all()


def test_cells_are_scored_written_and_shown(sets, monkeypatch, tmp_path):
    """Every side through the runner, without the processes around them."""

    def called(function, arguments):
        name = function.partition(":")[2]
        made = {"networks": networks, "forest": molecule_peers.forest}[name]
        more = {"change": {"epochs": 1}} if name == "networks" else {}
        return {"peak_memory": 2**20, **made(**arguments, **more)}

    monkeypatch.setattr(molecules, "called", called)
    output = tmp_path / "cells.jsonl"
    for _ in range(2):  # the second time everything is there
        molecules.run(sets, output, ["Numbers", "Labels"], ["lgan", "rf"], [1])
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(row["dataset"], row["split"], row["model"], row["members"]) for row in lines] == [
        (name, "random", model, 1) for name in ("Numbers", "Labels") for model in ("lgan", "rf")
    ]
    assert all(len(row["scores"]) == 3 and np.isfinite(row["scores"]).all() for row in lines)
    data = PreparedSet.load(sets, "Numbers")
    said = molecule_peers.forest(str(sets), "Numbers", "random", 0, "rf")["predictions"]
    truth = data.union.y[data.parts["random", 0] == TEST].numpy()
    rf = next(row for row in lines if row["model"] == "rf")
    assert rf["scores"][0] == pytest.approx(np.sqrt(np.mean((truth - said) ** 2)), abs=1e-5)

    ran = CliRunner().invoke(app, ["molecules", "--format", "csv", "--records", str(tmp_path)])
    assert ran.exit_code == 0
    rows = list(csv.DictReader(io.StringIO(ran.stdout)))
    assert list(rows[0]) == CSV_COLUMNS
    assert len(rows) == 4
    cells = list(molecules.records(tmp_path))
    draw(cells, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000
    rmse, auc, cost = molecule_grids(cells)
    assert (rmse.columns[1:], auc.columns[1:]) == (["Numbers, random"], ["Labels, random"])
    assert [row[0] for row in rmse.rows] == ["lgan", "rf"]
    assert cost.rows[1][1].endswith("/ 1")  # MiB
    notes = "\n".join(cost.notes)
    assert "Not measured yet: lgan on FreeSolv, ESOL, BBBP" in notes
    assert "Not measured anywhere yet: lgan ×5; lgan ×10;" in notes


def test_ensembles_of_a_peer_average_models_that_are_trained_once(sets, monkeypatch, tmp_path):
    asked = []

    def called(function, arguments):
        asked.append((arguments["seed"], arguments["member"]))
        rows = [[float(arguments["member"])]] * 6
        return {"predictions": rows, "train_seconds": 2.0, "predict_seconds": 1.0,
                "peak_memory": 5 + arguments["member"], "settings": {}}  # fmt: skip

    monkeypatch.setattr(molecules, "called", called)
    shutil.rmtree(sets / "units", ignore_errors=True)
    for name, members in (("a.jsonl", [1, 3]), ("b/b.jsonl", [3])):
        molecules.run(sets, tmp_path / name, ["Numbers"], ["chemprop"], members, processes=2)
    assert sorted(asked) == [(seed, member) for seed in (0, 1, 2) for member in range(3)]
    one, three = (json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines())
    data = PreparedSet.load(sets, "Numbers")
    truth = data.union.y[data.part("random", 0) == TEST].numpy()
    for row, said in ((one, 0.0), (three, 1.0)):
        assert row["scores"][0] == pytest.approx(np.sqrt(np.mean((truth - said) ** 2)), abs=1e-5)
    assert (one["train_seconds"], three["train_seconds"]) == ([2] * 3, [6] * 3)
    assert (one["peak_memory"], three["peak_memory"]) == (5, 7)


def test_a_mark_says_which_side_is_significantly_better():
    where = {"dataset": "ESOL", "split": "random", "members": 1, "seeds": [0, 1, 2],
             "rows": [[80, 10, 10]] * 3, "train_seconds": [1], "predict_seconds": [1],
             "peak_memory": 1, "environment": {}, "record": "r", "metric": "rmse"}  # fmt: skip
    cells = [
        {**where, "model": "lgan", "scores": [0.5, 0.6, 0.55]},
        {**where, "model": "rf", "scores": [1.5, 1.61, 1.55]},
        {**where, "model": "chemprop", "scores": [0.1, 0.21, 0.15]},
        {**where, "model": "gb", "scores": [0.4, 0.7, 0.56]},
    ]
    rows = {row[0]: row[1] for row in molecule_grids(cells)[0].rows}
    assert rows["lgan"] == "0.550 ± 0.041"
    assert rows["rf"].endswith("▼")
    assert rows["chemprop"].endswith("▲")
    assert rows["gb"][-1].isdigit()
    assert [row[5] for row in csv_rows(cells)] == [0.55, 0.153333, 0.553333, 1.553333]


def test_chemprop_is_asked_for_where_there_is_none(monkeypatch):
    monkeypatch.delenv(molecule_peers.PEER_PYTHON, raising=False)
    with pytest.raises(ValueError, match="Set LGAN_CHEMPROP_PYTHON to an interpreter"):
        molecule_peers.chemprop("x", "ESOL", "random", 0, 1)
