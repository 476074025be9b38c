"""The methods that score edges, by name: ours, and those it is compared with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lgan.explain import peers
from lgan.explain.attribution import explained_output
from lgan.explain.integrated_gradients import METHOD, integrated_gradients, mask_gradients, unions
from lgan.explain.masking import dtype_of, masked_outputs
from lgan.explain.subject import Subject

__all__ = ["METHODS", "MethodSpec", "method_spec"]

Explain = Callable[[nn.Module, Sequence[Subject], Sequence[int], int], list[Tensor]]


@dataclass(frozen=True)
class MethodSpec:
    """A method that scores the edges of graphs.

    Attributes:
        explain: Called with a model in evaluation mode, graphs on its device, the class to explain
            for each and a seed; gives a score for every undirected edge of every graph. Larger
            means more important for the class; gradients are those of its log-odds. A method that
            learns from many graphs learns from these.
        random: Whether the scores depend on the seed.
        reference: Where it comes from.
    """

    explain: Explain
    random: bool
    reference: str


def _integrated_gradients(
    model: nn.Module, graphs: Sequence[Subject], targets: Sequence[int], seed: int
) -> list[Tensor]:
    found = integrated_gradients(model, graphs, targets, of="log-odds")
    return [each.undirected()[1] for each in found]


def _gradient(
    model: nn.Module, graphs: Sequence[Subject], targets: Sequence[int], seed: int
) -> list[Tensor]:
    """The gradient in the mask at the full graph: one point of the path instead of many."""
    scores: list[Tensor] = []
    for union in unions(graphs, 1):
        if union.num_pairs == 0:
            scores += [torch.zeros(0, dtype=dtype_of(model)) for _ in union.subjects]
            continue
        mask = torch.ones(
            1, union.num_pairs, dtype=dtype_of(model), device=union.pair_ptr.device
        ).requires_grad_()
        side_mask = union.batch.lines.side_product(mask)
        outputs = masked_outputs(model, union, mask, side_mask)[0]
        wanted = torch.tensor(targets[len(scores) : len(scores) + len(outputs)])
        chosen = explained_output(outputs, wanted.to(outputs.device), "log-odds")
        by_pair, _ = mask_gradients(model, chosen, mask, side_mask)
        scores += by_pair[0].split(torch.diff(union.pair_ptr).tolist())
    return scores


def _random(
    model: nn.Module, graphs: Sequence[Subject], targets: Sequence[int], seed: int
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(graph.num_pairs, generator=generator) for graph in graphs]


def _degree(
    model: nn.Module, graphs: Sequence[Subject], targets: Sequence[int], seed: int
) -> list[Tensor]:
    """The number of edges that an edge touches."""
    scores = []
    for graph in graphs:
        ends = graph.lines.pair_index.long()
        degree = torch.bincount(ends.flatten(), minlength=graph.num_nodes)
        scores.append((degree[ends].sum(0) - 2).to(torch.float32))
    return scores


METHODS: dict[str, MethodSpec] = {
    METHOD: MethodSpec(
        explain=_integrated_gradients,
        random=False,
        reference="Sundararajan et al., Axiomatic Attribution for Deep Networks, ICML 2017",
    ),
    "gradient": MethodSpec(
        explain=_gradient,
        random=False,
        reference="Simonyan et al., Deep Inside Convolutional Networks, 2014, for edges",
    ),
    "gnn-explainer": MethodSpec(
        explain=peers.gnn_explainer,
        random=True,
        reference="Ying et al., GNNExplainer, NeurIPS 2019; PyG's implementation",
    ),
    "pg-explainer": MethodSpec(
        explain=peers.pg_explainer,
        random=True,
        reference="Luo et al., Parameterized Explainer for GNN, NeurIPS 2020; PyG's implementation",
    ),
    "random": MethodSpec(explain=_random, random=True, reference="uniform noise"),
    "degree": MethodSpec(explain=_degree, random=False, reference="edges that touch many others"),
}


def method_spec(name: str) -> MethodSpec:
    """The entry of a method, or an error that lists the names."""
    if name not in METHODS:
        raise ValueError(f"Unknown method {name!r}. Choose one of: {', '.join(METHODS)}.")
    return METHODS[name]
