import json
from dataclasses import replace

import networkx as nx
import pytest
import torch

from lgan.data import Columns, Encoder, RawGraphs, feature_names, load_raw, node_features

CATEGORIES = {"element": ["C", "C", "O", "N", "N"], "ring": [0, 0, 1, 1, 1]}


@pytest.fixture
def raw() -> RawGraphs:
    """A path of three nodes and an edge."""
    nodes = Columns.of_categories(CATEGORIES)
    return RawGraphs(
        name="two",
        node_ptr=torch.tensor([0, 3, 5]),
        pair_index=torch.tensor([[0, 1, 3], [1, 2, 4]]),
        nodes=nodes.with_numbers(torch.arange(5.0)[:, None], ("mass",)),
        pairs=Columns.of_categories({"order": ["single", "double", "single"]}),
        targets={"active": ["yes", "no"], "weight": [0.5, 1.5]},
    )


def _with_elements(raw: RawGraphs, elements: list[str]) -> RawGraphs:
    nodes = Columns.of_categories(CATEGORIES | {"element": elements})
    return replace(raw, nodes=nodes.with_numbers(raw.nodes.numbers, ("mass",)))


def test_columns_are_one_hot_with_a_place_for_others_and_then_numbers(raw: RawGraphs) -> None:
    encoder = Encoder.fit(raw, targets=["active"])
    assert encoder.nodes.column_names == (
        "element=C", "element=N", "element=O", "element=(other)",
        "ring=0", "ring=1", "ring=(other)", "mass",
    )  # fmt: skip
    union = encoder.encode(raw, compress=False)
    assert union.num_features == encoder.num_features == 8
    assert union.features[2].tolist() == [0, 0, 1, 0, 0, 1, 0, 2]
    assert union.y.tolist() == [1, 0]


def test_same_things_get_the_same_columns_in_every_file(raw: RawGraphs) -> None:
    encoder = Encoder.fit(raw, targets=["active"])
    later = _with_elements(raw, ["O", "O", "O", "Xe", "Xe"])
    x = encoder.encode(later, compress=False).features[:, :4]
    assert x.tolist() == [[0, 0, 1, 0]] * 3 + [[0, 0, 0, 1]] * 2
    assert encoder.unseen(later) == {"node element": {"Xe": 2}}
    assert encoder.unseen(raw) == {}


def test_one_column_of_categories_stays_categories(raw: RawGraphs) -> None:
    single = replace(raw, nodes=Columns.of_categories({"element": CATEGORIES["element"]}))
    encoder = Encoder.fit(single, targets=["active"])
    assert encoder.encode(single, compress=False).x.tolist() == [0, 0, 2, 1, 1]
    assert encoder.num_features == 4
    other = replace(raw, nodes=Columns.of_categories({"element": ["N", "N", "F", "C", "C"]}))
    assert encoder.encode(other, compress=False).x.tolist() == [1, 1, 3, 0, 0]


def test_without_a_column_for_others_they_are_refused(raw: RawGraphs) -> None:
    encoder = Encoder.fit(raw, targets=["active"], other=False)
    assert encoder.num_features == 6
    with pytest.raises(ValueError, match=r"'element' of the nodes of two .*got 'Xe' too"):
        encoder.encode(_with_elements(raw, ["O", "O", "O", "Xe", "Xe"]))


@pytest.mark.parametrize("features", ["labels", "attributes", "labels+attributes", "degree"])
def test_published_features_are_those_of_the_tables(raw: RawGraphs, features: str) -> None:
    single = replace(
        raw,
        nodes=Columns.of_categories({"label": [3, 1, 1, 2, 3]}).with_numbers(
            torch.arange(5.0)[:, None], ("attribute",)
        ),
    )
    x, num_features = node_features(single, features)
    encoder = Encoder.fit(single, features=features, targets=["active"], other=False)
    assert encoder.num_features == num_features
    assert torch.equal(encoder.encode(single, compress=False).features, x)


def test_larger_degrees_are_others() -> None:
    small, large = load_raw("regular").select([0]), load_raw("csl")
    encoder = Encoder.fit(small, features="degree")
    degree = int(node_features(small, "degree")[0][0])
    assert degree == 3
    assert set(encoder.encode(large, labelled=False).x.tolist()) == {degree + 1}


def stars(*leaves: int) -> RawGraphs:
    return load_raw([nx.star_graph(n) for n in leaves], targets={"y": [n % 2 for n in leaves]})


