"""How much memory models take, before any of it is taken."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from lgan.graph.free_memory import free_memory
from lgan.train.stack import drawn

# Value, gradient (before and after it is joined to the others), two moments, learning rate and
# weight decay of every weight (StackedAdam).
COPIES = 7


def outline(factory: Callable[[], nn.Module]) -> nn.Module:
    """The model that a factory builds, with the shapes of its weights but no memory for them."""
    try:
        with torch.device("meta"):
            return drawn(factory, 0)
    except (NotImplementedError, RuntimeError):  # it reads its weights while it is built
        return drawn(factory, 0)


def check_weights_fit(model: nn.Module, device: torch.device) -> None:
    """Refuse a model of whose weights and their updates not even one set fits into memory."""
    needed = COPIES * sum(p.numel() * p.element_size() for p in model.parameters())
    free = free_memory(device)
    if needed > free:
        weights = sum(p.numel() for p in model.parameters())
        raise ValueError(
            f"The model has {weights:,} weights, which take {needed / 2**30:.1f} GiB in training, "
            f"but {free / 2**30:.1f} GiB are free. Choose a smaller width (`hidden`) or fewer "
            "layers."
        )


def models_at_once(model: nn.Module, rows: Tensor, drawn_graphs: int, budget: int) -> int:
    """How many models fit into a memory budget with the largest batch they may meet.

    Args:
        model: One of the models, or its :func:`outline`.
        rows: Rows of the largest activations of every graph ``[G]``.
        drawn_graphs: Graphs in a batch.
        budget: Bytes that activations may take.
    """
    maps = [p for p in model.parameters() if p.dim() == 2]
    drawn_rows = int(torch.topk(rows, drawn_graphs).values.sum())
    # Every linear map keeps its input and output, a normalisation and a kernel one more each.
    bytes_per_model = 3 * drawn_rows * sum(p.size(-1) * p.element_size() for p in maps)
    return max(1, budget // max(bytes_per_model, 1))
