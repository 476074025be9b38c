"""Hand-made explanations for the tests of pictures and reports."""

import torch

from lgan.explain import Attribution


def made(
    num_nodes: int,
    pairs: list[tuple[int, int]],
    scores: list[float],
    *,
    prediction: tuple[float, ...] = (0.25, 0.75),
    target: int = 1,
    relative_gap: float = 0.001,
    complete: bool = True,
) -> Attribution:
    """An explanation with these scores; each edge in both directions."""
    index = torch.tensor(pairs, dtype=torch.int64).view(-1, 2).t()
    values = torch.tensor(scores, dtype=torch.float32)
    nodes = torch.zeros(num_nodes)
    for end in index:
        nodes = nodes.index_add(0, end, values / 2)
    return Attribution(
        edge_index=torch.cat([index, index.flip(0)], 1),
        edge_scores=values.repeat(2),
        node_scores=nodes,
        triangles=torch.zeros(3, 0, dtype=torch.int64),
        triangle_scores=torch.zeros(0),
        target=target,
        prediction=torch.tensor(prediction),
        output=float(values.sum()),
        baseline_output=0.0,
        gap=0.0,
        relative_gap=relative_gap,
        steps=32,
        complete=complete,
        method="integrated-gradients",
    )
