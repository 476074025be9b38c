import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import lgan
from lgan import LGAN
from lgan.data import load_raw
from lgan.data.graph_keys import graph_keys
from lgan.predictor import Predictor, load_model
from lgan.task import TargetScale
from lgan.train import predict as outputs_of
from lgan.train.stack import model_view
from lgan.train.tensor_file import checksum, read_metadata


def test_a_stored_model_predicts_class_names_and_probabilities(binary):
    classes = binary.predict(["CCO", "c1ccccc1"])
    assert set(classes) <= {"yes", "no"}
    shares = binary.predict_proba(["CCO", "c1ccccc1"])
    assert shares.shape == (2, 2)
    np.testing.assert_allclose(shares.sum(1), 1)
    assert list(classes) == [binary.task.classes[i] for i in shares.argmax(1)]


def test_a_row_that_cannot_be_read_keeps_its_place(binary):
    with pytest.warns(UserWarning, match="1 of 3 rows cannot be read.*row 2"):
        shares = binary.predict_proba(["CCO", "C1CC", "CCN"])
    assert np.isnan(shares[1]).all()
    alone = binary.predict_proba(["CCO", "CCN"])
    np.testing.assert_allclose(shares[[0, 2]], alone, rtol=1e-5)
    with pytest.warns(UserWarning, match="cannot be read"):
        assert binary.predict(["CCO", "C1CC"])[1] is None


@pytest.mark.parametrize("asked", ["predict", "predict_proba", "explain"])
def test_one_molecule_without_a_list_is_told_so(asked, binary):
    with pytest.raises(ValueError, match=r"got one SMILES. Give a list: \['CCO'\]"):
        getattr(binary, asked)("CCO")


def test_graphs_are_no_molecules(binary):
    with pytest.raises(TypeError, match="reads molecules, got a list with graphs of networkx"):
        binary.predict([None, nx.path_graph(3)])


def test_a_prediction_does_not_depend_on_its_neighbours_in_the_list(binary):
    together = binary.predict_proba(["CCO", "c1ccccc1O", "CCBr"])
    alone = np.concatenate([binary.predict_proba([s]) for s in ("CCO", "c1ccccc1O", "CCBr")])
    np.testing.assert_allclose(together, alone, rtol=1e-5)


def test_numbers_come_back_in_the_units_of_the_target(number):
    values = number.predict(["CCO", "CCN"])
    assert values.shape == (2,)
    assert np.all((values > -40) & (values < 20))  # targets lie between -20 and -4
    with pytest.raises(ValueError, match=r"Probabilities need classes.*logS.*Call `predict`"):
        number.predict_proba(["CCO"])


def test_several_labels_have_a_column_each(several):
    assert several.task.kind == "multilabel"
    assert several.predict_proba(["CCO", "CCN"]).shape == (2, 2)
    assert set(several.predict(["CCO"]).ravel()) <= {"0", "1"}


def test_embeddings_are_what_the_last_layer_reads(binary):
    network = binary.network
    assert isinstance(network, LGAN)
    found = binary.embed(["CCO", "CCN"])
    assert found.shape == (2, network.head.in_channels)
    out = torch.from_numpy(found).float() @ network.head.weight + network.head.bias
    np.testing.assert_allclose(
        out.softmax(-1).detach(), binary.predict_proba(["CCO", "CCN"]), rtol=1e-4
    )


def test_threads_that_ask_for_embeddings_each_get_their_own(binary):
    asked = [["CCO"] * n for n in range(1, 9)] * 8
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(binary.embed, asked))
    assert [len(rows) for rows in found] == [len(rows) for rows in asked]


def test_an_unseen_element_has_a_column_of_its_own(binary):
    raw = binary.read(["C[Si](C)C"])
    assert binary.encoder.unseen(raw)["node element"] == {"Si": 1}
    with pytest.warns(UserWarning, match="not trained on"):
        assert np.isfinite(binary.predict_proba(["C[Si](C)C"])).all()


ANSWERS = ("predict", "predict_proba", "predict_set", "embed", "explain")


