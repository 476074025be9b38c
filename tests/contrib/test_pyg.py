"""The layer that is offered to PyG equals ours."""

from itertools import product
from pathlib import Path

import networkx as nx
import pytest
import torch
from torch_geometric import nn, transforms
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_undirected

import lgan
import reference
from contrib.pyg import conftest  # puts the two names into PyG

ROOT = Path(conftest.__file__).parent
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
OPTIONS = list(
    product((False, True), ("deepsets", "linear"), ("concat", "sum", "mean", "gate"), (None, 3))
)


def _copy(ours: lgan.LGANConv, theirs: nn.LGANConv) -> None:
    """Give their layer the parameters and statistics of ours."""
    width = ours.out_channels
    halves = {"target": slice(width), "neighbor": slice(width, None)}
    linear = {"lin_fuse": ours.fuse, "lin_out": ours.out}
    linear |= {"lin_res": ours.residual, "lin_gate": ours.gate}
    state = {}
    for name, map_ in linear.items():
        if map_ is not None:
            state[f"{name}.weight"] = map_.weight.T
            if map_.bias is not None:
                state[f"{name}.bias"] = map_.bias
    for name, half in halves.items():
        state[f"lin_{name}.weight"] = ours.pair.weight[:, half].T
        state[f"lin_{name}.bias"] = ours.pair.bias[half]
        if ours.edge is not None:
            state[f"lin_edge_{name}.weight"] = ours.edge.weight[:, half].T
    for name, norm in (("norm_fuse", ours.norm), ("norm_out", ours.out_norm)):
        state[f"{name}.weight"], state[f"{name}.bias"] = norm.scale, norm.shift
        state[f"{name}.running_mean"], state[f"{name}.running_var"] = norm.running
        state[f"{name}.num_batches_tracked"] = torch.tensor(0)
    theirs.load_state_dict(state)


def _batch() -> Batch:
    """Random graphs, a tree, nodes without edges, and one node alone."""
    graphs = [nx.gnp_random_graph(9, p, seed=int(10 * p)) for p in (0.2, 0.5, 0.9)]
    graphs += [nx.star_graph(4), nx.empty_graph(3), nx.empty_graph(1)]
    found = []
    for graph in graphs:
        edges = reference.edge_index(graph)
        edges, attr = to_undirected(
            edges, torch.randn(edges.size(1), 3).double(), len(graph), reduce="mean"
        )
        x = torch.randn(len(graph), 4).double()
        found.append(transforms.EgoLineGraph()(Data(x, edges, attr)))
    return Batch.from_data_list(found)


@pytest.mark.parametrize(("residual", "comb", "fusion", "edge_dim"), OPTIONS)
def test_outputs_gradients_and_statistics_are_ours(residual, comb, fusion, edge_dim):
    torch.manual_seed(1)
    options = {"residual": residual, "comb": comb, "fusion": fusion, "edge_dim": edge_dim}
    ours = lgan.LGANConv(4, 5, **options).double()
    theirs = nn.LGANConv(4, 5, **options).double()
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter)
    _copy(ours, theirs)
    batch = _batch()
    edges = (batch.edge_attr, batch.ego_line_attr) if edge_dim else ()
    for training in (True, False):  # then by the statistics of the first pass
        ours.train(training), theirs.train(training)
        mine, other = (batch.x.clone().requires_grad_() for _ in range(2))
        expected = ours(mine, batch.edge_index, *edges[:1])
        got = theirs(other, batch.edge_index, batch.ego_line_index, *edges)
        torch.testing.assert_close(got, expected, **CLOSE)
        direction = torch.randn_like(got)
        (expected * direction).sum().backward()
        (got * direction).sum().backward()
        torch.testing.assert_close(other.grad, mine.grad, **CLOSE)
    weights = (theirs.lin_target.weight.grad, theirs.lin_neighbor.weight.grad)
    torch.testing.assert_close(torch.cat(weights).T, ours.pair.weight.grad, **CLOSE)


def test_the_contribution_is_plain_torch_and_small():
    files = sorted(p for p in ROOT.rglob("*.py") if p.name != "conftest.py")
    assert len(files) == 4
    for path in files:
        lines = path.read_text().splitlines()
        assert len(lines) <= 200
        assert all(len(line) < 80 for line in lines), path
        imports = [line for line in lines if line.startswith(("import ", "from "))]
        roots = {line.split()[1].split(".")[0] for line in imports}
        assert roots <= {"torch", "torch_geometric", "typing", "pytest"}, path
