"""A random network with structural codes on its edges separates what the refinement does."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from lgan import wl
from lgan.data.pairs import load_brec
from lgan.graph import undirected_pairs
from lgan.graph.named import named_graph
from lgan.graph.pair_codes import LEVELS, pair_codes

WIDTH = 16


def coded(level: str) -> Callable[[Data], Data]:
    """Add the code of every edge: logarithms of the counts, and the bits of the colour."""
    counts = sum(name != "C" for name in LEVELS[level])

    def transform(data: Data) -> Data:
        data = data.clone()
        data.pair_index = undirected_pairs(data.edge_index, data.num_nodes)
        code = pair_codes(data.pair_index, data.num_nodes, level)
        bits = (code[:, counts:] >> torch.arange(63)) & 1 if "C" in LEVELS[level] else code[:, :0]
        data.code = torch.cat([code[:, :counts].double().log1p(), bits.double()], 1)
        return data

    return transform


class CodedNetwork(nn.Module):
    """Message passing with ``tanh(W h_p + MLP(code_tp))`` along every edge."""

    def __init__(self, level: str, num_layers: int = 4) -> None:
        super().__init__()
        columns = sum(63 if name == "C" else 1 for name in LEVELS[level])
        self.code = nn.Sequential(nn.Linear(columns, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))
        self.send = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(num_layers))
        self.update = nn.ModuleList(nn.Linear(2 * WIDTH, WIDTH) for _ in range(num_layers))
        self.head = nn.Linear(num_layers * WIDTH, WIDTH)

    def forward(self, data: Data) -> Tensor:
        (u, v), code = data.pair_index, self.code(data.code)
        h = torch.ones(data.num_nodes, WIDTH, dtype=torch.float64)
        levels = []
        for send, update in zip(self.send, self.update, strict=True):
            z = send(h)
            seen = torch.zeros_like(h)
            seen.index_add_(0, u, torch.tanh(z[v] + code))
            seen.index_add_(0, v, torch.tanh(z[u] + code))
            h = torch.tanh(update(torch.cat([h, seen], 1)))
            levels.append(h)
        return self.head(torch.cat(levels, 1).sum(0))


@pytest.mark.parametrize("level", ["triangles", "cycles", "full", "claws", "local", "folklore"])
def test_a_random_network_separates_named_pairs_as_its_code_does(level: str) -> None:
    names = [("prism", "k33"), ("cube", "wagner"), ("rook4x4", "shrikhande")]
    names += [("decalin", "bicyclopentyl"), ("csl(11,3)", "csl(11,2)")]
    pairs = [(named_graph(a), named_graph(b)) for a, b in names]
    test = {"triangles": "edge-t", "cycles": "edge-tq", "full": "code"}.get(level, f"code-{level}")
    expected = tuple(wl.distinguishes(*pair, test=test) for pair in pairs)
    result = wl.check(CodedNetwork(level), pairs, transform=coded(level), test=test)
    assert result.separated == expected
    assert result.beyond == ()


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(("level", "total"), [("full", 275), ("claws", 291), ("local", 320)])
def test_a_random_network_reaches_the_counts_on_brec(
    brec_folder: Path, level: str, total: int
) -> None:
    results = [
        wl.check(CodedNetwork(level), pairs, transform=coded(level), copies=1)
        for pairs in load_brec(brec_folder).values()
    ]
    assert sum(result.num_separated for result in results) == total
    assert max(result.largest_control for result in results) < 1e-13
