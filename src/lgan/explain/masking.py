"""One model on many masked copies of its graphs, in one pass and differentiable in the masks.

A mask has a value for every undirected edge, from 0, it gives nothing, to 1, it is there. How it
enters depends on the model: the line graphs of LGAN, the ``edge_weight`` of a PyG network, or the
messages of PyG's layers.

A mask of 0 takes an edge, and the triangles it is part of, out of every sum. It does not compute
anew what was computed from the whole graph before: structural pair codes, degrees among the node
features, the number of neighbours by which a layer of PyG divides. :mod:`lgan.explain.deletion`
does. Without such things both are the same.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch_geometric.data import Data

from lgan.explain.maskable import MaskableGraph, MaskableUnion
from lgan.graph import EgoLines
from lgan.nn import LGAN, LGANConv
from lgan.nn.linear import Linear


def prepared(model: nn.Module, graphs: Sequence[Any]) -> list[MaskableGraph]:
    """Graphs in the form the methods work on, with what the model reads and where it is."""
    graphs = [MaskableGraph.of(graph, pair_code=pair_code_of(model)) for graph in graphs]
    if next(model.parameters(), None) is None:  # a model without weights is where its graphs are
        return graphs
    return [graph.to(device_of(model)) for graph in graphs]


def num_members(model: nn.Module) -> int:
    """How many models are stacked in a module; 0 for a model by itself."""
    stacked = (m.weight for m in model.modules() if isinstance(m, Linear) and m.weight.dim() == 3)
    return next((weight.size(0) for weight in stacked), 0)


def pass_load(lines: EgoLines) -> int:
    """What a pass has to touch of a graph."""
    return lines.num_pairs + lines.opposite_index.numel() + lines.num_nodes


def masked_outputs(
    model: nn.Module, union: MaskableUnion, mask: Tensor, side_mask: Tensor | None = None
) -> Tensor:
    """Outputs of a model for graphs with masked edges.

    Args:
        model: Any model that :func:`lgan.attribute` explains, in evaluation mode.
        union: The graphs.
        mask: A value for every undirected edge, one row for each copy. Stacked models take a mask
            each, so that its gradient is that of the model alone.
        side_mask: The product of the mask over the triangle of every entry of ``opposite_index``,
            where the caller wants its gradient.

    Shapes:
        ``mask``: ``[S, P]``; ``side_mask``: ``[S, M]``; result: ``[S, B, C]``. With a leading
        ``K`` for ``K`` stacked models.
    """
    members, copies = num_members(model), mask.size(-2)
    if isinstance(model, LGAN) and not members:
        # The copies are planes of one pass: the structure, and the first products, are shared.
        lines = union.batch.lines.masked(mask, side_mask)
        outputs: Tensor = model(replace(union.batch, lines=lines))
        return outputs
    many = union.tiled(copies)
    flat, side = mask.flatten(-2), None if side_mask is None else side_mask.flatten(-2)
    if isinstance(model, LGAN):
        outputs = model(replace(many.batch, lines=many.batch.lines.masked(flat, side)))
    elif members:
        each = [
            _of_copies(_Member(model, k), many, flat[k], None if side is None else side[k])
            for k in range(members)
        ]
        outputs = torch.stack(each)
    else:
        outputs = _of_copies(model, many, flat, side)
    split: Tensor = outputs.unflatten(-2, (copies, len(union.graphs)))
    return split


def _of_copies(
    model: nn.Module, many: MaskableUnion, mask: Tensor, side_mask: Tensor | None
) -> Tensor:
    """Outputs for the disjoint union of all copies, for models that know graphs in no other way."""
    data, weight = many.data(), many.to_columns(mask)
    if reads_lines(model):
        data.lines = many.batch.lines.masked(mask, side_mask)
    if "edge_weight" in _parameters(model):
        own = many.edge_weight
        return outputs_of(model, data, edge_weight=weight if own is None else weight * own)
    with _message_masks(model, weight, data.edge_index):
        return outputs_of(model, data)


class _Member(nn.Module):
    """One of several stacked models, whose weights it reads where they are."""

    def __init__(self, stack: nn.Module, index: int) -> None:
        super().__init__()
        self.stack = stack
        self.index = index

    def forward(self, *given: Any, **options: Any) -> Tensor:
        """What the model says."""
        state = {**dict(self.stack.named_parameters()), **dict(self.stack.named_buffers())}
        own = {name: tensor[self.index] for name, tensor in state.items()}
        out: Tensor = functional_call(self.stack, own, given, options)
        return out


def _parameters(model: nn.Module) -> Any:
    """What a model is called with."""
    forward: Callable[..., Any] = (model.stack if isinstance(model, _Member) else model).forward
    return inspect.signature(forward).parameters


def pair_code_of(model: nn.Module) -> str:
    """The level of structural codes that a model reads."""
    codes = (module.pair_code for module in model.modules() if isinstance(module, LGANConv))
    return next(codes, "none")


def reads_lines(model: nn.Module) -> bool:
    """Whether a model finds the mask in the line graphs: LGAN, and those that say so."""
    kind = type(model.stack if isinstance(model, _Member) else model)
    return getattr(kind, "reads_lines", False) or any(
        isinstance(module, LGANConv) for module in model.modules()
    )


def outputs_of(model: nn.Module, data: Data, **options: Tensor) -> Tensor:
    """Outputs of a model, or of several stacked, for graphs ``[*, B, C]``: ours are called with the
    graphs, those of PyG with their tensors.
    """
    parameters = _parameters(model)
    if "edge_weight" in parameters and data.edge_weight is not None:
        options.setdefault("edge_weight", data.edge_weight)
    if "edge_index" in parameters:
        if "batch" in parameters:
            options["batch"] = data.batch
        if "edge_attr" in parameters and data.edge_attr is not None:
            options["edge_attr"] = data.edge_attr
        out: Tensor = model(data.x, data.edge_index, **options)
    else:
        out = model(data, **options)
    return out


@contextmanager
def _message_masks(model: nn.Module, weight: Tensor, edge_index: Tensor) -> Iterator[None]:
    """Let PyG's layers multiply their messages, as they do for PyG's own explainers."""
    from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
    from torch_geometric.nn import MessagePassing

    if not any(isinstance(module, MessagePassing) for module in model.modules()):
        if not reads_lines(model):
            raise TypeError(
                f"The edges of {type(model).__name__} cannot be masked: its `forward` takes no "
                "`edge_weight`, and it has neither `LGANConv` nor PyG's `MessagePassing` layers. "
                "Add an argument `edge_weight` that weighs the messages."
            )
        yield
        return
    set_masks(model, weight, edge_index, apply_sigmoid=False)
    try:
        yield
    finally:
        clear_masks(model)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode, and afterwards in the mode it was in."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def device_of(model: nn.Module) -> torch.device:
    """Where a model computes; the CPU for one without weights."""
    return next((p.device for p in model.parameters()), torch.device("cpu"))


def dtype_of(model: nn.Module) -> torch.dtype:
    """The type of the numbers a model computes with."""
    kinds = (p.dtype for p in model.parameters() if p.is_floating_point())
    return next(kinds, torch.get_default_dtype())
