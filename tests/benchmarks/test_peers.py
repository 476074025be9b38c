import zipfile
from pathlib import Path

import pytest
import torch

from benchmarks.peers import GIN, PeerTraining, missing, pyg_graphs
from lgan.data import load_raw, node_features, triangle_pairs


@pytest.mark.data
@pytest.mark.parametrize("name", ["MUTAG", "IMDB-BINARY"])
def test_the_peer_reads_what_tudataset_gives(name, mirror, tmp_path):
    from torch_geometric.datasets import TUDataset
    from torch_geometric.transforms import OneHotDegree

    raw = load_raw(name, mirror=mirror)
    category, num_features = node_features(
        raw, "labels" if raw.node_labels is not None else "degree"
    )
    folder = tmp_path / name / "raw"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(mirror / f"{name}.zip") as archive:
        for item in archive.namelist():
            (folder / Path(item).name).write_bytes(archive.read(item))
    degrees = None if raw.node_labels is not None else OneHotDegree(num_features - 1)
    theirs = TUDataset(str(tmp_path), name, transform=degrees)
    ours = pyg_graphs(raw, category, num_features)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert sorted(mine.keys()) == sorted(k for k in other.keys() if other[k] is not None)  # noqa: SIM118
        for key in mine.keys():  # noqa: SIM118
            assert torch.equal(torch.as_tensor(mine[key]), torch.as_tensor(other[key])), key


def test_an_epoch_trains_the_peer_and_counts_right_answers():
    raw = triangle_pairs(num_graphs=12)
    graphs = pyg_graphs(raw, *node_features(raw, "labels"))
    peer = PeerTraining(
        graphs[:8], graphs[8:], hidden_channels=4, num_classes=2, device=torch.device("cpu")
    )
    before = peer.model.head.weight.detach().clone()
    assert 0 <= peer.epoch() <= 4
    assert not torch.equal(before, peer.model.head.weight)


def test_gin_gives_one_row_a_graph():
    raw = triangle_pairs(num_graphs=2)
    graph = pyg_graphs(raw, *node_features(raw, "degree"))[0]
    assert GIN(graph.x.size(1), 8, 3)(graph).shape == (1, 3)


def test_a_missing_peer_is_named_with_the_extra():
    assert missing("torch") == ""
    assert missing("no_such_peer") == (
        "not measured: no_such_peer is not installed (pip install 'lgan[bench]')"
    )
