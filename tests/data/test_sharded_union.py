"""Shards of which only some are in memory give the batches that one union gives."""

from unittest.mock import Mock

import pytest
import torch

from lgan.data import prepare_shards
from lgan.data.shards.union import ShardedUnion
from lgan.ops import together
from lgan.train.loop import _run_steps
from lgan.train.objective import Objective


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    smiles = ["CCO", "C[N+](C)(C)C", "c1ccccc1Br", "C1CC1", "CC(=O)[O-]", "C#N", "O"]
    rows = "\n".join(f"{smiles[i % 7]},{i / 3}" for i in range(40))
    (folder / "t.csv").write_text(f"smiles,y\n{rows}\n")
    return prepare_shards(folder / "t.csv", folder / "shards", shards=6)


@pytest.mark.parametrize("window", [1, 2, 6])
def test_batches_are_those_of_the_union(shards, window):
    union, sharded = shards.union(), ShardedUnion(shards, window)
    plan = [torch.tensor([3, 0, 12]), torch.tensor([8]), torch.tensor([39, 2, 20, 13]),
            torch.arange(40).flip(0)]  # fmt: skip
    for batch, ids in zip(sharded.batches(plan), plan, strict=True):
        expected = union.batch(ids)
        for name in ("x", "y", "ptr", "ids"):
            assert torch.equal(getattr(batch, name), getattr(expected, name)), name
        lines, wanted = batch.lines, expected.lines
        for name in ("pair_index", "opposite_index", "pair_triangles", "multiplicity"):
            assert torch.equal(getattr(lines, name), getattr(wanted, name)), name
        assert torch.equal(lines.pair_table[lines.pair_rows], wanted.pair_table[wanted.pair_rows])
    for name in ("y", "node_ptr", "work_per_graph"):
        assert torch.equal(getattr(sharded, name), getattr(union, name)), name
    assert sharded.num_features == union.num_features
    assert torch.equal(sharded.batch(plan[0]).ids, plan[0])


def test_neighbouring_batches_share_what_is_read(shards, monkeypatch):
    sharded, read = ShardedUnion(shards, 2), []
    load = sharded._load
    monkeypatch.setattr(sharded, "_load", lambda s: read.append(s) or load(s))
    starts = shards.graph_ptr[:-1]
    list(sharded.batches([starts[[0, 1]], starts[[1]], starts[[0]], starts[[4]], starts[[5]]]))
    assert read == [(0, 1), (4, 5)]


def test_a_process_reads_its_share_of_the_shards(shards, monkeypatch):
    sharded, read = ShardedUnion(shards, 6), []
    load = sharded._load
    monkeypatch.setattr(sharded, "_load", lambda s: read.append(s) or load(s))
    monkeypatch.setattr(together, "workers", lambda: 2)
    monkeypatch.setattr(together, "sum_in_place", lambda x: None)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    task, seen = sharded.known_task, torch.ones(1, 40, dtype=torch.bool)
    objective = Objective.of(task, task.metric("rmse"), sharded.y, seen, "none")
    trained = []
    for rank in range(2):
        monkeypatch.setattr(together, "rank", lambda rank=rank: rank)
        step = Mock()
        step.gradients = lambda batch, *_: trained.append(batch.ids) or torch.zeros(1)
        _run_steps(sharded, objective, seen, step, None, order.split(20), torch.tensor(1.0))
    assert torch.equal(torch.cat(trained).sort().values, torch.arange(40))
    own = [set().union(*loads) for loads in (read[: len(read) // 2], read[len(read) // 2 :])]
    assert all(len(some) <= 4 for some in own)
    assert own[0] | own[1] == set(range(6))


def test_window_must_hold_a_shard(shards):
    with pytest.raises(ValueError, match="`window` must be 1 shard or more, got 0"):
        ShardedUnion(shards, 0)
