"""Which graphs can a test, and a network, tell apart?

Pairs of graphs that are hard in different ways are put before tests of growing power, and before
networks with random weights: a network never separates more than its test does.

    python examples/03_wl_hierarchy.py
"""

import torch

import lgan
from lgan.graph.named import named_graph
from lgan.wl import check, distinguishes

PAIRS = [
    ("hexagon", "two-triangles"),  # the paper's Figure 1
    ("decalin", "bicyclopentyl"),  # two molecules without a triangle
    ("rook4x4", "shrikhande"),  # strongly regular: 3-WL fails
]
TESTS = ("1-wl", "lgan-res", "2-fwl", "code")
# Networks, by the test that bounds them.
NETWORKS = {
    "lgan-res": {"residual": True},
    "code": {"residual": True, "pair_code": "full"},
}


def main() -> None:
    width = max(len(f"{a} / {b}") for a, b in PAIRS)
    print(" " * width, *(f"{test:>9}" for test in TESTS))
    for a, b in PAIRS:
        graphs = named_graph(a), named_graph(b)
        answers = ["yes" if distinguishes(*graphs, test=test) else "-" for test in TESTS]
        print(f"{f'{a} / {b}':<{width}}", *(f"{answer:>9}" for answer in answers))

    print("\nNetworks with random weights, in float64, permuted copies as control:")
    for test, options in NETWORKS.items():
        torch.manual_seed(0)
        model = lgan.LGAN(1, 16, 8, num_layers=3, **options)
        transform = lgan.EgoLineGraph(pair_code=options.get("pair_code", "none"))
        pairs = [(named_graph(a), named_graph(b)) for a, b in PAIRS]
        result = check(model, pairs, transform=transform, test=test)
        print(
            f"LGAN{options}: separates {result.num_separated} of {len(PAIRS)}, "
            f"{len(result.beyond)} beyond its test; copies differ by {result.largest_control:.0e}"
        )


if __name__ == "__main__":
    main()
