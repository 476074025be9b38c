import pytest
import torch

from benchmarks.shuffle import epoch_order, neighbour_correlation, shuffle_quality

GRAPHS, SHARDS = 6400, 64


@pytest.mark.parametrize("window", [1, 8, 64])
def test_a_sorted_table_is_shuffled_as_well_as_its_windows_are_mixed(window):
    labels = (torch.arange(GRAPHS) >= GRAPHS // 2).long()
    found = shuffle_quality(labels, SHARDS, window)
    expected = (SHARDS - window) / (window * (SHARDS - 1))
    assert found["labels"] == pytest.approx(expected, abs=0.06)
    assert found["places"] == pytest.approx(expected, abs=0.06)


def test_labels_in_random_order_stay_uncorrelated_whatever_the_window():
    labels = torch.randint(2, (GRAPHS,), generator=torch.Generator().manual_seed(0))
    assert abs(shuffle_quality(labels, SHARDS, 1)["labels"]) < 0.03


def test_every_graph_comes_once_and_another_epoch_has_another_order():
    first, second = (epoch_order(GRAPHS, SHARDS, 8, epoch) for epoch in range(2))
    assert torch.equal(first.sort().values, torch.arange(GRAPHS))
    assert not torch.equal(first, second)
    assert neighbour_correlation(torch.arange(9)) == 1
