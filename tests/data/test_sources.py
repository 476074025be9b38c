from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pandas as pd
import pytest
import torch

from lgan.catalogue import FEATURES
from lgan.data import DATASETS, Columns, RawGraphs, load, load_raw, node_features, read_tu
from lgan.data.sources import GENERATORS

Pack = Callable[..., Path]


@pytest.fixture
def tiny(pack: Pack) -> RawGraphs:
    return read_tu(pack(), "TINY")


@pytest.mark.parametrize("name", [n for n, spec in DATASETS.items() if spec.kind == "synthetic"])
def test_generated_sets_are_what_the_registry_says(name: str) -> None:
    seen: list[float] = []
    raw = load_raw(name, progress=seen.append)
    spec = DATASETS[name]
    assert raw.name == name
    assert (raw.num_graphs, raw.num_classes) == (spec.graphs, spec.classes)
    assert node_features(raw, spec.features)[1] == 1
    assert seen == [1.0]
    assert load_raw(name).content_sha256() == raw.content_sha256()
    assert load_raw(name, seed=1).content_sha256() != raw.content_sha256()


def test_every_generator_is_registered() -> None:
    assert set(GENERATORS) == {n for n, spec in DATASETS.items() if spec.kind == "synthetic"}


def test_another_set_under_a_known_name_is_refused(pack: Pack, tmp_path: Path) -> None:
    pack("MUTAG", folder=tmp_path / "mirror")
    with pytest.raises(
        ValueError, match=r"does not hold the known set MUTAG: expected 188 .*got 2"
    ):
        load_raw("MUTAG", root=tmp_path / "root", mirror=tmp_path / "mirror")
    assert not (tmp_path / "root").exists()


