from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lgan.train.batches import balanced_order, drawn_graphs, epoch_batches, train_share

GROUPS = torch.arange(47) % 10  # seven groups of five, three of four


def _batches(groups: Tensor = GROUPS, **changes: int) -> Iterator[Tensor]:
    settings = {"iterations": 0, "batch_size": 8, "seed": 0, "epoch": 0} | changes
    return epoch_batches(groups, **settings)


def _same(a: Iterator[Tensor], b: Iterator[Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


@given(st.lists(st.integers(-1, 4), min_size=1, max_size=60), st.integers(0, 99))
def test_every_stretch_from_the_start_holds_each_group_in_its_proportion(groups, seed):
    group = torch.tensor(groups)
    order = balanced_order(group, np.random.default_rng(seed))
    assert order.sort().values.tolist() == list(range(len(groups)))
    names, sizes = torch.unique(group, return_counts=True)
    so_far = (group[order] == names[:, None]).cumsum(1)  # [groups, stretch]
    expected = sizes[:, None] * torch.arange(1, len(groups) + 1) / len(groups)
    slack = 1 + len(names) * sizes[:, None] / len(groups)
    assert bool(((so_far - expected).abs() <= slack + 1e-6).all())


def test_equal_groups_take_turns():
    groups = torch.arange(60) // 6
    order = balanced_order(groups, np.random.default_rng(1))
    for stretch in groups[order].view(-1, 10):
        assert stretch.sort().values.tolist() == list(range(10))


@pytest.mark.parametrize("batch_size", [1, 7, 32, 1000])
def test_one_pass_holds_every_graph_once_in_even_batches(batch_size):
    batches = list(_batches(batch_size=batch_size))
    assert torch.cat(batches).sort().values.tolist() == list(range(47))
    sizes = [batch.numel() for batch in batches]
    assert max(sizes) - min(sizes) <= 1


def test_one_pass_has_the_steps_of_a_pass_over_the_training_part():
    groups = torch.arange(100) % 10  # a model trains on 90 graphs
    assert len(list(_batches(groups, batch_size=30))) == 3
    assert len(list(_batches(groups, batch_size=29))) == 4


def test_number_of_iterations_is_honoured_and_all_batches_are_of_one_size():
    batches = list(_batches(iterations=23))
    assert [batch.numel() for batch in batches] == [9] * 23  # a model trains on 8 of 9 or so


def test_no_graph_is_twice_in_a_batch():
    for batch in _batches(iterations=40, batch_size=31):
        assert batch.unique().numel() == batch.numel()


def test_a_model_trains_on_batch_size_graphs_on_the_average():
    groups = torch.arange(200) % 10
    batches = torch.stack(list(_batches(groups, iterations=30, batch_size=36)))
    assert batches.size(1) == 40
    for k in range(10):
        assert (groups[batches] != k).sum(1).double().mean() == pytest.approx(36, abs=0.5)


def test_batches_depend_on_seed_and_epoch_alone():
    for iterations in (0, 12):
        first = list(_batches(iterations=iterations, seed=3, epoch=5))
        assert _same(first, _batches(iterations=iterations, seed=3, epoch=5))
        assert not _same(first, _batches(iterations=iterations, seed=3, epoch=6))
        assert not _same(first, _batches(iterations=iterations, seed=4, epoch=5))


def test_a_batch_is_never_larger_than_the_set():
    assert [batch.numel() for batch in _batches(iterations=3, batch_size=500)] == [47] * 3
    assert drawn_graphs(GROUPS, 500) == 47


def test_training_share_is_what_holding_one_group_out_leaves_on_the_average():
    assert train_share(torch.tensor([0, 0, 0, 1])) == 0.5
    assert train_share(torch.arange(30) % 10) == pytest.approx(0.9)
    assert train_share(torch.tensor([0, 1, -1, -1])) == 0.75
    assert train_share(torch.tensor([-1, -1])) == 1.0


@pytest.mark.parametrize("iterations", [0, 7])
def test_windows_cover_a_pass_and_one_that_covers_all_changes_nothing(iterations):
    groups, ptr = torch.arange(60) % 3, torch.tensor([0, 10, 25, 45, 60])
    common = {"iterations": iterations, "batch_size": 4, "seed": 0, "epoch": 1}
    plain = list(epoch_batches(groups, **common))
    wide = list(epoch_batches(groups, **common, shard_ptr=ptr, window=4))
    assert all(map(torch.equal, plain, wide))
    narrow = list(epoch_batches(groups, **common, shard_ptr=ptr, window=2))
    shards = [set((torch.searchsorted(ptr, ids, right=True) - 1).tolist()) for ids in narrow]
    assert all(len(some) <= 2 for some in shards)
    if iterations == 0:
        assert torch.cat(narrow).sort().values.tolist() == list(range(60))
        assert len(set.union(*shards[: len(shards) // 2])) == 2
    else:
        assert [ids.numel() for ids in narrow] == [6] * 7
