import pytest
import torch

from lgan.data import load_raw
from paper.ground_truth import nitro_and_amino

C, O, H, N = 0, 1, 3, 4  # noqa: E741


def truth(atoms: list[int], bonds: list[tuple[int, int]]) -> list[bool]:
    return nitro_and_amino(torch.tensor(atoms), torch.tensor(bonds).t()).tolist()


def test_both_bonds_of_a_nitro_group_count_and_the_one_that_holds_it_does_not():
    assert truth([C, N, O, O], [(0, 1), (1, 2), (1, 3)]) == [False, True, True]


def test_both_bonds_of_an_amino_group_count():
    assert truth([C, N, H, H], [(0, 1), (1, 2), (1, 3)]) == [False, True, True]


def test_other_nitrogens_do_not_count():
    nh3 = truth([N, H, H, H], [(0, 1), (0, 2), (0, 3)])
    nh = truth([C, N, H, C], [(0, 1), (1, 2), (1, 3)])
    nitrite = truth([C, O, N, O], [(0, 1), (1, 2), (2, 3)])  # C-O-N=O: one oxygen goes on
    assert nh3 == [False] * 3
    assert nh == [False] * 3
    assert nitrite == [False] * 3


def test_a_molecule_without_bonds_has_no_truth():
    empty = torch.zeros(2, 0, dtype=torch.int64)
    assert nitro_and_amino(torch.tensor([C]), empty).shape == (0,)


@pytest.mark.data
def test_a_quarter_of_the_mutagens_has_such_a_group(mirror, tmp_path):
    raw = load_raw("Mutagenicity", root=tmp_path, mirror=mirror)
    assert raw.node_labels is not None
    bonds = nitro_and_amino(raw.node_labels, raw.pair_index)
    graph = torch.searchsorted(raw.node_ptr, raw.pair_index[0, bonds], right=True) - 1
    having = torch.zeros(raw.num_graphs, dtype=torch.bool)
    having[graph] = True
    assert int(having.sum()) == 1366
    assert int(having[raw.y == 0].sum()) == 1017
