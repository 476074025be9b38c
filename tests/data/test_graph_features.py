import json
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

import lgan
from lgan.data import Encoder, GraphFeatures, graph_features, load_raw
from lgan.data.patterns import patterns

pytest.importorskip("rdkit", reason="fingerprints and descriptors need rdkit")
SMILES = ["CCO", "CCN", "c1ccccc1", "CC(=O)O"]


def raw(**columns):
    return load_raw(SMILES, targets={"y": [1.0, 2.0, 3.0, 4.5]}, columns=columns)


def test_numbers_are_scaled_and_a_missing_one_is_the_mean():
    made = raw(pH=[2, 4, None, 6])
    features = GraphFeatures.fit(made, ("pH",))
    deviation = np.std([2, 4, 6])
    expected = torch.tensor([-2 / deviation, 0, 0, 2 / deviation])
    torch.testing.assert_close(features.encode(made)[:, 0].double(), expected.double())
    assert features.missing(made) == {"pH": 1}


def test_new_numbers_keep_the_scale_of_the_fit_and_are_cut():
    features = GraphFeatures.fit(raw(pH=[0, 2, 0, 2]), ("pH",))
    assert features.encode(raw(pH=[3, 1, 1e9, -1e9]))[:, 0].tolist() == [2, 0, 5, -5]


@pytest.mark.parametrize("size", [1e-13, 1.0, 1e13, 1e200])
def test_numbers_of_every_size_are_scaled(size):
    features = GraphFeatures.fit(raw(pH=[size, 2 * size, 3 * size, 4 * size]), ("pH",))
    expected = (np.arange(4) - 1.5) / np.std(np.arange(4))
    found = features.encode(raw(pH=[size, 2 * size, 3 * size, 4 * size]))
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("cells", [[7.0] * 4, [0.1, "", 0.1, 0.1], [0] * 4, [None] * 4])
def test_what_never_changed_says_nothing(cells):
    features = GraphFeatures.fit(raw(pH=cells), ("pH",))
    features = GraphFeatures.from_json(json.loads(json.dumps(features.to_json())))
    assert features.encode(raw(pH=cells)).tolist() == [[0.0]] * 4
    assert features.encode(raw(pH=[1000, -1e308, 1e308, ""])).tolist() == [[0.0]] * 4


def test_a_constant_of_an_earlier_version_keeps_its_scale():
    plain = {"asked": ["pH"], "scales": {"pH": {"pH": [7.0, 1.0]}}, "words": {}}
    found = GraphFeatures.from_json(plain).encode(raw(pH=[7, 8, 6, 1e9]))
    assert found[:, 0].tolist() == [0, 1, -1, 5]


def several(cells):
    """As many molecules as there are cells."""
    return load_raw(["C" * (n + 1) for n in range(len(cells))], columns={"T": cells})


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1.5, "-", 2.5], r"The column 'T' must hold numbers or text, got both: '1.5' and '-'"),
        (["3,14", "2,5", "2"], r"The column 'T' must hold numbers with a decimal point.*'3,14'"),
        (["3,14", "2,5", "n/d"], r"The column 'T' must hold numbers with a decimal point"),
        (["1,234.5", "1,007.25"], r"The column 'T' must hold numbers with a decimal point"),
        (["1.234,5", "7,25"], r"The column 'T' must hold numbers with a decimal point"),
        ([f"lot {n}" for n in range(11)], r"The column 'T' must be a number or a class.*a name"),
        ([1.5, float("inf")], r"The column 'T' must hold finite numbers, got inf in row 2"),
    ],
)
def test_columns_of_flawed_numbers_or_names_are_refused(cells, message):
    with pytest.raises(ValueError, match=message) as raised:
        GraphFeatures.fit(several(cells), ("T",))
    assert "multiclass" not in str(raised.value)  # which is for targets


def test_words_may_each_occur_once_where_there_are_few_and_look_like_lists():
    for words in ([f"lot {n}" for n in range(10)], ["1,2-diol", "2,5-diol", "1,2-diol"]):
        assert GraphFeatures.fit(several(words), ("T",)).words == {"T": tuple(sorted({*words}))}


