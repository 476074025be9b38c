"""A random network with structural codes on its pairs separates what the refinement does."""

from pathlib import Path

import pytest
import torch

import lgan
from lgan import wl
from lgan.data.pairs import load_brec
from lgan.graph.named import named_graph
from lgan.nn.lgan_conv import CodeMap

LEVELS = {
    "none": ("lgan-res", 106),
    "triangles": ("edge-t", 159),
    "cycles": ("edge-tq", 205),
    "full": ("code", 275),
    "claws": ("code-claws", 291),
    "rings": ("code-rings", 294),
    "local": ("code-local", 320),
    "folklore": ("code-folklore", 356),
}


per_map = pytest.mark.parametrize("code_map", ["linear", "spline"])


def _network(level: str, code_map: CodeMap) -> lgan.LGAN:
    torch.manual_seed(0)
    options = {"residual": True, "pair_code": level}
    options |= {} if level == "none" else {"code_map": code_map}
    return lgan.LGAN(1, 16, 8, num_layers=4, **options)


@per_map
@pytest.mark.parametrize("level", LEVELS)
def test_a_random_network_separates_named_pairs_as_its_code_does(
    level: str, code_map: CodeMap
) -> None:
    names = [("prism", "k33"), ("cube", "wagner"), ("rook4x4", "shrikhande")]
    names += [("decalin", "bicyclopentyl"), ("csl(11,3)", "csl(11,2)")]
    pairs = [(named_graph(a), named_graph(b)) for a, b in names]
    test, _ = LEVELS[level]
    expected = tuple(wl.distinguishes(*pair, test=test) for pair in pairs)
    transform = lgan.EgoLineGraph(pair_code=level)
    result = wl.check(_network(level, code_map), pairs, transform=transform, test=test)
    assert result.separated == expected
    assert result.beyond == ()


@pytest.mark.data
@pytest.mark.slow
@per_map
@pytest.mark.parametrize("level", LEVELS)
def test_a_random_network_reaches_the_counts_on_brec(
    brec_folder: Path, level: str, code_map: CodeMap
) -> None:
    transform = lgan.EgoLineGraph(pair_code=level)
    results = [
        wl.check(_network(level, code_map), pairs, transform=transform, copies=1)
        for pairs in load_brec(brec_folder).values()
    ]
    assert sum(result.num_separated for result in results) == LEVELS[level][1]
    assert max(result.largest_control for result in results) < 1e-13
