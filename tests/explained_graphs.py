"""Random graphs and models for the tests of explanations."""

import networkx as nx
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.transforms import ToUndirected

import laws
import lgan


def random_graph(seed: int = 0, nodes: int = 10, p: float = 0.5) -> Data:
    """A graph with three real features, in float64."""
    shape = nx.gnp_random_graph(nodes, p, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    data = laws.data(shape, torch.randn(nodes, 3, generator=generator, dtype=torch.float64))
    return ToUndirected()(data)


def shake(model: nn.Module) -> nn.Module:
    """Running statistics that are not those of a fresh model, in float64, evaluation mode."""
    for module in model.modules():
        if isinstance(module, lgan.nn.norm.BatchNorm):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            nn.init.normal_(module.shift)
    return model.double().eval()
