"""The geometric random walk kernel."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from lgan.data.raw import RawGraphs
from lgan.zoo.graph_kernels.gram import Grams, Progress, check_labels, normalised
from lgan.zoo.graph_kernels.twin_graphs import TwinGraphs

# Additions of one step of the walks on all product graphs; a core does about 10^9 a second.
LARGEST = 1 << 36
# What is left of the series when it is cut, relative to its sum.
TOLERANCE = 1e-13


def random_walk(
    raw: RawGraphs,
    labels: Tensor,
    *,
    decay: float | None = None,
    progress: Progress | None = None,
) -> Grams:
    r"""The labelled geometric kernel of *On Graph Kernels* (Gärtner, Flach, Wrobel, 2003).

    .. math::
        k(G, H) = \sum_{k=0}^{\infty} \lambda^k\, \mathbf{1}^\top W^k\, \mathbf{1}

    where ``W`` is the adjacency matrix of the product graph: ``(s, t)`` and ``(s', t')`` are
    adjacent if ``ss'`` and ``tt'`` are edges with the same labels at their ends. Walks of length
    0 number ``|G| |H|`` whatever the labels, as in grakel's ``RandomWalkLabeled``, which is the
    same kernel by a solver of linear systems, in Python. Cosine-normalised.

    Power: at most 1-WL, which tells the number of walks with given labels from every node.

    Args:
        raw: The graphs.
        labels: A category for every node ``[N]``.
        decay: The weight ``λ`` of a step. By default the largest power of ten below
            :math:`1/\Delta^2` with the largest degree :math:`\Delta`, with which the series
            converges: the rule of Shervashidze et al., JMLR 2011, and of Zhang et al., DGCNN,
            AAAI 2018, whose figures the tables quote.
        progress: Called with the fraction done.

    Raises:
        ValueError: Where one step on all product graphs takes more than ``2^36`` additions, or
            the series need not converge.
    """
    from lgan.zoo.graph_kernels.random_walk_numba import walk_row

    graphs = TwinGraphs.of(raw, check_labels(labels, raw.num_nodes))
    # Additions of one step: for every label, its classes times what those see.
    label = np.unique(graphs.labels, return_inverse=True)[1]
    work = int(np.bincount(label) @ np.bincount(label, weights=graphs.degree))
    if work > LARGEST:
        raise ValueError(
            f"The kernel 'rw' would take {work:,} additions a step on all product graphs of "
            f"{raw.name}, the limit is {LARGEST:,}. Choose 'sp' or 'wl', or a smaller set."
        )
    largest = int(np.bincount(raw.pair_index.flatten().numpy()).max(initial=0))
    decay = _decay(decay, largest)
    number, near = raw.num_graphs, graphs.near
    of_classes = (graphs.ptr, graphs.size, graphs.labels, near.ptr, near.source)
    gram = np.zeros((number, number))

    def fill(g: int) -> None:
        walk_row(g, *of_classes, decay, TOLERANCE, gram[g])

    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        for g, _ in enumerate(pool.map(fill, range(number))):
            if progress is not None:
                progress(1 - (1 - (g + 1) / number) ** 2)  # later rows are shorter
    gram = np.triu(gram) + np.triu(gram, 1).T
    return Grams(({"decay": decay},), normalised(gram)[None])


def _decay(decay: float | None, largest_degree: int) -> float:
    bound = 1 / max(largest_degree, 1) ** 2
    if decay is None:
        power = int(np.floor(np.log10(bound)))
        return float(10.0**power if 10.0**power < bound else 10.0 ** (power - 1))
    if not 0 < decay < bound:
        raise ValueError(
            f"`decay` must be above 0 and below 1 / (largest degree)² = {bound:.3g}, so that the "
            f"series converges, got {decay}. Leave it out for the largest power of ten below."
        )
    return decay
