import networkx as nx
import pytest
import torch
from torch_geometric.data import Data

from lgan.data import load_raw, prepare_shards
from lgan.data.molecules import descriptors
from lgan.predictor import Predictor, prediction_rows
from lgan.predictor.prediction_cells import predicted_columns
from lgan.predictor.prediction_rows import PredictionRows
from lgan.task import Task


def _rows(predictor, source, **options):
    found = PredictionRows.of(predictor, source, **options)
    return found, list(found.rows)


def test_rows_are_those_of_the_table_in_its_order(binary, tmp_path):
    table = tmp_path / "new.csv"
    table.write_text('id,smiles,error\nb,CCN,old\nx,C1CC,\na,"c1ccccc1",\ny,,\n')
    found, rows = _rows(binary, table)
    assert [row["id"] for row in rows] == ["b", "x", "a", "y"]
    assert found.columns == ["id", "smiles", "error (input)", *predicted_columns(binary.task)]
    assert all(set(row) == set(found.columns) for row in rows)
    assert [bool(row["error"]) for row in rows] == [False, True, False, True]
    assert rows[0]["error (input)"] == "old"
    assert rows[0]["seen"] == "yes"
    assert rows[1]["active_predicted"] == ""
    assert found.failed == 2


def test_a_table_and_a_list_give_the_same_predictions(binary, tmp_path):
    table = tmp_path / "new.csv"
    table.write_text("smiles\n" + "\n".join(["CCO", "CCN", "C1CC", "CCCl", "c1ccccc1"]) + "\n")
    _, whole = _rows(binary, table)
    single = [_rows(binary, [smiles])[1][0] for smiles in ("CCO", "CCN", "CCCl", "c1ccccc1")]
    readable = [row for row in whole if not row["error"]]
    for one, other in zip(readable, single, strict=True):
        assert one["active_probability_yes"] == pytest.approx(other["active_probability_yes"])


def test_rows_of_a_list_do_not_depend_on_the_blocks(number):
    molecules, told = ["CCO", "C1CC", "CCN", "CCCl", "", "c1ccccc1", "CC"], []
    _, whole = _rows(number, molecules)
    _, parts = _rows(number, molecules, block=2, progress=told.append)
    assert told == pytest.approx([2 / 7, 4 / 7, 6 / 7, 1])
    assert [row["smiles"] for row in parts] == molecules
    assert [row["error"] for row in parts] == [row["error"] for row in whole]
    said = [[row["logS_predicted"] or 0 for row in rows] for rows in (parts, whole)]
    assert said[0] == pytest.approx(said[1], rel=1e-5)


@pytest.mark.parametrize("form", ["list", "table"])
def test_large_molecules_are_predicted_few_at_once(number, tmp_path, monkeypatch, form):
    molecules, sizes = ["CCO", "C1CC", "CC", "C" * 20, "C" * 9, "", "CCCl"], []
    source = molecules
    if form == "table":
        source = tmp_path / "large.csv"
        source.write_text("smiles,row\n" + "".join(f"{s},{i}\n" for i, s in enumerate(molecules)))
    _, whole = _rows(number, source)
    answers = Predictor.member_answers
    monkeypatch.setattr(
        Predictor,
        "member_answers",
        lambda self, raw: sizes.append(raw.node_ptr.diff().tolist()) or answers(self, raw),
    )
    _, parts = _rows(number, source, work=10**3)
    assert sizes == [[3, 2], [20], [9, 3]]
    assert [row["smiles"] for row in parts] == molecules
    assert [row["error"] for row in parts] == [row["error"] for row in whole]
    said = [[row["logS_predicted"] or 0 for row in rows] for rows in (parts, whole)]
    assert said[0] == pytest.approx(said[1], rel=1e-5)


def test_metrics_are_measured_where_the_targets_are_there(number, tmp_path):
    table = tmp_path / "known.csv"
    table.write_text("smiles,logS\nCCCCO,-10\nCCCCN,-11.5\nCCC,\n")
    found, rows = _rows(number, table)
    said = [float(row["logS_predicted"]) for row in rows[:2]]
    error = sum((a - b) ** 2 for a, b in zip(said, (-10, -11.5), strict=True)) / 2
    assert found.metrics()["rmse"] == pytest.approx(error**0.5, rel=1e-4)
    assert "accuracy" not in found.metrics()


