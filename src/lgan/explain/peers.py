"""Other methods for scoring edges, through PyG's implementations of them."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from lgan.explain.maskable import MaskableGraph, MaskableUnion
from lgan.explain.masking import dtype_of, num_members
from lgan.explain.question import Found, Question

CONFIG = {"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"}


def gnn_explainer(question: Question, *, epochs: int = 100, lr: float = 0.01) -> list[Found]:
    """GNNExplainer (Ying et al., NeurIPS 2019): a mask learned for every graph, PyG's defaults."""
    from torch_geometric.explain.algorithm import GNNExplainer

    model = _alone(question)
    with _drawing(model, question.seed):
        return _edge_masks(question, pyg_explainer(model, GNNExplainer(epochs=epochs, lr=lr)))


def pg_explainer(question: Question, *, epochs: int = 20, lr: float = 0.003) -> list[Found]:
    """PGExplainer (Luo et al., NeurIPS 2020): one network learned from all graphs, then applied."""
    from torch_geometric.explain.algorithm import PGExplainer

    model = _alone(question)
    with _drawing(model, question.seed):
        algorithm = PGExplainer(epochs=epochs, lr=lr)
        algorithm.mlp.to(next(model.parameters()).device, dtype_of(model))
        explainer = pyg_explainer(model, algorithm)
        for epoch in range(epochs):
            for graph, target in zip(question.graphs, question.targets, strict=True):
                if graph.num_pairs:
                    algorithm.train(epoch, explainer.model, **_asked(graph, target))
        return _edge_masks(question, explainer)


def _alone(question: Question) -> nn.Module:
    if num_members(question.model):
        raise ValueError(
            f"PyG's methods explain one model, got {num_members(question.model)} side by side. "
            "Choose another method, or train one model (`--members 1`)."
        )
    return question.model


@contextmanager
def _drawing(model: nn.Module, seed: int) -> Iterator[None]:
    """Random numbers of a seed, and no gradients for the weights of the model, inside the block."""
    learning = [p for p in model.parameters() if p.requires_grad]
    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG turns a loss into a number with its graph
        torch.manual_seed(seed)
        for parameter in learning:
            parameter.requires_grad_(False)
        try:
            yield
        finally:
            for parameter in learning:
                parameter.requires_grad_(True)


def pyg_explainer(model: nn.Module, algorithm: Any) -> Any:
    """PyG's explainer of the edges of a model of ours, or of PyG's, by one of its algorithms."""
    from torch_geometric.explain import Explainer

    from lgan.explain.pyg_view import PyGView

    return Explainer(
        PyGView(model).eval(),
        algorithm=algorithm,
        explanation_type="phenomenon",
        edge_mask_type="object",
        model_config=CONFIG,
    )


def _edge_masks(question: Question, explainer: Any) -> list[Found]:
    found = []
    for graph, target in zip(question.graphs, question.targets, strict=True):
        scores = torch.zeros(0)
        if graph.num_pairs:
            mask = explainer(**_asked(graph, target)).edge_mask
            scores = graph.to_pairs(mask.detach())
        found.append(Found(scores.unsqueeze(0)))
    return found


def _asked(graph: MaskableGraph, target: int) -> dict[str, Tensor]:
    """What PyG's methods are called with; they want features in columns, categories too."""
    assert graph.x is not None
    asked = {
        "x": graph.x if graph.x.dim() == 2 else graph.x.unsqueeze(1),
        "edge_index": graph.edge_index,
        "target": torch.tensor([target], device=graph.edge_index.device),
    }
    attr = MaskableUnion.of([graph]).data().edge_attr
    return asked if attr is None else {**asked, "edge_attr": attr}
