"""A layer by blocks of nodes is the layer on the whole graph."""

import pytest
import torch

from lgan.nn.blocks import _blocks, conv_by_blocks
from lgan.nn.lgan_conv import LGANConv

OPTIONS = [
    {"residual": True},
    {"norm": "layer", "squash": True, "fusion": "gate"},
    {"comb": "linear", "branches": "target"},
    {"edge_dim": 3, "edge_reduce": "mean"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o))
@pytest.mark.parametrize("entries", [1, 300, 1 << 20])
def test_blocks_are_exact(options, entries):
    torch.manual_seed(0)
    nodes, edges = 120, torch.randint(120, (2, 700))
    edges = edges[:, edges[0] % 40 != 7]  # and some nodes have few neighbours, or none
    x = torch.randn(nodes, 5, dtype=torch.float64)
    conv = LGANConv(5, 6, **options).double()
    attr = torch.randn(edges.size(1), 3, dtype=torch.float64) if "edge_dim" in options else None
    conv(x, edges, attr)  # statistics that are not those of the beginning
    conv.eval()
    with torch.no_grad():
        whole = conv(x, edges, attr)
    found = conv_by_blocks(conv, x, edges, attr, entries=entries)
    torch.testing.assert_close(found, whole, rtol=1e-12, atol=1e-12)


def test_blocks_cover_all_nodes_within_their_entries():
    star = torch.tensor([0, 3, 4, 5, 6, 6])  # a star of three rays and a node alone
    blocks = list(_blocks(star, torch.tensor([1, 2, 3, 0, 0, 0]), 6))
    assert [tuple(block) for block in blocks] == [(0, 1), (2, 3, 4)]
    assert [len(b) for b in _blocks(star, torch.tensor([1, 2, 3, 0, 0, 0]), 1)][:2] == [1, 1]


def test_layers_that_look_further_are_refused():
    x, edges = torch.randn(3, 2), torch.tensor([[0, 1], [1, 2]])
    with pytest.raises(ValueError, match="got training mode"):
        conv_by_blocks(LGANConv(2, 3), x, edges)
    with pytest.raises(ValueError, match="got the code 'full'"):
        conv_by_blocks(LGANConv(2, 3, pair_code="full").eval(), x, edges)
    with pytest.raises(ValueError, match="got a directed layer"):
        conv_by_blocks(LGANConv(2, 3, directed=True).eval(), x, edges)