def test_rows_without_a_target_are_not_what_a_model_was_not_trained_on(number, tmp_path):
    table = tmp_path / "known.csv"
    table.write_text("smiles,logS\nCCC,-10\nCCN,-11.5\n")
    alone, _ = _rows(number, table)
    table.write_text("smiles,logS\nCCC,-10\nCCN,-11.5\nCCCCO,\nCCCCN,\n")
    found, _ = _rows(number, table)
    assert (found.known, found.fresh.tolist()) == (2, [False] * 4)
    assert found.metrics() == pytest.approx(alone.metrics(), rel=1e-4)
    table.write_text("smiles,logS\nCCC,-10\nCCCCO,-3\nCCCCN,\n")
    found, rows = _rows(number, table)
    error = abs(-3 - rows[1]["logS_predicted"])
    assert found.metrics()["rmse"] == pytest.approx(error, rel=1e-4)


def test_an_answer_that_is_not_finite_costs_its_row(trained_on, tmp_path):
    def weighted(n, weight, target):
        graph = nx.Graph(nx.path_graph(n), target=target)
        nx.set_node_attributes(graph, weight, "weight")
        return graph

    known = [weighted(3 + n % 5, 0.5 + n, "ab"[n % 2]) for n in range(12)]
    predictor = trained_on(load_raw(known))
    new = [weighted(4, 2.5, "a"), weighted(3, 3e38, "b"), weighted(6, 1.5, "b")]
    found, rows = _rows(predictor, new)
    assert [bool(row["target_predicted"]) for row in rows] == [True, False, True]
    assert "is not finite" in rows[1]["error"]
    assert rows[1]["target_probability_a"] == ""
    assert (found.count, found.failed, len(torch.cat(found.truth))) == (3, 1, 2)
    assert found.metrics()["accuracy"] in (0, 0.5, 1)
    assert predictor.predict_set(new).any(1).tolist() == [True, False, True]
    assert predictor.predict(new)[1] is None
    with pytest.raises(ValueError, match=r"Row 2 has no prediction: the answer.*not finite"):
        _rows(predictor, new, on_error="raise")
    written = PredictionRows.of(predictor, new)
    assert len(list(written.written(tmp_path / "p.csv"))) == 3
    again = PredictionRows.of_written(predictor, list(written.given), [tmp_path / "p.csv"])
    assert (again.count, again.failed) == (3, 1)
    assert again.metrics() == pytest.approx(found.metrics(), abs=1e-4)


def test_a_strict_prediction_stops_at_the_first_bad_row(binary):
    with pytest.raises(ValueError, match=r"Row 2 cannot be read.*--on-error skip"):
        _rows(binary, ["CCO", "C1CC"], on_error="raise")


def test_a_table_of_molecules_is_refused_by_a_model_of_other_graphs(binary, tmp_path):
    from dataclasses import replace

    other = replace(binary, encoder=replace(binary.encoder, featuriser=None))
    (tmp_path / "m.csv").write_text("smiles\nCCO\n")
    with pytest.raises(ValueError, match="trained on graphs of another kind"):
        _rows(other, tmp_path / "m.csv")


def test_graphs_of_another_kind_are_told_before_their_classes(number, graphs):
    with pytest.raises(ValueError, match=r"The model reads molecules, got graphs .*\(triangles\)"):
        _rows(number, "triangles")
    with pytest.raises(ValueError, match=r"The model reads graphs .*, got molecules"):
        _rows(graphs, ["CCO"])


def test_columns_of_every_task():
    assert predicted_columns(Task("binary", ("t",), ("no", "yes"))) == [
        "t_predicted", "t_probability_no", "t_probability_yes", "seen", "error",
    ]  # fmt: skip
    several = predicted_columns(Task("multilabel", ("a", "b"), ("0", "1")))
    assert several[:3] == ["a_predicted", "a_probability_0", "a_probability_1"]


def test_columns_of_a_source_are_never_lost(binary, tmp_path):
    table = tmp_path / "again.csv"
    table.write_text("smiles,error,error (input),unlike\nCCN,one,two,three\n")
    found, [row] = _rows(binary, table, nearest=1)
    assert len(set(found.columns)) == len(found.columns)
    assert {"one", "two", "three"} <= set(row.values())


@pytest.mark.parametrize("cell", ["?", ">50", "YES"])
def test_targets_that_cannot_be_compared_with_stop_no_prediction(cell, binary, tmp_path):
    table = tmp_path / "odd.csv"
    table.write_text(f"smiles,active\nCCO,{cell}\nCCN,\n")
    found, rows = _rows(binary, table)
    assert all(row["active_predicted"] for row in rows)
    assert rows[0]["active"] == cell
    assert found.metrics() == {}
    assert cell in found.no_score


