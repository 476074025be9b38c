"""How good edge scores are: against a known truth, against the model, and against themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lgan.explain.deletion import Players, remaining_outputs
from lgan.explain.maskable import MaskableGraph
from lgan.explain.question import Question


def edge_auc(scores: Sequence[Tensor], truths: Sequence[Tensor]) -> tuple[float, float]:
    """Area under the ROC curve of edge scores against the edges that count, in two conventions.

    Returns:
        All edges of all graphs in one curve (the convention of GNNExplainer and PGExplainer),
        and the mean over the graphs that have edges of both kinds. NaN where there are none.

    Example:
        >>> edge_auc([torch.tensor([3.0, 1.0, 2.0])], [torch.tensor([True, False, True])])
        (1.0, 1.0)
    """
    from sklearn.metrics import roc_auc_score

    def area(s: Tensor, t: Tensor) -> float:
        both = 0 < int(t.sum()) < t.numel()
        return float(roc_auc_score(t.cpu().numpy(), s.cpu().numpy())) if both else float("nan")

    single = [area(s, t) for s, t in zip(scores, truths, strict=True)]
    defined = [each for each in single if each == each]
    mean = sum(defined) / len(defined) if defined else float("nan")
    return area(torch.cat(list(scores)), torch.cat(list(truths))), mean


def kept_edges(scores: Tensor, sparsity: float) -> Tensor:
    """The edges an explanation consists of: the best share ``1 - sparsity`` of them, ``[P]`` bool.

    At least one edge, where there are any; among equal scores the first.
    """
    kept = torch.zeros(scores.numel(), dtype=torch.bool, device=scores.device)
    count = max(1, round((1 - sparsity) * scores.numel())) if scores.numel() else 0
    kept[torch.argsort(scores, descending=True, stable=True)[:count]] = True
    return kept


@dataclass(frozen=True)
class Faithfulness:
    """What becomes of a prediction when only, or all but, the best edges are left.

    Attributes:
        sparsities: Share of the edges that is not part of the explanation.
        plus: Fidelity+: how far the probability of the class falls without the explanation; the
            more the better. Mean over graphs, one number for each sparsity.
        minus: Fidelity-: how far it falls when nothing else is left; the less the better.
        unfaithfulness: ``1 - exp(-KL(p || q))`` for the predictions of the graph and of the
            explanation alone (Agarwal et al., 2023); the less the better.
    """

    sparsities: tuple[float, ...]
    plus: tuple[float, ...]
    minus: tuple[float, ...]
    unfaithfulness: tuple[float, ...]


@torch.no_grad()
def faithfulness(
    model: nn.Module,
    graphs: Sequence[MaskableGraph],
    scores: Sequence[Tensor],
    targets: Sequence[int],
    sparsities: Sequence[float] = (0.5, 0.6, 0.7, 0.8, 0.9),
) -> Faithfulness:
    """Fidelity and unfaithfulness of edge scores, by deleting edges.

    Args:
        model: The model, in evaluation mode.
        graphs: Graphs on its device; those without edges are left out.
        scores: Score of every undirected edge.
        targets: Class explained.
        sparsities: Shares of the edges that are not part of the explanation.
    """
    wrong = [s for s in sparsities if not 0 <= s < 1]
    if wrong:
        raise ValueError(f"`sparsities` must lie between 0 and 1, 1 excluded, got {wrong[0]}.")
    triples = [t for t in zip(graphs, scores, targets, strict=True) if t[0].num_pairs]
    question = Question(model, [graph for graph, _, _ in triples], [t for *_, t in triples])
    players = [Players.of(question, g) for g in range(len(triples))]
    absent = []
    for graph, score, _ in triples:
        kept = torch.stack([kept_edges(score.to(graph.edge_index.device), s) for s in sparsities])
        absent.append(torch.cat([torch.zeros_like(kept[:1]), kept, ~kept]))
    found = remaining_outputs(question, players, absent)
    rows = [_drops(out.mean(0), t) for out, (_, _, t) in zip(found, triples, strict=True)]
    mean = torch.stack(rows).mean(0) if rows else torch.full((3, len(sparsities)), torch.nan)
    plus, minus, unfaithful = (tuple(row.tolist()) for row in mean)
    return Faithfulness(tuple(sparsities), plus, minus, unfaithful)


def _drops(outputs: Tensor, target: int) -> Tensor:
    """Fidelity+, fidelity- and unfaithfulness ``[3, sparsities]`` of one graph.

    Args:
        outputs: For the graph, then without, then with only the explanation ``[1 + 2 s, C]``.
        target: The class explained.
    """
    chance = outputs.double().log_softmax(-1)
    of_class, half = chance[:, target].exp(), len(chance) // 2
    whole, alone = chance[:1], chance[1 + half :]
    divergence = (whole.exp() * (whole - alone)).sum(-1)
    drops = of_class[:1] - of_class[1:]
    return torch.stack([drops[:half], drops[half:], 1 - torch.exp(-divergence)]).cpu()


def stability(first: Sequence[Tensor], second: Sequence[Tensor]) -> float:
    """Mean rank correlation (Spearman) of two sets of scores of the same graphs.

    1 where both order the edges of every graph alike. Graphs with fewer than two edges, or with
    equal scores only, are left out.
    """
    from scipy.stats import spearmanr

    found = [
        float(spearmanr(a.cpu().numpy(), b.cpu().numpy()).statistic)
        for a, b in zip(first, second, strict=True)
        if min(len(a.unique()), len(b.unique())) > 1
    ]
    return sum(found) / len(found) if found else float("nan")
