import numpy as np
import pytest
import torch

from lgan.wl.refinement import Colouring
from lgan.zoo.graph_kernels.gram import (
    Grams,
    check_labels,
    colour_counts,
    count_gram,
    normalised,
    refinement_grams,
)


def test_counts_by_hand_and_the_pointers_stay_as_they_are():
    colour, ptr = np.array([2, 0, 2, 2, 1]), np.array([0, 4, 4, 5])
    counts = colour_counts(colour, ptr)
    assert counts.toarray().tolist() == [[1, 0, 3], [0, 0, 0], [0, 1, 0]]
    assert ptr.tolist() == [0, 4, 4, 5]
    assert colour.tolist() == [2, 0, 2, 2, 1]


def test_elements_count_as_often_as_their_weight():
    counts = colour_counts(np.array([0, 1, 1]), np.array([0, 3]), np.array([5, 2, 3]))
    assert counts.toarray().tolist() == [[5, 5]]


def test_gram_is_the_product_of_counts_whether_colours_are_shared_or_not():
    random = np.random.default_rng(0)
    ptr = np.array([0, 30, 30, 70, 100])
    # Most of the 60 colours occur in one graph only, a few in all.
    counts = colour_counts(random.integers(60, size=100), ptr)
    dense = counts.toarray()
    assert np.array_equal(count_gram(counts), dense @ dense.T)


def test_normalised_has_ones_on_the_diagonal_and_zeros_for_a_graph_without_features():
    gram = np.array([[9.0, 3.0, 0.0], [3.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    expected = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(normalised(gram), expected, atol=1e-15)


def test_matrices_sum_over_all_rounds_so_far():
    # Two graphs of two elements; the step merges all colours, then changes nothing.
    colouring = Colouring(np.array([0, 1, 1, 2]), np.zeros_like, np.array([0, 2, 4]))
    grams = refinement_grams(colouring, 1)
    assert grams.candidates == ({"rounds": 0}, {"rounds": 1})
    # Round 0: <(1,1,0), (0,1,1)> = 1, lengths 2; round 1: 2 * 2 = 4 everywhere.
    np.testing.assert_allclose(grams.matrices[:, 0, 1], [1 / 2, 5 / 6])


def test_progress_ends_with_one():
    seen: list[float] = []
    refinement_grams(Colouring(np.zeros(2, int), np.copy, np.array([0, 1, 2])), 3, seen.append)
    assert seen == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("rounds", [-1, 2.0, True])
def test_a_wrong_number_of_rounds_is_refused(rounds):
    colouring = Colouring(np.zeros(2, int), np.copy, np.array([0, 1, 2]))
    with pytest.raises(ValueError, match="`rounds` must be an integer, 0 or more, got"):
        refinement_grams(colouring, rounds)


def test_matrices_of_another_number_are_refused():
    with pytest.raises(ValueError, match=r"shape \[2, G, G\].*got \[1, 3, 3\]"):
        Grams(({}, {}), np.zeros((1, 3, 3)))


@pytest.mark.parametrize("labels", [torch.zeros(3), torch.zeros(2, dtype=torch.int64)])
def test_features_that_are_no_categories_are_refused(labels):
    with pytest.raises(ValueError, match=r"one category for every node, shape \[3\]"):
        check_labels(labels, 3)