@pytest.mark.parametrize("asked", ANSWERS)
def test_values_that_training_never_saw_are_told_once(asked, binary):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        getattr(binary, asked)(["C[Si](C)C", "CCO", "C[SiH2]C"])
    [one] = told
    assert one.category is UserWarning
    message = str(one.message)
    assert message.startswith("values the model was not trained on: node element Si (2)")


def test_the_model_knows_which_molecules_it_wastrained_on(binary):
    raw = binary.read(["NCC", "CCCCCCCC"])  # ethylamine, written the other way round
    assert binary.seen(raw).tolist() == [True, False]


def test_keys_tell_graphs_apart_and_know_them_again():
    raw = load_raw("triangles")
    keys = graph_keys(raw)
    assert torch.equal(keys, graph_keys(load_raw("triangles")))
    assert torch.equal(keys[[5, 2]], graph_keys(raw.select([5, 2])))
    assert keys.unique().numel() > 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(encoder={}), "An encoder must be an object"),
        (lambda h: h["encoder"].update(task=None), "task must have 2 outputs"),
        (lambda h: h["encoder"]["nodes"].update(other=False), "features, the network reads"),
        (lambda h: h.update(model="wl"), "must hold one of the networks"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(change, message, binary_file, tmp_path):
    header = json.loads(read_metadata(binary_file)["lgan"])
    change(header)
    broken = tmp_path / "model.safetensors"
    metadata = {**read_metadata(binary_file), "lgan": json.dumps(header)}
    save_file(load_file(binary_file), broken, metadata)
    with pytest.raises(ValueError, match=message):
        load_model(broken)


def test_members_speak_as_one_with_their_mean_and_spread(members_file):
    model = load_model(members_file)
    smiles = ["CCO", "c1ccccc1", "CCN"]
    each = model.member_answers(model.read(smiles))
    assert each.shape == (4, 3, 1)
    np.testing.assert_allclose(model.predict(smiles), each.mean(0)[:, 0])
    np.testing.assert_allclose(model.predict_std(smiles), each.std(0))
    union, beside = model.union(model.read(smiles)), model.checkpoint.companion
    other = beside.answers(union.graph_x, model.task)
    for k in range(4):
        alone = model_view(model.network, k)
        scale = TargetScale(model.scale.mean[k], model.scale.std[k])
        said = scale.original(outputs_of(alone, union)).double().lerp(other[k], beside.share)
        np.testing.assert_allclose(each[k], said, rtol=1e-5, atol=1e-5)
    ends = model.predict_interval(smiles, 0.2)
    assert ends.shape == (3, 2)
    said = model.predict(smiles)
    assert ((ends[:, 0] < said) & (said < ends[:, 1])).all()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("about.held_out", lambda t: t[:3], "do not fit together|those of another model"),
        ("about.held_out", lambda t: t.repeat(2), "out-of-fold predictions are those of another"),
        ("about.scale_mean", lambda t: t[0], "two lists of numbers"),
        ("about.scale_mean", None, "scale of its targets is missing"),
    ],
)
def test_members_whose_parts_are_of_another_model_are_refused(
    name, change, message, members_file, tmp_path
):
    tensors, metadata = load_file(members_file), read_metadata(members_file)
    if change is None:
        tensors.pop(name)
    else:
        tensors[name] = change(tensors[name]).contiguous()
    broken = tmp_path / "model.safetensors"
    save_file(tensors, broken, {**metadata, "checksum": checksum(tensors)})
    with pytest.raises(ValueError, match=message):
        load_model(broken)


def test_out_of_fold_predictions_of_another_task_are_refused(binary, several):
    classes, labels = binary.checkpoint, several.checkpoint
    for stored, wrong in (
        (classes, torch.zeros_like(classes.out_of_fold.predictions)),
        (labels, labels.out_of_fold.y[:, 0].nan_to_num().long()),
        (labels, labels.out_of_fold.y + 0.5),
    ):
        known = replace(stored.out_of_fold, y=wrong)
        with pytest.raises(ValueError, match="out-of-fold predictions are those of another"):
            Predictor.of(replace(stored, out_of_fold=known))


def _labelled():
    """Graphs with a number on every node, and a target."""
    graphs = [nx.cycle_graph(3 + i % 4) for i in range(8)]
    for i, graph in enumerate(graphs):
        nx.set_node_attributes(graph, {v: v / 3 for v in graph}, "w")
        graph.graph["target"] = "ab"[i % 2]
    return graphs


