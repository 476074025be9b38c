from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lgan.catalogue import FEATURES
from lgan.data import DATASETS, Columns, RawGraphs, load_raw, node_features, read_tu
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


def test_unknown_set_is_refused() -> None:
    with pytest.raises(ValueError, match="Choose one of MUTAG"):
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
    with pytest.raises(ValueError, match=r"must be finite, got .* at node 2 \(1 nodes"):
        node_features(replace(tiny, nodes=broken), "attributes")


def test_unknown_features_are_refused(tiny: RawGraphs) -> None:
    with pytest.raises(ValueError, match=", ".join(FEATURES).replace("+", r"\+")):
        node_features(tiny, "colour")