@pytest.mark.parametrize("value", ["maybe", [1, 2]])
def test_targets_of_graphs_that_do_not_fit_are_kept_and_told(value, graphs):
    other = [nx.Graph(nx.path_graph(4), target=value), nx.cycle_graph(5)]
    found, rows = _rows(graphs, other)
    assert [row["target"] for row in rows] == [value, None]
    assert all(row["target_predicted"] for row in rows)
    assert found.metrics() == {}
    assert str(value) in found.no_score


def test_a_graph_with_text_among_numbers_costs_its_row(trained_on):
    def weighted(n, weight):
        graph = nx.path_graph(n)
        nx.set_node_attributes(graph, weight, "weight")
        return graph

    known = [weighted(3 + n % 5, 0.5 + n) for n in range(12)]
    predictor = trained_on(load_raw(known, targets={"target": ["a", "b"] * 6}))
    new = [weighted(3, 0.5), weighted(3, "heavy"), weighted(4, 2.5)]
    found, rows = _rows(predictor, new)
    assert [bool(row["target_predicted"]) for row in rows] == [True, False, True]
    assert "must be number, as in most graphs, got text" in rows[1]["error"]
    assert found.failed == 1


def test_a_flaw_of_edges_that_the_model_does_not_read_costs_no_row(trained_on):
    def data(n, weight):
        edges = torch.arange(n - 1)
        both = torch.stack([torch.cat([edges, edges + 1]), torch.cat([edges + 1, edges])])
        return Data(x=torch.ones(n, 1), edge_index=both, edge_attr=torch.full((2 * n - 2,), weight))

    known = [data(3 + n % 5, 1.0) for n in range(12)]
    raw = load_raw(known, targets={"target": ["a", "b"] * 6})
    new = [data(4, 1.0), data(4, torch.nan)]
    for predictor, answered in ((trained_on(raw, "dgcnn", 2), 2), (trained_on(raw), 1)):
        assert sum(bool(row["target_predicted"]) for row in _rows(predictor, new)[1]) == answered


def test_the_targets_that_a_table_has_are_compared_with(several, tmp_path):
    table = tmp_path / "one.csv"
    table.write_text("smiles,b\nCCCCO,0\nCCCCN,1\n")
    found, rows = _rows(several, table)
    right = [row["b"] == row["b_predicted"] for row in rows]
    assert found.metrics()["accuracy"] == sum(right) / 2


def test_shards_are_predicted_graph_by_graph(binary, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("smiles,active\nC1CC,yes\nCCO,yes\nCCN,\nCCCl,no\n")
    prepare_shards(table, tmp_path / "shards", shards=2)
    _, rows = _rows(binary, str(tmp_path / "shards"))
    _, whole = _rows(binary, table)
    assert [(row["graph"], row["smiles"], row["active"]) for row in rows] == [
        (0, "CCO", "yes"),
        (1, "CCCl", "no"),
    ]
    said = "active_probability_yes"
    assert [row[said] for row in rows] == pytest.approx([whole[1][said], whole[3][said]])
    assert binary.predict(str(tmp_path / "shards")).shape == (2,)


def test_descriptors_of_a_predicted_table_come_from_their_file_the_next_time(
    binary, tmp_path, monkeypatch
):
    assert "rdkit2d" in binary.encoder.graphs.asked
    table, root = tmp_path / "new.csv", tmp_path / "data"
    table.write_text("smiles\nCCCCCCO\nC1CC\nCCCCCCN\n")
    monkeypatch.setattr(descriptors, "_KNOWN", {})
    _, alone = _rows(binary, table)
    (tmp_path / "file").touch()
    for place in (root, tmp_path / "file"):  # below which no folder can be made
        monkeypatch.setattr(descriptors, "_KNOWN", {})
        assert _rows(binary, table, root=place)[1] == alone
    assert len(list(root.rglob("descriptors*.safetensors"))) == 1
    monkeypatch.setattr(descriptors, "_KNOWN", {})
    with monkeypatch.context() as without:
        without.setattr(descriptors, "_descriptors", None)
        assert _rows(binary, table, root=root)[1] == alone
    monkeypatch.setattr(prediction_rows, "MOST_KEPT", 2)
    assert _rows(binary, table, root=tmp_path / "none")[1] == alone
    assert not (tmp_path / "none").exists()
