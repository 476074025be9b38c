"""Pairs of nodes at a small distance, and the wedges between them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lgan.graph.interning import Rows, intern_hashed, intern_integers, intern_tuples

Integers = NDArray[np.integer[Any]]

# Part of the meaning of every word: stored codes are void if it changes.
_SEED = 0x2545F4914F6CDD1D


@dataclass(frozen=True, eq=False)
class NearPairs:
    """All ordered pairs ``(u, v)`` of nodes at most ``radius`` apart, ``(u, u)`` included.

    Attributes:
        ptr: Where the pairs with first node ``u`` begin ``[n + 1]``.
        second: The second node of every pair ``[M]``, in increasing order for each ``u``.
        distance: How far apart the two are ``[M]``.
    """

    ptr: NDArray[np.int64]
    second: Integers
    distance: Integers

    @staticmethod
    def of(pair_index: Integers, num_nodes: int, radius: int) -> "NearPairs":
        """The near pairs of a graph or union given by its edges, once each ``[2, P]``."""
        from lgan.graph.near_pairs_numba import balls

        u, v = pair_index
        near = Rows.grouped(np.concatenate([u, v]), np.concatenate([v, u]), num_nodes)
        return NearPairs(*balls(near.ptr, near.source, radius))

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """The first node of every pair ``[M]``."""
        return np.repeat(np.arange(self.ptr.size - 1), np.diff(self.ptr))

    @cached_property
    def reverse(self) -> NDArray[np.int64]:
        """The number of ``(v, u)`` for every pair ``(u, v)`` ``[M]``."""
        return self.find(self.second, self.first)

    def count_wedges(self, limit: int) -> int:
        """How many wedges there are; the count stops soon after ``limit``."""
        from lgan.graph.near_pairs_numba import count_wedges

        return int(count_wedges(self.ptr, self.second, limit))

    def refined(self, colour: Integers) -> Integers:
        """One round of 2-FWL on these pairs: the colours ``[M]`` of the next from the last.

        ``c'(u, v) = c(u, v), {{ (c(u, w), c(w, v)) : w near to both }}``. Exact, as all interning
        here; the wedges ``u, w, v`` are walked and not stored.
        """
        from lgan.graph.near_pairs_numba import wedge_hashes, wedges_agree

        colour = colour.astype(np.int64)
        seen = intern_hashed(
            lambda seed: wedge_hashes(self.ptr, self.second, colour, seed),
            lambda ids, order: wedges_agree(
                self.ptr, self.second, self.reverse, colour, ids, order
            ),
        )
        return intern_tuples(colour, seen)

    def refined_words(self, word: NDArray[np.int64]) -> NDArray[np.int64]:
        """One round of 2-FWL on words of 64 bits that mean the same in every graph ``[M]``.

        The new word is a hash of the last and of the words on all wedges. Unlike the colours of
        :meth:`refined` it does not depend on what other pairs there are; that it tells different
        signatures apart is verified for the pairs at hand.
        """
        from lgan.graph.near_pairs_numba import join_words, wedge_hashes, wedges_agree

        refined: NDArray[np.int64] = join_words(
            word, wedge_hashes(self.ptr, self.second, word, _SEED)
        )
        colour = intern_integers(word).astype(np.int64)
        intern_hashed(
            lambda seed: refined,
            lambda ids, order: (
                # Equal ids have equal colours: as many pairs of both as there are ids.
                intern_tuples(ids, colour).max(initial=0) == ids.max(initial=0)
                and wedges_agree(self.ptr, self.second, self.reverse, colour, ids, order)
            ),
            attempts=1,
        )
        return refined

    def find(self, u: Integers, v: Integers) -> NDArray[np.int64]:
        """The number of each pair ``(u, v)``, all of which must be near."""
        return np.searchsorted(self._key, self._joint(u, v))

    def contains(self, u: Integers, v: Integers) -> NDArray[np.bool_]:
        """Whether each pair ``(u, v)`` is near."""
        wanted = self._joint(u, v)
        place = np.minimum(np.searchsorted(self._key, wanted), max(self._key.size - 1, 0))
        found: NDArray[np.bool_] = self._key[place] == wanted
        return found

    @cached_property
    def _key(self) -> NDArray[np.int64]:
        return self._joint(self.first, self.second)

    def _joint(self, u: Integers, v: Integers) -> NDArray[np.int64]:
        return u.astype(np.int64) * self.ptr.size + v
