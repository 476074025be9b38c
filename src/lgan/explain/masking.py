"""One model on many masked copies of its graphs, in one pass and differentiable in the masks.

A mask has a value for every undirected edge, from 0, the edge is deleted, to 1, it is there. How
it enters depends on the model: the line graphs of LGAN, the ``edge_weight`` of a PyG network, or
the messages of PyG's layers.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from lgan.explain.subject import Subject, SubjectUnion
from lgan.graph.segments import segment_ids
from lgan.nn import LGAN, LGANConv

__all__ = ["dtype_of", "evaluating", "masked_outputs", "prepared"]


def prepared(model: nn.Module, graphs: Sequence[Any]) -> list[Subject]:
    """Graphs in the form the methods work on, with what the model reads and where it is."""
    codes = (module.pair_code for module in model.modules() if isinstance(module, LGANConv))
    level = next(codes, "none")
    subjects = [Subject.of(graph, pair_code=level) for graph in graphs]
    device = next((p.device for p in model.parameters()), None)
    return subjects if device is None else [subject.to(device) for subject in subjects]


def masked_outputs(
    model: nn.Module, union: SubjectUnion, mask: Tensor, side_mask: Tensor | None = None
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
    return outputs.view(mask.size(0), len(union.subjects), -1)


def _of_copies(
    model: nn.Module, union: SubjectUnion, mask: Tensor, side_mask: Tensor | None
) -> Tensor:
    """Outputs for the disjoint union of all copies, for models that know graphs in no other way."""
    copies, nodes, x = mask.size(0), union.batch.num_nodes, union.batch.x
    start = torch.arange(copies, device=mask.device)[:, None] * nodes
    edge_index = (union.edge_index[:, None] + start).flatten(1)
    loop = union.column_pair < 0  # self-loops stay
    at = mask[:, union.column_pair.clamp(min=0)] if union.num_pairs else mask.new_ones(1)
    weight = torch.where(loop, 1, at).expand(copies, -1).flatten()
    data = Data(x=x.repeat(copies, *[1] * (x.dim() - 1)), edge_index=edge_index)
    data.num_nodes = copies * nodes
    data.ptr = torch.cat(
        [(union.batch.ptr[:-1] + start).flatten(), start.new_tensor([data.num_nodes])]
    )
    data.batch = segment_ids(data.ptr)
    if _reads_lines(model):
        side = None if side_mask is None else side_mask.flatten()
        data.lines = union.repeated_lines(copies).masked(mask.flatten(), side)
    parameters = inspect.signature(model.forward).parameters
    if "edge_weight" in parameters:
        return _call(model, data, parameters, edge_weight=weight)
    with _message_masks(model, weight, edge_index):
        return _call(model, data, parameters)


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