def test_known_set_is_loaded_from_a_mirror(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checksum = read_tu(pack("MUTAG"), "MUTAG").content_sha256()
    monkeypatch.setitem(DATASETS, "MUTAG", replace(DATASETS["MUTAG"], content_sha256=checksum))
    assert load_raw("MUTAG", mirror=tmp_path).num_graphs == 2


def test_sets_of_one_s_own_are_read_by_name_or_path(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = pack("mine", folder=tmp_path / "sets")
    raw = load_raw("mine", root=tmp_path / "root", mirror=tmp_path / "sets")
    assert raw.num_graphs == 2
    assert load_raw(archive).content_sha256() == raw.content_sha256()
    monkeypatch.chdir(tmp_path / "sets")
    assert load_raw("mine.zip").content_sha256() == raw.content_sha256()


def test_any_set_of_the_collection_is_read_by_name(pack: Pack, tmp_path: Path) -> None:
    pack("ENZYMES", folder=tmp_path / "mirror")
    options = {"root": tmp_path / "root", "mirror": tmp_path / "mirror"}
    assert load_raw("ENZYMES", **options).name == "ENZYMES"
    union = load("ENZYMES", **options, features="labels+attributes")
    assert (union.num_graphs, union.num_features) == (2, 7)  # 4 labels, others, 2 attributes
    cached = load("ENZYMES", **options, features="labels+attributes")
    assert torch.equal(cached.x, union.x)
    assert len(list((tmp_path / "root" / "prepared").glob("ENZYMES-*.safetensors"))) == 1
    pack("ENZYMES", folder=tmp_path / "mirror", node_labels="1\n" * 5)
    again = load("ENZYMES", **options, features="labels+attributes")
    assert again.num_features == 4


@pytest.mark.parametrize("path", ["none.zip", "none.csv", "folder/none", "none.jsonl"])
def test_a_path_to_nothing_is_told(tmp_path: Path, path: str) -> None:
    with pytest.raises(FileNotFoundError, match="got no such file or folder"):
        load_raw(path)
    with pytest.raises(FileNotFoundError, match="got no such file or folder"):
        load_raw(tmp_path / path)


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.docx").touch()
    with pytest.raises(ValueError, match=r"Expected a table of molecules .*notes.docx"):
        load_raw(tmp_path / "notes.docx")
    with pytest.raises(ValueError, match="Expected one TU set in"):
        load_raw(tmp_path)


def test_molecules_are_read_from_tables_and_lists(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    table = tmp_path / "molecules.csv"
    table.write_text("smiles,active,batch\nCCO,1,a\nC1CC,0,a\nCCN,0,b\nc1ccccc1,1,b\n")
    seen: list[float] = []
    raw = load_raw(
        table, targets=["active"], columns=["batch"], root=tmp_path, progress=seen.append
    )
    assert (raw.num_graphs, raw.rows.tolist()) == (3, [0, 2, 3])
    assert [row for row, _ in raw.errors] == [1]
    assert (raw.targets, raw.columns) == (
        {"active": ["1", "0", "1"]},
        {"batch": ["a", "b", "b"]},
    )
    assert seen[-1] == 1
    listed = load_raw(["CCO", "C1CC", "CCN"], targets={"active": [1, 0, 0]})
    assert listed.targets == {"active": [1, 0]}
    with pytest.warns(UserWarning, match="1 of 4 rows"):
        assert load(table, targets="active", root=tmp_path).y.tolist() == [1, 0, 1]
    columns = {"smiles": ["CCO", "CCN"], "active": [1, 0]}
    assert load_raw(columns, root=tmp_path).targets == {"active": [1, 0]}
    with pytest.raises(ValueError, match=r"\['active'\]` must have a value for each of 2 graphs"):
        load_raw(["CCO", "CCN"], targets={"active": [1]})
    with pytest.raises(ValueError, match=r"Pass their values"):
        load_raw(["CCO", "CCN"], targets=["active"])


def test_unknown_set_is_refused() -> None:
    with pytest.raises(ValueError, match="Choose one of: MUTAG"):
        load_raw("NOPE")


def test_labels_and_degrees_are_categories(tiny: RawGraphs) -> None:
    x, num_features = node_features(tiny, "labels")
    assert (x.tolist(), num_features) == ([1, 0, 0, 3, 0], 4)
    x, num_features = node_features(tiny, "degree")
    assert (x.tolist(), num_features) == ([2, 2, 2, 1, 1], 3)
    x, num_features = node_features(tiny, "constant")
    assert (x.tolist(), num_features) == ([0] * 5, 1)


def test_isolated_nodes_have_degree_0(tiny: RawGraphs) -> None:
    x, num_features = node_features(
        replace(tiny, pair_index=tiny.pair_index[:, :0], pairs=Columns.empty(0)), "degree"
    )
    assert (x.tolist(), num_features) == ([0] * 5, 1)


def test_labels_come_before_attributes(tiny: RawGraphs) -> None:
    x, num_features = node_features(tiny, "labels+attributes")
    assert (x.dtype, num_features) == (torch.float32, 6)
    assert x[3].tolist() == [0, 0, 0, 1, 0.5, 3]
    x, num_features = node_features(tiny, "attributes")
    assert (x[1].tolist(), num_features) == ([-1.25, 2], 2)


@pytest.mark.parametrize("features", ["labels", "attributes", "labels+attributes"])
def test_missing_features_are_refused(tiny: RawGraphs, features: str) -> None:
    bare = replace(tiny, nodes=Columns.empty(tiny.num_nodes))
    with pytest.raises(ValueError, match=r"need node .*TINY\) without. Choose .*'degree'"):
        node_features(bare, features)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_attributes_that_are_not_finite_are_refused(tiny: RawGraphs, value: float) -> None:
    assert tiny.node_attributes is not None
    attributes = tiny.node_attributes.clone()
    attributes[2, 1] = value
    broken = tiny.nodes.with_numbers(attributes, tiny.nodes.number_names)
    with pytest.raises(ValueError, match=r"must be finite, got .* in row 2 \(1 rows"):
        node_features(replace(tiny, nodes=broken), "attributes")


def test_unknown_features_are_refused(tiny: RawGraphs) -> None:
    with pytest.raises(ValueError, match=", ".join(FEATURES).replace("+", r"\+")):
        node_features(tiny, "colour")


@pytest.mark.parametrize("smiles", ["CCO", "C/C=C/C", "C" * 300])
def test_one_molecule_without_a_list_is_told_so(smiles):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    with pytest.raises(ValueError, match=r"got one SMILES\. Give a list: \['C"):
        load_raw(smiles)


@pytest.mark.parametrize("source", ["NOSUCHSET", "no/such/file", "x" * 300])
def test_what_is_neither_there_nor_a_molecule_is_no_data_set(source):
    with pytest.raises((ValueError, FileNotFoundError), match="data set"):
        load_raw(source)


@pytest.mark.parametrize("kind", ["molecules", "networkx"])
def test_targets_of_pandas_are_taken_by_position(kind):
    values = pd.Series([1.5, 2.5, 3.5, 4.5], index=[3, 2, 1, 0])
    if kind == "molecules":
        pytest.importorskip("rdkit", reason="molecules need rdkit")
        graphs = ["C", "CC", "CCC", "CCCC"]
    else:
        graphs = [nx.path_graph(n) for n in (2, 3, 4, 5)]
    raw = load_raw(graphs, targets={"y": values})
    assert raw.targets["y"] == [1.5, 2.5, 3.5, 4.5]
    assert raw.select([1, 3]).targets["y"] == [2.5, 4.5]


def test_an_empty_text_is_no_source() -> None:
    with pytest.raises(ValueError, match=r"must be a path, a name .* got an empty text"):
        load_raw("")


@pytest.mark.parametrize("values", [1, "ab"])
def test_values_beside_a_list_are_a_list(values: object) -> None:
    with pytest.raises(TypeError, match=r"`targets\['y'\]` must be a list .* got (int|str)"):
        load_raw(["CC", "CCO"], targets={"y": values})