def test_bins_of_degrees_are_shared_by_hubs_and_hold_larger_ones_too() -> None:
    encoder = Encoder.fit(stars(2, 33, 1000))
    assert encoder.nodes.vocabularies[0][30:35] == ("30", "31", "32-33", "34-35", "36-38")
    assert encoder.num_features < 100
    x = {n: int(encoder.encode(stars(n), labelled=False).x.max()) for n in (7, 32, 33, 1000, 9999)}
    assert (x[7], x[32]) == (7, 32)
    assert x[32] == x[33]
    assert x[1000] == x[9999] == encoder.num_features - 2  # the last column is for none of them
    again = encoder.with_degrees(torch.zeros(4, dtype=torch.int64), torch.tensor([1, 32, 33, 9999]))
    assert again.tolist() == [1, 32, 32, x[9999]]
    assert encoder.unseen(stars(9999)) == {}
    ids, count = node_features(stars(33), "degree-bins")
    assert (int(ids.max()), count) == (32, 33)
    assert feature_names(stars(33), "degree-bins")[-1] == "degree 32-33"


def test_sources_without_features_read_the_degree(raw: RawGraphs) -> None:
    bare = replace(raw, nodes=Columns.empty(5))
    assert Encoder.fit(bare, targets=["active"]).nodes.names == ("degree-bins",)


def test_columns_that_are_missing_or_not_read_are_named(raw: RawGraphs) -> None:
    encoder = Encoder.fit(raw, features="labels", targets=["active"], edge_features="none")
    assert encoder.unread(raw) == ("node mass", "edge order")
    bare = replace(raw, nodes=Columns.of_categories({"colour": ["red"] * 5}))
    with pytest.raises(ValueError, match=r"nodes of two must have the feature 'element'.*'colour'"):
        encoder.encode(bare)


def test_numbers_may_have_been_read_as_categories_and_the_other_way_round(raw: RawGraphs) -> None:
    numbers = replace(raw, nodes=Columns.empty(5).with_numbers(torch.arange(5.0)[:, None], ("z",)))
    labels = replace(raw, nodes=Columns.of_categories({"z": [0, 1, 2, 3, 4]}))
    for fitted in (numbers, labels):
        encoder = Encoder.fit(fitted, targets=["active"])
        a, b = (encoder.encode(each, compress=False).features for each in (numbers, labels))
        assert torch.equal(a, b)
    words = replace(raw, nodes=Columns.of_categories({"z": ["a", "b", "c", "d", "e"]}))
    with pytest.raises(ValueError, match=r"'z' of the nodes of two must hold numbers, got \('a'"):
        Encoder.fit(numbers, targets=["active"]).encode(words)


def test_graphs_without_edges_need_no_features_of_edges(raw: RawGraphs) -> None:
    lone = replace(raw, pair_index=torch.zeros(2, 0, dtype=torch.int64), pairs=Columns.empty(0))
    lengths = raw.pairs.with_numbers(torch.tensor([[0.5], [1.5], [2.5]]), ("length",))
    for pairs in (raw.pairs, lengths):
        encoder = Encoder.fit(replace(raw, pairs=pairs), targets=["active"])
        union = encoder.encode(lone)
        assert union.num_edge_features == encoder.num_edge_features


def test_numbers_that_are_not_finite_are_refused(raw: RawGraphs) -> None:
    broken = raw.nodes.with_numbers(torch.tensor([[0.0], [1], [torch.inf], [3], [4]]), ("mass",))
    with pytest.raises(ValueError, match=r"'mass' of the nodes of two must be finite, got inf"):
        Encoder.fit(raw, targets=["active"]).encode(replace(raw, nodes=broken))


def test_the_task_follows_the_targets(raw: RawGraphs) -> None:
    assert str(Encoder.fit(raw, targets=["active"]).task) == "binary: active (no, yes)"
    regression = Encoder.fit(raw, targets=["weight"], task="regression")
    assert regression.num_outputs == 1
    assert regression.encode(raw).y.tolist() == [[0.5], [1.5]]
    with pytest.raises(ValueError, match=r"'colour' must be among those of two, got 'active'"):
        Encoder.fit(raw, targets=["colour"])
    assert Encoder.fit(replace(raw, targets={})).task is None


def test_graphs_need_no_targets_to_be_predicted(raw: RawGraphs) -> None:
    unlabelled = replace(raw, targets={})
    binary = Encoder.fit(raw, targets=["active"])
    assert binary.encode(unlabelled, labelled=False).y.tolist() == [-1, -1]
    regression = Encoder.fit(raw, targets=["weight"], task="regression")
    assert regression.encode(unlabelled, labelled=False).y.isnan().all()


def test_features_of_another_featuriser_are_refused(raw: RawGraphs) -> None:
    encoder = Encoder.fit(replace(raw, featuriser={"featuriser": "rdkit"}), targets=["active"])
    with pytest.raises(ValueError, match=r"made as those of the model .*rdkit.*got no featuriser"):
        encoder.encode(raw)


def test_encoder_survives_json(raw: RawGraphs) -> None:
    encoder = Encoder.fit(
        replace(raw, featuriser={"featuriser": "rdkit", "version": 1}), targets=["active"]
    )
    again = Encoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder


