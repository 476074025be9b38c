"""Scores by taking things away: leaving one out, and Shapley values."""

from math import factorial

import torch
from torch import Tensor

from lgan.explain.deletion import Players, remaining_outputs
from lgan.explain.question import Found, Question

# Players up to which all coalitions are looked at.
EXACT = 12


def leave_one_out(question: Question) -> list[Found]:
    r"""What the explained output loses with every edge, node or fragment alone.

    .. math:: s_i = f(G) - f(G \setminus i)
    """
    players = _players(question)
    # Nobody absent, then every player alone [F + 1, F].
    cases = [
        torch.eye(len(p) + 1, len(p), dtype=torch.bool, device=p.pairs.device).roll(1, 0)
        for p in players
    ]
    found = []
    for own, values in zip(players, _ask(question, players, cases), strict=True):
        scores = values[:, :1] - values[:, 1:]
        found.append(_found(question, own, scores, steps=len(own)))
    return found


def shapley(question: Question) -> list[Found]:
    r"""Shapley values of edges, nodes or fragments.

    .. math:: s_i = \mathbb{E}\,[f(G_{S \cup i}) - f(G_S)]

    where :math:`S` are the players before :math:`i` in an order drawn at random. Up to 12 players
    the mean is over all orders. Above it is over some, each with its reverse: in the pair an error
    to one side is made up for by one to the other. The standard error is that over the pairs.
    """
    players = _players(question)
    draw = torch.Generator().manual_seed(question.seed)
    orders = [None if len(p) <= EXACT else _orders(len(p), question.samples, draw) for p in players]
    present = []  # the distinct coalitions, and where each that is needed is among them
    for own, order in zip(players, orders, strict=True):
        if order is None:
            everyone = _coalitions(len(own))
            present.append((everyone, torch.arange(len(everyone))))
        else:
            present.append(torch.unique(_prefixes(order), dim=0, return_inverse=True))
    absent = [~rows.to(p.pairs.device) for (rows, _), p in zip(present, players, strict=True)]
    asked = _ask(question, players, absent)
    found = []
    for own, order, (rows, place), seen in zip(players, orders, present, asked, strict=True):
        values = seen[:, place.to(seen.device)]
        error = None
        if order is None:
            scores = _exact(values, len(own))
        else:
            scores, error = _sampled(values, order.to(seen.device))
        nobody = (~rows).all(1).nonzero()[0]
        baseline = seen[:, nobody.to(seen.device)][:, 0]
        found.append(_found(question, own, scores, baseline=baseline, error=error, steps=len(rows)))
    return found


def _ask(question: Question, players: list[Players], absent: list[Tensor]) -> list[Tensor]:
    """What is explained, for every graph without some of its players ``[K, S]``."""
    found = remaining_outputs(question, players, absent)
    return [question.values(out, t) for out, t in zip(found, question.targets, strict=True)]


def _players(question: Question) -> list[Players]:
    return [Players.of(question, g) for g in range(len(question.graphs))]


def _coalitions(players: int) -> Tensor:
    """All sets of players; player ``i`` is bit ``i`` of the row number ``[2^F, F]``."""
    number = torch.arange(1 << players)[:, None]
    return (number >> torch.arange(players)) & 1 == 1


def _exact(values: Tensor, players: int) -> Tensor:
    """Shapley values from the values of all coalitions, ``[K, 2^F]`` to ``[K, F]``."""
    present = _coalitions(players).to(values.device)
    size, total = present.sum(1), factorial(players)
    weight = torch.tensor(
        [factorial(k) * factorial(players - k - 1) / total for k in range(players)],
        dtype=torch.float64,
    ).to(values)
    scores = values.new_zeros(len(values), players)
    for i in range(players):
        without = (~present[:, i]).nonzero().flatten()
        gain = values[:, without + (1 << i)] - values[:, without]
        scores[:, i] = gain @ weight[size[without]]
    return scores


def _orders(players: int, samples: int, draw: torch.Generator) -> Tensor:
    """Random orders, each followed by its reverse ``[samples, F]``."""
    found = [torch.randperm(players, generator=draw) for _ in range(max(2, samples // 2))]
    return torch.stack([turned for order in found for turned in (order, order.flip(0))])


def _prefixes(orders: Tensor) -> Tensor:
    """The players that are there as an order is gone through ``[samples (F + 1), F]``."""
    _samples, players = orders.shape
    rank = torch.argsort(orders, 1)
    return (rank[:, None, :] < torch.arange(players + 1)[:, None]).flatten(0, 1)


def _sampled(values: Tensor, orders: Tensor) -> tuple[Tensor, Tensor]:
    """Mean gains ``[K, F]``, and the standard error of their mean over members ``[F]``."""
    samples, players = orders.shape
    gain = values.unflatten(1, (samples, players + 1)).diff(dim=2)  # [K, samples, F], by place
    by_player = torch.zeros_like(gain).scatter(2, orders.expand_as(gain), gain)
    pairs = by_player.unflatten(1, (-1, 2)).mean(2)  # an order and its reverse
    error = pairs.mean(0).std(0) / pairs.size(1) ** 0.5
    return pairs.mean(1), error


def _found(
    question: Question,
    players: Players,
    scores: Tensor,
    *,
    baseline: Tensor | None = None,
    error: Tensor | None = None,
    steps: int = 0,
) -> Found:
    """Scores of players, and of the edges they share them with."""
    return Found(
        pairs=scores @ players.share.to(scores),
        nodes=scores if question.over == "nodes" else None,
        fragments=scores if question.over == "fragments" else None,
        baseline=baseline,
        sums=baseline is not None,
        error=error,
        steps=steps,
    )
