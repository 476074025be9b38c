"""The methods that score edges, nodes or fragments, by name."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from lgan.catalogue import known
from lgan.explain import peers, removal
from lgan.explain.integrated_gradients import (
    METHOD,
    absolute_gradient,
    gradient,
    integrated_gradients,
    outputs_at_ends,
)
from lgan.explain.path import Path
from lgan.explain.question import Explained, Found, Over, Question

# Chosen on a development suite of rules, see docs/explanations.md.
DEFAULT = "consensus"
# Its integral is one of two voices and need not add up to the last digit.
SHORT = Path(steps=8, max_steps=8)
# How far it may be scaled so that it does.
FARTHEST = 4.0


@dataclass(frozen=True)
class MethodSpec:
    """A method that scores parts of graphs.

    Attributes:
        explain: Called with the question, the model in evaluation mode; gives what it found for
            every graph. Larger scores mean more important for what is explained. A method that
            learns from many graphs learns from these.
        reference: Where it comes from.
        random: Whether the scores depend on the seed.
        over: What it can take away.
        instead: What the scores speak of where that is not what :func:`lgan.attribute` was asked
            for (``of``).
    """

    explain: Callable[[Question], list[Found]]
    reference: str
    random: bool = False
    over: tuple[Over, ...] = ("edges",)
    instead: str = ""

    def check(self, name: str, of: Explained | None, default: Explained, over: str) -> None:
        """Raise an error unless the method can explain this."""
        if self.instead and of not in (None, default):
            raise ValueError(
                f"This method cannot explain of={of!r}: its scores speak of {self.instead}. "
                "Leave `of` out, or use the method 'integrated-gradients' or 'gradient'."
            )
        if over not in self.over:
            raise ValueError(
                f"`over` must be one of {', '.join(self.over)} for the method {name!r}, got "
                f"{over!r}. Use the method 'leave-one-out' or 'shapley' for others."
            )


def _consensus(question: Question) -> list[Found]:
    """The mean of Integrated Gradients and of leaving one edge out, scaled so that it adds up.

    The first follows what an edge adds as the graph is built up, and where two parts are needed
    may credit the one that comes last alone. The second sees both, but neither of two parts that
    can stand in for each other; see :func:`heard` for what counts of it where log-odds are
    explained.
    """
    ends = question.ends or outputs_at_ends(question.model, question.graphs)
    integral = integrated_gradients(replace(question, path=SHORT, ends=ends))
    found = []
    for i, (one, other) in enumerate(zip(integral, removal.leave_one_out(question), strict=True)):
        values = question.values(ends[i], question.targets[i])  # [K, 2]
        lost = other.pairs
        if question.of == "log-odds":
            lost = heard(lost, one.pairs, values[:, 1:])
        both = (one.pairs + lost) / 2
        before, after = values.mean(0).tolist()
        # One factor for all members keeps their order and their zeros. Where the sum has the other
        # sign or another size there is none, and the scores do not claim to add up.
        factor = (after - before) / (float(both.mean(0).sum()) or torch.nan)
        fits = 1 / FARTHEST < factor < FARTHEST
        found.append(
            Found(both * factor if fits else both, sums=fits, steps=one.steps + other.steps)
        )
    return found


def heard(lost: Tensor, integral: Tensor, log_odds: Tensor) -> Tensor:
    """What counts of the losses without each part, beside what the integral says of it.

    A loss counts until the prediction turns: how far it goes to the other side says more of the
    model there than of the part, and would make other parts look small that are needed as much.
    Where the prediction becomes surer without a part that speaks for it by the integral, the
    integral stands alone: what remains is a graph like none of the training, a nitro group with one
    oxygen, and says little of the part.

    Args:
        lost: What the log-odds lose with each part ``[K, P]``; negative where they rise.
        integral: The scores of the parts by Integrated Gradients ``[K, P]``.
        log_odds: With all parts ``[K, 1]``; which class they are of changes nothing but the sign.

    Example:
        >>> lost, integral = torch.tensor([[1.0, 9.0, -9.0, -9.0]]), torch.tensor([[1.0, 1, 1, -1]])
        >>> heard(lost, integral, torch.tensor([[3.0]])).tolist()
        [[1.0, 3.0, 1.0, -9.0]]
    """
    side = torch.where(log_odds > 0, 1.0, -1.0).to(lost.dtype)
    against, speaks = side * lost < 0, side * integral > 0
    return torch.where(
        against & speaks, integral, side * torch.minimum(side * lost, log_odds.abs())
    )


def _random(question: Question) -> list[Found]:
    generator = torch.Generator().manual_seed(question.seed)
    return [Found(torch.rand(1, g.num_pairs, generator=generator)) for g in question.graphs]


def _degree(question: Question) -> list[Found]:
    """The number of edges that an edge touches."""
    found = []
    for graph in question.graphs:
        ends = graph.lines.pair_index.long()
        degree = torch.bincount(ends.flatten(), minlength=graph.num_nodes)
        found.append(Found((degree[ends].sum(0, keepdim=True) - 2).to(torch.float32)))
    return found


METHODS: dict[str, MethodSpec] = {
    "consensus": MethodSpec(
        explain=_consensus,
        reference="the mean of `integrated-gradients` and of `leave-one-out`, which counts until "
        "the prediction turns, and not where it grows without what speaks for it, scaled to add up",
    ),
    METHOD: MethodSpec(
        explain=integrated_gradients,
        reference="Sundararajan et al., Axiomatic Attribution for Deep Networks, ICML 2017",
    ),
    "gradient": MethodSpec(
        explain=gradient,
        reference="Simonyan et al., Deep Inside Convolutional Networks, 2014, for edges",
    ),
    "absolute-gradient": MethodSpec(
        explain=absolute_gradient,
        reference="the size of the gradient, without its sign",
    ),
    "leave-one-out": MethodSpec(
        explain=removal.leave_one_out,
        reference="what is lost with each part alone",
        over=("edges", "nodes", "fragments"),
    ),
    "shapley": MethodSpec(
        explain=removal.shapley,
        random=True,
        reference="Shapley, A Value for n-Person Games, 1953; drawn orders with their reverses",
        over=("edges", "nodes", "fragments"),
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
        reference="edges that touch many others",
        instead="no output of the model",
    ),
}


def method_spec(name: str) -> MethodSpec:
    """The entry of a method, or an error that names the nearest."""
    return METHODS[known(name, METHODS, "method")]
