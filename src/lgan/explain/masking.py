"""One model on many masked copies of its graphs, in one pass and differentiable in the masks.

A mask has a value for every undirected edge, from 0, it gives nothing, to 1, it is there. How it
enters depends on the model: the line graphs of LGAN, the ``edge_weight`` of a PyG network, or the
messages of PyG's layers.

A mask of 0 takes an edge, and the triangles it is part of, out of every sum. It does not compute
anew what was computed from the whole graph before: structural pair codes, degrees among the node
features, the number of neighbours by which a layer of PyG divides. :func:`deleted_outputs` does,
but for the features, which are an input. Without such things both are the same.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from lgan.explain.maskable import MaskableGraph, MaskableUnion
from lgan.graph import EgoLines
from lgan.nn import LGAN, LGANConv

__all__ = ["deleted_outputs", "dtype_of", "evaluating", "masked_outputs", "prepared"]


def prepared(model: nn.Module, graphs: Sequence[Any]) -> list[MaskableGraph]:
    """Graphs in the form the methods work on, with what the model reads and where it is."""
    graphs = [MaskableGraph.of(graph, pair_code=_pair_code(model)) for graph in graphs]
    device = next((p.device for p in model.parameters()), None)
    return graphs if device is None else [graph.to(device) for graph in graphs]


def masked_outputs(
    model: nn.Module, union: MaskableUnion, mask: Tensor, side_mask: Tensor | None = None
) -> Tensor:
    """Outputs of a model for graphs with masked edges.

    Args:
        model: Any model that :func:`lgan.attribute` explains, in evaluation mode.
        union: The graphs.
        mask: A value for every undirected edge, one row for each copy.
        side_mask: The product of the mask over the triangle of every entry of ``opposite_index``,
            where the caller wants its gradient.

    Shapes:
        ``mask``: ``[S, P]``; ``side_mask``: ``[S, M]``; result: ``[S, B, C]``.
    """
    if isinstance(model, LGAN):
        # The copies are planes of one pass: the structure, and the first products, are shared.
        lines = union.batch.lines.masked(mask, side_mask)
        planes: Tensor = model(replace(union.batch, lines=lines))
        return planes
    outputs = _of_copies(model, union, mask, side_mask)
    return outputs.view(mask.size(0), len(union.graphs), -1)


@torch.no_grad()
def deleted_outputs(model: nn.Module, union: MaskableUnion, kept: Tensor) -> Tensor:
    """Outputs of a model for graphs from which edges were deleted, their codes computed anew.

    Args:
        model: Any model that :func:`lgan.attribute` explains, in evaluation mode.
        union: The graphs.
        kept: Which undirected edges are left, one row for each copy.

    Shapes:
        ``kept``: ``[S, P]`` bool; result: ``[S, B, C]``.
    """
    level, copies = _pair_code(model), kept.size(0)
    if isinstance(model, LGAN) and level == "none":
        return masked_outputs(model, union, kept.to(dtype_of(model)))
    many = MaskableUnion.of([*union.graphs] * copies)
    data = many.data()
    data.edge_index = data.edge_index[:, many.to_columns(kept.flatten()).bool()]
    if _reads_lines(model):
        pairs = many.batch.lines.pair_index.long()[:, kept.flatten()]
        data.lines = EgoLines.from_pairs(pairs, int(data.num_nodes)).coded(level)
    outputs = _call(model, data, inspect.signature(model.forward).parameters)
    return outputs.view(copies, len(union.graphs), -1)


def _of_copies(
    model: nn.Module, union: MaskableUnion, mask: Tensor, side_mask: Tensor | None
) -> Tensor:
    """Outputs for the disjoint union of all copies, for models that know graphs in no other way."""
    many = MaskableUnion.of([*union.graphs] * mask.size(0))
    data, weight = many.data(), many.to_columns(mask.flatten())
    if _reads_lines(model):
        side = None if side_mask is None else side_mask.flatten()
        data.lines = many.batch.lines.masked(mask.flatten(), side)
    parameters = inspect.signature(model.forward).parameters
    if "edge_weight" in parameters:
        return _call(model, data, parameters, edge_weight=weight)
    with _message_masks(model, weight, data.edge_index):
        return _call(model, data, parameters)


def _pair_code(model: nn.Module) -> str:
    """The level of structural codes that a model reads."""
    codes = (module.pair_code for module in model.modules() if isinstance(module, LGANConv))
    return next(codes, "none")


def _reads_lines(model: nn.Module) -> bool:
    """Whether a model finds the mask in the line graphs: LGAN, and those that say so."""
    named = getattr(type(model), "reads_lines", False)
    return named or any(isinstance(module, LGANConv) for module in model.modules())


def _call(model: nn.Module, data: Data, parameters: Any, **options: Tensor) -> Tensor:
    """Call a model of ours with the graphs, one of PyG with their tensors."""
    if "edge_index" in parameters:
        if "batch" in parameters:
            options["batch"] = data.batch
        out: Tensor = model(data.x, data.edge_index, **options)
    else:
        out = model(data, **options)
    return out


@contextmanager
def _message_masks(model: nn.Module, weight: Tensor, edge_index: Tensor) -> Iterator[None]:
    """Let PyG's layers multiply their messages, as they do for PyG's own explainers."""
    from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
    from torch_geometric.nn import MessagePassing

    layers = [module for module in model.modules() if isinstance(module, MessagePassing)]
    lines = _reads_lines(model)
    if not layers and not lines:
        raise TypeError(
            f"The edges of {type(model).__name__} cannot be masked: its `forward` takes no "
            "`edge_weight`, and it has neither `LGANConv` nor PyG's `MessagePassing` layers. "
            "Add an argument `edge_weight` that weighs the messages."
        )
    if not layers:
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


def dtype_of(model: nn.Module) -> torch.dtype:
    """The type of the numbers a model computes with."""
    kinds = (p.dtype for p in model.parameters() if p.is_floating_point())
    return next(kinds, torch.get_default_dtype())
