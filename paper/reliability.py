"""The protocol of BREC: train a network on one pair of graphs, then test it statistically."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cosine_embedding_loss

from lgan.graph import GraphUnion, undirected_pairs

# Size of the vectors that are compared; the threshold belongs to it and to the number of copies.
OUT_CHANNELS = 16
COPIES = 32
THRESHOLD = 72.34
# Added to the variances, as the benchmark advises where copies of a graph give the same bits,
# which they often do here. A difference of outputs then has to reach 0.003 to count.
FLOOR = 1e-7


@dataclass(frozen=True)
class ProtocolConfig:
    """How a network is trained on a pair; the defaults are those of the benchmark.

    Attributes:
        epochs: Passes over the copies at most.
        batch_size: Graphs in a batch.
        lr: Learning rate of Adam, lowered where the loss stays.
        weight_decay: L2 penalty.
        enough: Loss at which training stops.
        seed: Fixes copies and weights.
    """

    epochs: int = 20
    batch_size: int = 16
    lr: float = 1e-4
    weight_decay: float = 1e-4
    enough: float = 0.2
    seed: int = 0


@dataclass(frozen=True)
class Verdict:
    """What the test says of one pair.

    Attributes:
        statistic: Hotelling's statistic between copies of the two graphs, not scaled by their
            number, as the benchmark computes it.
        control: The same between copies of one graph.
    """

    statistic: float
    control: float

    @property
    def reliable(self) -> bool:
        """Whether copies of one graph count as one graph."""
        return self.control < THRESHOLD

    @property
    def separated(self) -> bool:
        """Whether the two graphs count as different, and copies of one do not."""
        return self.statistic > THRESHOLD and self.reliable


def trained_verdicts(
    factory: Callable[[], nn.Module],
    pairs: Sequence[tuple[nx.Graph, nx.Graph]],
    *,
    pair_code: str = "none",
    config: ProtocolConfig | None = None,
) -> Iterator[Verdict]:
    """Train a fresh network on every pair of graphs and test whether it tells them apart.

    Of each pair 32 permuted copies are drawn. The network learns to give the two graphs vectors
    that point apart; then the mean difference between copies of the two is held against its
    spread, and so is that between copies of the first graph.

    Args:
        factory: Builds a network with one node category and :data:`OUT_CHANNELS` outputs.
        pairs: Unlabelled graphs.
        pair_code: Level of structural codes that the network reads.
        config: Settings of the training.

    Example:
        >>> import lgan, networkx as nx
        >>> pair = (nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))
        >>> build = lambda: lgan.LGAN(1, 8, OUT_CHANNELS, num_layers=2)
        >>> next(trained_verdicts(build, [pair])).separated
        True
    """
    config = config or ProtocolConfig()
    for number, (a, b) in enumerate(pairs):
        rng = np.random.default_rng([config.seed, number])
        union = _copies([a, b] * COPIES + [a] * 2 * COPIES, pair_code, rng)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            model = factory()
        apart, alike = torch.arange(4 * COPIES).split(2 * COPIES)
        _train(model, union, apart, config)
        model.eval()
        yield Verdict(_statistic(model, union, apart), _statistic(model, union, alike))


def _copies(graphs: Sequence[nx.Graph], pair_code: str, rng: np.random.Generator) -> GraphUnion:
    """Every graph with its nodes in a random order, as one union."""
    edges: list[NDArray[np.int64]] = []
    sizes: list[int] = []
    for graph in graphs:
        place = dict(zip(graph, rng.permutation(len(graph)).tolist(), strict=True))
        listed = [(place[u], place[v]) for u, v in graph.edges]
        edges.append(np.array(listed, np.int64).reshape(-1, 2) + sum(sizes))
        sizes.append(len(graph))
    nodes = sum(sizes)
    edge_index = torch.from_numpy(np.concatenate(edges).T.copy())
    return GraphUnion.build(
        torch.zeros(nodes, dtype=torch.int64),
        undirected_pairs(edge_index, nodes),
        torch.zeros(len(graphs), dtype=torch.int64),
        torch.tensor([0, *np.cumsum(sizes).tolist()]),
        num_features=1,
        num_classes=OUT_CHANNELS,
        compress=False,
        pair_code=pair_code,
    )


def _train(model: nn.Module, union: GraphUnion, ids: Tensor, config: ProtocolConfig) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr, weight_decay=config.weight_decay)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    batches = [union.batch(part) for part in ids.split(config.batch_size)]
    model.train()
    for _ in range(config.epochs):
        total = 0.0
        for batch in batches:
            optimizer.zero_grad()
            first, second = _two_sides(model(batch))
            target = -torch.ones(first.size(0))
            loss = cosine_embedding_loss(first, second, target)
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) / len(batches)
        if total < config.enough:
            return
        schedule.step(total)


@torch.no_grad()
def _statistic(model: nn.Module, union: GraphUnion, ids: Tensor) -> float:
    """Hotelling's statistic of the differences between the two sides of every couple."""
    first, second = _two_sides(model(union.batch(ids)).double())
    difference = first - second
    mean = difference.mean(0)
    spread = difference.T.cov() + FLOOR * torch.eye(OUT_CHANNELS, dtype=torch.float64)
    return float(mean @ torch.linalg.solve(spread, mean))


def _two_sides(out: Tensor) -> tuple[Tensor, Tensor]:
    return out[0::2], out[1::2]
