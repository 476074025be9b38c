"""Gram matrices from counts of colours: what all kernels of the zoo share."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lgan.graph.interning import Colours, intern_tuples
from lgan.wl.refinement import Colouring

Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Grams:
    """Gram matrices of one kernel with several settings, to choose from by training data alone.

    Attributes:
        candidates: The settings of each matrix.
        matrices: One symmetric, positive semi-definite matrix each ``[M, G, G]``.
    """

    candidates: tuple[dict[str, Any], ...]
    matrices: NDArray[np.float64]

    def __post_init__(self) -> None:
        shape = self.matrices.shape
        if len(shape) != 3 or shape[0] != len(self.candidates) or shape[1] != shape[2]:
            raise ValueError(
                f"`matrices` must have shape [{len(self.candidates)}, G, G], one square matrix "
                f"for each candidate, got {list(shape)}. Stack them in the order of `candidates`."
            )


def refinement_grams(colouring: Colouring, rounds: int, progress: Progress | None = None) -> Grams:
    r"""The kernels that count equal colours in the rounds ``0 … h``, for every ``h``.

    .. math::
        k_h(G, H) = \sum_{i=0}^{h} \langle \phi_i(G), \phi_i(H) \rangle

    where :math:`\phi_i(G)` holds how often each colour occurs in ``G`` after round ``i``
    (Shervashidze et al., JMLR 2011, equation 8; for colours of sets and tuples Morris et al.,
    ICDM 2017 and NeurIPS 2020), cosine-normalised.

    Args:
        colouring: What is coloured, and how.
        rounds: The largest ``h``.
        progress: Called with the fraction of the rounds done.
    """
    check_count("rounds", rounds)

    def grams() -> Iterator[NDArray[np.float64]]:
        colour = intern_tuples(colouring.initial)
        for i in range(rounds + 1):
            if i > 0:
                colour = intern_tuples(colouring.step(colour))
            yield count_gram(colour_counts(colour, colouring.graph_ptr, colouring.weight))
            if progress is not None:
                progress((i + 1) / (rounds + 1))

    return summed_grams(grams())


def summed_grams(grams: Iterable[NDArray[np.float64]]) -> Grams:
    """The sum of the Gram matrices of the rounds ``0 … h``, for every ``h``, cosine-normalised."""
    matrices = [normalised(total) for total in accumulate(grams)]
    return Grams(tuple({"rounds": h} for h in range(len(matrices))), np.stack(matrices))


def colour_counts(
    colour: Colours, graph_ptr: NDArray[np.int64], weight: Colours | None = None
) -> csr_array:
    """How often each colour occurs in each graph.

    Args:
        colour: The colour of every element, graph after graph.
        graph_ptr: Where the elements of each graph begin.
        weight: How often an element counts; once without.

    Shapes:
        ``colour [M]``, ``graph_ptr [G + 1]``, ``weight [M]``; returns ``[G, number of colours]``.

    Example:
        >>> colour_counts(np.array([0, 1, 1, 1]), np.array([0, 3, 4])).toarray().tolist()
        [[1.0, 2.0], [0.0, 1.0]]
    """
    count = np.ones(colour.size) if weight is None else weight.astype(float)
    shape = (graph_ptr.size - 1, int(colour.max(initial=-1)) + 1)
    # Elements come graph after graph: they are a compressed matrix already, but for repetitions.
    # Those are merged in place, hence in copies.
    counts = csr_array((count, colour.astype(np.int64), graph_ptr.copy()), shape=shape)
    counts.sum_duplicates()
    return counts


def count_gram(counts: csr_array) -> NDArray[np.float64]:
    """The inner products of all rows ``[G, G]`` of a matrix of counts ``[G, C]``.

    Colours that occur in one graph only, the bulk after a few rounds, touch the diagonal alone
    and are left out of the product.
    """
    shared = np.bincount(counts.indices, minlength=counts.shape[1])[counts.indices] > 1
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    lonely = np.bincount(row[~shared], weights=counts.data[~shared] ** 2, minlength=counts.shape[0])
    kept = csr_array(
        (counts.data[shared], (row[shared], counts.indices[shared])), shape=counts.shape
    )
    gram: NDArray[np.float64] = (kept @ kept.T).toarray()
    gram[np.diag_indices_from(gram)] += lonely
    return gram


def normalised(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosines instead of inner products; a graph without any feature has cosine 0 to all.

    Example:
        >>> normalised(np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]])).tolist()
        [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    length = np.sqrt(np.diagonal(gram))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    cosine: NDArray[np.float64] = gram * scale[:, None] * scale[None, :]
    return (cosine + cosine.T) / 2  # the two orders of multiplication round differently


def check_count(name: str, value: int) -> None:
    """Refuse what is no number of rounds."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"`{name}` must be an integer, 0 or more, got {value!r}. Choose 5, say.")


def check_labels(labels: Any, number: int, thing: str = "node") -> NDArray[np.int64]:
    """The categories of nodes or edges as numpy integers, or an error: kernels need categories."""
    if labels.ndim != 1 or labels.is_floating_point() or labels.numel() != number:
        words = "'labels', 'degree' or 'constant'" if thing == "node" else "'labels' or 'none'"
        raise ValueError(
            f"A kernel needs one category for every {thing}, shape [{number}], got "
            f"{labels.dtype} of shape {list(labels.shape)}. Choose the features {words}."
        )
    values: NDArray[np.int64] = labels.cpu().numpy().astype(np.int64)
    return values