@pytest.mark.parametrize("change", [{"w": float("nan")}, {"w": None}, None], ids=str)
def test_a_graph_that_cannot_be_read_keeps_its_place(change, trained_on):
    model, graphs = trained_on(load_raw(_labelled())), _labelled()
    expected = model.predict_proba(graphs)
    if change is None:
        del graphs[1].nodes[0]["w"]
    else:
        graphs[1].nodes[0].update(change)
    for rows in ([1], range(8), [0, 1]):
        with pytest.warns(UserWarning, match=f"1 of {len(rows)} rows cannot be read.*'w'"):
            shares = model.predict_proba([graphs[row] for row in rows])
        there = np.array(rows) != 1
        np.testing.assert_allclose(shares[there], expected[rows][there], rtol=1e-5)
        assert np.isnan(shares[~there]).all()
    with pytest.warns(UserWarning, match="cannot be read and are left out.*row 2"):
        assert lgan.load(graphs).num_graphs == 7


def _arcs():
    """Directed graphs whose arcs back and forth have lengths of their own."""
    graphs = [nx.gnp_random_graph(6, 0.6, seed=i, directed=True) for i in range(8)]
    for i, graph in enumerate(graphs):
        nx.set_edge_attributes(graph, {(u, v): 0.5 + u + v / 7 for u, v in graph.edges}, "length")
        graph.graph["target"] = "ab"[i % 2]
    return graphs


def test_a_model_remembers_that_directions_do_not_matter(tmp_path, trained_on):
    graphs, path = _arcs(), tmp_path / "model.safetensors"
    trained_on(load_raw(graphs, symmetrise=True)).checkpoint.save(path)
    model = load_model(path)
    expected = model.predict_proba(graphs, symmetrise=True)
    assert np.array_equal(model.predict_proba(graphs), expected)
    assert len(model.explain(graphs[:2])) == 2
    assert model.predict_proba([nx.Graph(graphs[0])]).shape == (1, 2)


def test_a_file_that_does_not_say_whether_directions_matter_is_read(binary_file):
    assert "symmetrise" not in json.loads(read_metadata(binary_file)["lgan"])["encoder"]
    assert not load_model(binary_file).encoder.symmetrise


def test_attributes_that_the_model_does_not_know_may_be_on_some_nodes_only(trained_on):
    graphs = [nx.cycle_graph(3 + i % 4) for i in range(8)]
    for i, graph in enumerate(graphs):
        nx.set_node_attributes(graph, {v: {"w": v / 3, "at": [v / 2, i / 7]} for v in graph})
        nx.set_edge_attributes(graph, 0.5 + i / 3, "len")
        graph.graph["target"] = "ab"[i % 2]
    predictor = trained_on(load_raw(graphs))
    blind = trained_on(load_raw(graphs, edge_features=[]))
    expected = predictor.predict_proba(graphs)
    without = blind.predict_proba(graphs)
    graphs[0].nodes[0]["note"] = "odd"
    graphs[1].edges[0, 1]["note"] = "odd"
    assert predictor.predict_proba(graphs).tolist() == expected.tolist()
    del graphs[2].edges[0, 1]["len"]
    assert blind.predict_proba(graphs).tolist() == without.tolist()
    graphs[2].edges[0, 1]["len"] = 0.5 + 2 / 3
    assert predictor.seen(predictor.read(graphs)).tolist() == ([False] + [True] * 3) * 2
    lone = nx.Graph()
    lone.add_node(0, w=1 / 3, at=[0.5, 0.5])
    alone, beside = predictor.predict_proba([lone]), predictor.predict_proba([lone, graphs[0]])
    assert alone[0] == pytest.approx(beside[0])


def test_a_published_set_read_from_a_file_keeps_what_its_labels_mean(trained_on):
    raw = load_raw("triangles").select(range(20))
    model = trained_on(raw, dataset="triangles.zip")
    assert model.checkpoint.feature_names == ("triangles label=0",)
    assert model.predict_proba(raw).shape == (20, 2)
    with pytest.raises(ValueError, match="other features: 'csl label=0' in place of 'triangles"):
        model.predict_proba(replace(raw, name="csl"))