def test_a_cell_that_is_no_number_is_missing_where_it_is_new():
    features = GraphFeatures.fit(raw(pH=[0, 2, 0, 2]), ("pH",))
    new = raw(pH=["n/d", 3, "inf", "n/d"])
    assert features.encode(new)[:, 0].tolist() == [0, 2, 0, 0]
    told = "pH (read as missing: no number)"
    assert features.unseen(new) == {told: {"n/d": 2, "inf": 1}}
    assert features.unseen(raw(pH=[9, "", None, 1e9])) == {}
    words = GraphFeatures.fit(raw(pH=["a", "b", "a", "b"]), ("pH",))
    assert words.encode(raw(pH=["a", "inf", 3, "b"])).tolist() == [[1, 0], [0, 0], [0, 0], [0, 1]]


def test_words_are_one_hot_and_unknown_ones_nothing():
    features = GraphFeatures.fit(raw(solvent=["water", "oil", "", "oil"]), ("solvent",))
    assert features.words == {"solvent": ("oil", "water")}
    new = features.encode(raw(solvent=["oil", "wine", "water", None]))
    assert new.tolist() == [[1, 0], [0, 0], [0, 1], [0, 0]]


def test_words_that_are_new_are_counted():
    known = load_raw(["CCO", "CCN"], columns={"solvent": ["water", "oil"]})
    encoder = Encoder.fit(known, graph_features=("solvent",))
    new = load_raw(["CCO", "CCN", "CCO"], columns={"solvent": ["mud", None, " water"]})
    assert encoder.unseen(new) == {"graph solvent": {"mud": 1}}


def test_fingerprints_and_descriptors_are_those_of_rdkit():
    from rdkit.Chem import Descriptors, MolFromSmiles
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    made = raw()
    features = GraphFeatures.fit(made, ("morgan", "rdkit2d"))
    got = features.encode(made)
    assert got.shape == (4, features.width)
    assert bool(got.isfinite().all())
    morgan = GetMorganGenerator(radius=2, fpSize=1024)
    mols = [MolFromSmiles(text) for text in SMILES]
    bits = np.array([morgan.GetFingerprintAsNumPy(mol) for mol in mols])
    assert np.array_equal(got[:, :1024].numpy(), bits)
    weight = np.array([Descriptors.MolWt(mol) for mol in mols])
    place = 1024 + list(features.scales["rdkit2d"]).index("MolWt")
    np.testing.assert_allclose(got[:, place], (weight - weight.mean()) / weight.std(), rtol=1e-5)


def test_json_brings_back_the_same_features():
    made = raw(pH=[2, 4, None, 6], solvent=["a", "b", "a", "b"])
    encoder = Encoder.fit(made, graph_features=("morgan", "pH", "solvent", "rdkit2d"))
    again = Encoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder
    assert torch.equal(again.encode(made).graph_x, encoder.encode(made).graph_x)


@pytest.mark.parametrize(
    "plain",
    [None, {}, {"asked": ["pH"], "scales": {}, "words": {}},
     # Columns of these names, from before they were computed.
     {"asked": ["shape"], "scales": {"shape": {"shape": [0, 1]}}, "words": {}},
     {"asked": ["patterns"], "scales": {"patterns": {"patterns": [0, 1]}}, "words": {}},
     {"asked": ["shape"], "scales": {}, "words": {"shape": ["a", "b"]}},
     {"asked": ["pH"], "scales": {"pH": {"pH": [float("nan"), 1]}}, "words": {}},
     {"asked": ["pH"], "scales": {"pH": {"pH": [0, float("inf")]}}, "words": {}},
     {"asked": ["pH"], "scales": {"pH": {"pH": [0, -1]}}, "words": {}},
     {"asked": ["patterns", "patterns"], "scales": {}, "words": {}},
     {"asked": ["morgan"], "scales": {}, "words": {}, "places": [1]},
     {"asked": ["patterns"], "scales": {}, "words": {}, "places": [2, 1]},
     {"asked": ["patterns"], "scales": {}, "words": {}, "places": [1024]},
     {"asked": ["patterns"], "scales": {}, "words": {}, "places": [float("inf")]},
     {"asked": ["patterns"], "scales": {}, "words": {}, "places": [1, 1]}],
)  # fmt: skip
def test_other_json_is_refused(plain):
    with pytest.raises(ValueError, match="Features of graphs must be"):
        GraphFeatures.from_json(plain)


