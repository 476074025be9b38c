import pytest
import torch

from benchmarks import product as module
from benchmarks.product import WIDTH, compulsory_bytes, gathered_bytes
from lgan.graph import EgoLines
from lgan.ops import ego_sum

K4 = torch.combinations(torch.arange(4)).t()


@pytest.mark.parametrize("peer", ["_csr", "_gather"])
@pytest.mark.parametrize("compress", [False, True])
def test_the_peers_compute_what_we_compute(peer, compress):
    tail = torch.cat([K4, torch.tensor([[3, 4], [4, 5]])], 1)
    lines = EgoLines.from_pairs(tail, 6)
    if compress:
        lines, _ = EgoLines.compressed(tail, 6)
    a = torch.randn(lines.num_nodes, 2 * WIDTH)
    expected = ego_sum(a, lines, WIDTH)
    torch.testing.assert_close(getattr(module, peer)(lines)(a), expected)


def test_compulsory_bytes_of_k4_are_counted_by_hand():
    # 6 pairs and 4 nodes, 12 entries of each matrix; 2 ways, 4 bytes, 2 numbers an entry.
    assert compulsory_bytes(EgoLines.from_pairs(K4, 4)) == 2 * 4 * (2 * 24 + 10 * 128)


def test_every_entry_of_k4_reads_a_row():
    lines = EgoLines.from_pairs(K4, 4)
    assert gathered_bytes(lines) - compulsory_bytes(lines) == 2 * 4 * WIDTH * 24


def test_a_peer_that_computes_something_else_is_refused():
    a = torch.randn(4, 2, requires_grad=True)
    with pytest.raises(ValueError, match="wrong and lgan disagree"):
        module._check_agreement(
            {"lgan": lambda a: 2 * a, "wrong": lambda a: 3 * a}, a, torch.ones(4, 2)
        )