@pytest.mark.parametrize(
    "change",
    [
        {"format": 99},
        {"nodes": None},
        {"nodes": {"names": ["a"], "vocabularies": [], "number_names": [], "other": True}},
        {"nodes": {"names": ["a"], "vocabularies": [["x", "x"]], "number_names": [], "other": 1}},
        {"featuriser": 3},
        {"task": "binary"},
        {"more": 1},
    ],
)
def test_damaged_encoders_are_refused(raw: RawGraphs, change: dict[str, object]) -> None:
    plain = Encoder.fit(raw, targets=["active"]).to_json() | change
    with pytest.raises(ValueError, match="must be"):
        Encoder.from_json(plain)


def test_distinct_rows_are_the_vectors_of_all_rows(raw: RawGraphs) -> None:
    encoder = Encoder.fit(raw, targets=["active"]).nodes
    columns = raw.nodes[torch.tensor([0, 1, 2, 0, 3, 4, 2])]
    columns = columns.with_numbers(torch.tensor([1.0, 1, 2, 1, 3, 3, 2])[:, None], ("mass",))
    table, rows = encoder.distinct(columns)
    assert len(table) == 3
    assert torch.equal(table[rows], encoder.encode(columns))
    empty, none = encoder.distinct(columns[torch.zeros(0, dtype=torch.int64)])
    assert (empty.shape, none.shape) == ((0, 8), (0,))


@pytest.mark.parametrize("compress", [True, False])
def test_twins_are_those_that_agree_in_all_columns(compress: bool) -> None:
    triangle = RawGraphs(
        name="triangle",
        node_ptr=torch.tensor([0, 3]),
        pair_index=torch.tensor([[0, 0, 1], [1, 2, 2]]),
        nodes=Columns.of_categories({"a": [0, 0, 0], "b": ["x", "y", "y"]}),
    )
    union = Encoder.fit(triangle).encode(triangle, compress=compress)
    assert union.lines.multiplicity.tolist() == ([1, 2] if compress else [1, 1, 1])
    assert union.features[:2].tolist() == [[1, 0, 1, 0, 0], [1, 0, 0, 1, 0]]


def test_many_columns_do_not_overflow() -> None:
    count, values = 40, 100
    words = {f"c{i}": [(k * (i + 1)) % 97 for k in range(values)] for i in range(count)}
    columns = Columns.of_categories(words)
    encoder = Encoder.fit(
        RawGraphs(
            name="one",
            node_ptr=torch.tensor([0, values]),
            pair_index=torch.zeros(2, 0, dtype=torch.int64),
            nodes=columns,
        )
    ).nodes
    table, rows = encoder.distinct(columns)
    assert len(table) == 97
    assert torch.equal(table[rows], encoder.encode(columns))


def test_degrees_are_told_anew_as_the_source_without_the_edge_would_tell_them():
    """Cutting a bond leaves an atom with one neighbour fewer, and all else as it was."""
    raw = load_raw(["CC(C)O", "CCO"])
    encoder = Encoder.fit(raw)
    union = encoder.encode(raw, compress=False)
    degree = torch.bincount(raw.pair_index.flatten())
    assert torch.equal(encoder.with_degrees(union.features, degree), union.features)
    fewer = encoder.with_degrees(union.features, (degree - 1).clamp(min=0))
    names = encoder.nodes.column_names
    told = {name: fewer[1, i] for i, name in enumerate(names) if name.startswith("degree=")}
    assert told == {"degree=1": 0, "degree=2": 1, "degree=3": 0, "degree=(other)": 0}
    rest = [i for i, name in enumerate(names) if not name.startswith("degree=")]
    assert torch.equal(fewer[:, rest], union.features[:, rest])
    assert fewer[0, names.index("degree=(other)")] == 1  # no atom of the source has none


def test_degrees_that_are_the_only_feature_are_categories():
    raw = load_raw("csl")
    encoder = Encoder.fit(raw, features="degree")
    x = encoder.encode(raw, compress=False).x
    again = encoder.with_degrees(x, torch.full_like(x, 3))
    assert encoder.nodes.vocabularies[0][int(again[0])] == "3"
    constant = Encoder.fit(raw, features="constant")
    x = constant.encode(raw, compress=False).x
    assert constant.with_degrees(x, x + 2) is x


def test_directions_must_be_those_of_training() -> None:
    graphs = [nx.DiGraph([(0, 1), (1, 2)]), nx.DiGraph([(0, 1), (0, 2)])]
    kept, forgotten = load_raw(graphs, directed=True), load_raw(graphs, symmetrise=True)
    encoder = Encoder.fit(kept)
    again = Encoder.from_json(encoder.to_json())
    assert again.directed
    direction = again.encode(kept).lines.direction
    assert direction is not None
    assert direction.tolist() == [1, 1, 1, 1]
    with pytest.raises(ValueError, match=r"must have a direction.*`directed=True`"):
        again.encode(forgotten)
    with pytest.raises(ValueError, match="must have no direction"):
        Encoder.fit(forgotten).encode(kept)