def test_auto_takes_what_is_computed_of_molecules_unless_they_are_many(monkeypatch):
    made = raw()
    assert Encoder.fit(made, graph_features=("auto",)).graphs.asked == ("morgan", "rdkit2d")
    monkeypatch.setattr(graph_features, "MOST_ROWS", 5)
    unread = load_raw([*SMILES, "C1CC"], targets={"y": [1.0, 2.0, 3.0, 4.5, 1.0]})
    assert unread.errors
    assert Encoder.fit(made, graph_features=("auto",)).graphs is not None
    assert Encoder.fit(unread, graph_features=("auto",)).graphs is None  # whose rows are 5


def test_auto_takes_patterns_and_shape_of_graphs_with_labels_that_are_read(monkeypatch):
    graphs = small_graphs(lambda node: node % 3)
    read = Encoder.fit(graphs, graph_features=("auto",))
    assert read.graphs.asked == ("patterns", "shape")
    assert read.num_graph_features == len(read.graphs.places) + 25 < 1049
    for how in ("degree", "constant"):
        assert Encoder.fit(graphs, features=how, graph_features=("auto",)).graphs is None
    monkeypatch.setattr(graph_features, "MOST_ROWS", 3)
    assert Encoder.fit(graphs, graph_features=("auto",)).graphs is None


@pytest.mark.parametrize("name", ["triangles", "csl"])
def test_auto_takes_nothing_of_graphs_whose_labels_are_all_one(name):
    assert Encoder.fit(load_raw(name), graph_features=("auto",)).graphs is None


def test_patterns_are_of_the_labels_that_are_read_and_the_same_in_other_vocabularies():
    graphs, other = small_graphs(lambda node: node % 3), small_graphs(lambda node: node % 3 + 5)
    read, blind = (
        Encoder.fit(graphs, edge_features=how, graph_features=("patterns", "shape"))
        for how in ("all", "none")
    )
    both = small_graphs(lambda node: node % 3, bond=lambda u: u % 2)
    assert torch.equal(blind.encode(both).graph_x, blind.encode(graphs).graph_x)
    part = graphs.select([1])  # with the vocabulary of the whole
    alone = small_graphs(lambda node: node % 3, graphs=[1])
    for one in (part, alone):
        torch.testing.assert_close(read.encode(one).graph_x, read.encode(graphs).graph_x[1:2])
    assert not torch.equal(read.encode(other).graph_x, read.encode(graphs).graph_x)


def test_labels_may_be_numbers_elsewhere_and_edges_missing():
    whole, real = (
        load_raw(labelled(lambda node, kind=kind: kind(node % 3)), targets="y")
        for kind in (int, float)
    )
    assert (whole.nodes.names, real.nodes.number_names) == (("label",), ("label",))
    encoder = Encoder.fit(whole, graph_features=("auto",))
    assert torch.equal(encoder.encode(real).graph_x, encoder.encode(whole).graph_x)
    lone = load_raw([nx.empty_graph(1)], targets={"y": [0]})
    lone = replace(lone, nodes=whole.nodes[torch.tensor([0])])
    assert encoder.pairs.names == ("bond",)
    assert lone.pairs.names == ()
    assert encoder.encode(lone).graph_x.shape == (1, encoder.num_graph_features)


def test_no_graphs_have_no_features():
    graphs = small_graphs(lambda node: node % 3)
    encoder = Encoder.fit(graphs, graph_features=("auto",))
    assert encoder.encode(graphs.select([])).graph_x.shape == (0, encoder.num_graph_features)


