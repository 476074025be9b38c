"""The methods that score edges, by name: ours, and those it is compared with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lgan.explain import peers
from lgan.explain.attribution import Explained, explained_by_default, explained_output
from lgan.explain.integrated_gradients import METHOD, integrated_gradients, mask_gradients, unions
from lgan.explain.maskable import MaskableGraph
from lgan.explain.masking import dtype_of, masked_outputs

__all__ = ["METHODS", "MethodSpec", "method_spec"]

Explain = Callable[
    [nn.Module, Sequence[MaskableGraph], Sequence[int], Explained, int], list[Tensor]
]


@dataclass(frozen=True)
class MethodSpec:
    """A method that scores the edges of graphs.

    Attributes:
        explain: Called with a model in evaluation mode, graphs on its device, the class to explain
            for each, what is explained of it and a seed; gives a score for every undirected edge
            of every graph. Larger means more important for the class. A method that learns from
            many graphs learns from these.
        random: Whether the scores depend on the seed.
        reference: Where it comes from.
        instead: What the scores speak of where that is not what :func:`lgan.attribute` was asked
            for (``of``).
    """

    explain: Explain
    random: bool
    reference: str
    instead: str = ""

    def checked_of(self, of: Explained | None, num_outputs: int) -> Explained:
        """What is explained, the default unless asked for, or an error if the method cannot."""
        default = explained_by_default(num_outputs)
        if self.instead and of not in (None, default):
            raise ValueError(
                f"This method cannot explain of={of!r}: its scores speak of {self.instead}. "
                "Leave `of` out, or use the method 'integrated-gradients' or 'gradient'."
            )
        return of or default


def _integrated_gradients(
    model: nn.Module,
    graphs: Sequence[MaskableGraph],
    targets: Sequence[int],
    of: Explained,
    seed: int,
) -> list[Tensor]:
    found = integrated_gradients(model, graphs, targets, of=of)
    return [each.undirected()[1] for each in found]


def _gradient(
    model: nn.Module,
    graphs: Sequence[MaskableGraph],
    targets: Sequence[int],
    of: Explained,
    seed: int,
) -> list[Tensor]:
    """The gradient in the mask at the full graph: one point of the path instead of many."""
    scores: list[Tensor] = []
    for union in unions(graphs, 1):
        if union.num_pairs == 0:
            scores += [torch.zeros(0, dtype=dtype_of(model)) for _ in union.graphs]
            continue
        mask = torch.ones(
            1, union.num_pairs, dtype=dtype_of(model), device=union.pair_ptr.device
        ).requires_grad_()
        side_mask = union.batch.lines.side_product(mask)
        outputs = masked_outputs(model, union, mask, side_mask)[0]
        wanted = torch.tensor(targets[len(scores) : len(scores) + len(outputs)])
        chosen = explained_output(outputs, wanted.to(outputs.device), of)
        by_pair, _ = mask_gradients(model, chosen, mask, side_mask)
        scores += by_pair[0].split(torch.diff(union.pair_ptr).tolist())
    return scores


def _random(
    model: nn.Module,
    graphs: Sequence[MaskableGraph],
    targets: Sequence[int],
    of: Explained,
    seed: int,
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(graph.num_pairs, generator=generator) for graph in graphs]


def _degree(
    model: nn.Module,
    graphs: Sequence[MaskableGraph],
    targets: Sequence[int],
    of: Explained,
    seed: int,
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
        instead="the probability of the class",
    ),
    "pg-explainer": MethodSpec(
        explain=peers.pg_explainer,
        random=True,
        reference="Luo et al., Parameterized Explainer for GNN, NeurIPS 2020; PyG's implementation",
        instead="the probability of the class",
    ),
    "random": MethodSpec(
        explain=_random, random=True, reference="uniform noise", instead="no output of the model"
    ),
    "degree": MethodSpec(
        explain=_degree,
        random=False,
        reference="edges that touch many others",
        instead="no output of the model",
    ),
}


def method_spec(name: str) -> MethodSpec:
    """The entry of a method, or an error that lists the names."""
    if name not in METHODS:
        raise ValueError(f"Unknown method {name!r}. Choose one of: {', '.join(METHODS)}.")
    return METHODS[name]