def test_patterns_are_read_where_two_graphs_have_taken_their_place():
    graphs = small_graphs(lambda node: node % 3)
    encoder = Encoder.fit(graphs, graph_features=("patterns",))
    counts = patterns(graphs)
    shared = (counts > 0).sum(0) >= 2
    assert 0 < shared.sum() < (counts > 0).any(0).sum()
    assert encoder.num_graph_features == shared.sum()
    np.testing.assert_array_equal(encoder.encode(graphs).graph_x, np.log1p(counts[:, shared]))
    new = small_graphs(lambda node: node % 3 + 5)
    assert not encoder.encode(new).graph_x.any()  # what was not there says nothing
    again = Encoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert torch.equal(again.encode(graphs).graph_x, encoder.encode(graphs).graph_x)
    # Models of earlier versions do not say which places they read.
    earlier = encoder.to_json()
    del earlier["graphs"]["places"]
    read = Encoder.from_json(earlier)
    assert read.num_graph_features == 1024
    np.testing.assert_array_equal(read.encode(graphs).graph_x, np.log1p(counts))


def test_graphs_that_share_no_pattern_need_another_feature():
    one = small_graphs(lambda node: node % 3).select([0])
    assert Encoder.fit(one, graph_features=("auto",)).num_graph_features == 25
    with pytest.raises(ValueError, match="`patterns` must have one that two graphs"):
        Encoder.fit(one, graph_features=("patterns",))


def test_a_target_may_have_the_name_of_what_is_computed():
    graphs = small_graphs(lambda node: node % 3)
    named = replace(graphs, targets={"shape": [0, 1, 0, 1]})
    assert Encoder.fit(named, graph_features=("auto",)).graphs.asked == ("patterns", "shape")


def labelled(label, bond=lambda u: 0, graphs=(0, 1, 2, 3)):
    """Cycles and paths of several lengths, whose nodes and edges have labels."""
    made = []
    for number in graphs:
        graph = (nx.cycle_graph if number % 2 else nx.path_graph)(4 + number)
        nx.set_node_attributes(graph, {u: label(u) for u in graph}, "label")
        nx.set_edge_attributes(graph, {(u, v): f"B{bond(u)}" for u, v in graph.edges}, "bond")
        graph.graph["y"] = number % 2
        made.append(graph)
    return made


def small_graphs(label, **how):
    return load_raw(
        labelled(lambda node: f"L{label(node)}", **how),
        node_features=["label"], edge_features=["bond"], targets="y",
    )  # fmt: skip


def test_auto_stands_alone_and_is_no_column():
    with pytest.raises(ValueError, match=r"must be .auto. alone.*got .auto,pH."):
        graph_features.feature_list("auto,pH")
    named = load_raw(SMILES, targets={"auto": [1.0, 2.0, 3.0, 4.5]})
    assert Encoder.fit(named, graph_features=("auto",)).graphs is not None
    assert graph_features.source_columns(("morgan", "auto", "pH")) == ("pH",)


@pytest.mark.parametrize("names", [5, True, b"patterns", {"patterns": 1}, ["patterns", 3]])
def test_names_must_be_texts(names):
    with pytest.raises(TypeError, match="must be names with commas between them, or a list"):
        graph_features.feature_list(names)


def test_a_target_is_no_feature():
    with pytest.raises(ValueError, match="must not name what is predicted, got 'y'"):
        Encoder.fit(raw(y=[1, 2, 3, 4]), graph_features=("y",))


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="The feature 'pH' of whole graphs must be one of morgan"):
        GraphFeatures.fit(raw(other=[1] * 4), ("pH",))
    with pytest.raises(ValueError, match=r"lacks the column 'pH', which the model reads") as raised:
        GraphFeatures.fit(raw(pH=[1, 2, 3, 4]), ("pH", "morgan")).encode(raw())
    assert "morgan" not in str(raised.value)
    with pytest.raises(ValueError, match="must have a value for each of 4 graphs, got 1"):
        raw(pH=[1])


def test_load_reads_columns_of_a_table_and_its_cache(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("smiles,y,pH\nCCO,1,7\nCCN,2,\nCC,3,9\n")
    first, again = (
        lgan.load(table, targets="y", graph_features="pH,morgan", root=tmp_path) for _ in range(2)
    )
    assert first.num_graph_features == 1025
    assert torch.equal(first.graph_x, again.graph_x)
    assert lgan.load(table, targets="y", root=tmp_path).graph_x is None
