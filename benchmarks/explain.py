"""Explanations per second beside PyG's wrapper of Captum, on graphs of the size of MUTAG's."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from benchmarks.config import BenchConfig
from benchmarks.measure import OURS, comparison, interleaved
from benchmarks.peers import GIN, missing
from benchmarks.row import Bar, Row
from benchmarks.sets import BothSides, load_both
from lgan.explain import Attribution, attribute
from lgan.explain.integrated_gradients import METHOD
from lgan.explain.peers import CONFIG
from lgan.explain.pyg import PyGView
from lgan.nn import LGAN
from lgan.train import TrainConfig
from lgan.train.single import train_one

__all__ = ["explain"]

PEER = "PyG CaptumExplainer"
BAR = Bar("speedup", 10)
STEPS = 50  # Captum's own default


def explain(config: BenchConfig) -> list[Row]:
    """Integrated Gradients of every edge, by both sides, for the same models and graphs.

    Both explain the logit, which is all that Captum knows of a class. Ours goes on until the gap
    is below 1 %; Captum takes its 50 steps, whatever the gap.
    """
    config.progress("reading")
    both = load_both("MUTAG", config)
    count = 1 if config.quick else 8
    graphs = [g.to(config.device) for g in both.graphs[:: len(both.graphs) // count][:count]]
    config.progress("training")
    lgan = _trained(both, config)
    torch.manual_seed(config.seed)
    gin = GIN(both.union.num_features, 32, both.union.num_classes).to(config.device).eval()
    # Only the single explanations have a bar: the peer knows no others.
    return [
        *_rows("LGAN-res", lgan, graphs, config, both.note),
        *_rows("GIN of PyG, not trained", gin, graphs, config, both.note),
    ]


def _trained(both: BothSides, config: BenchConfig) -> nn.Module:
    union = both.union
    factory = partial(
        LGAN, union.num_features, 32, union.num_classes, residual=True, readout=both.readout
    )
    settings = TrainConfig(epochs=1 if config.quick else 20, iterations=0, seed=config.seed)
    trained = train_one(factory, union, config=settings)
    model = factory().to(config.device)
    model.load_state_dict(trained.state)
    return model.eval()


def _rows(
    name: str, model: nn.Module, graphs: Sequence[Data], config: BenchConfig, note: str
) -> list[Row]:
    absent = missing("captum")
    with torch.no_grad():
        targets = [int(PyGView(model)(g.x, g.edge_index).argmax()) for g in graphs]
    found: dict[str, list[Any]] = {}

    def single() -> None:
        found["single"] = [
            attribute(model, g, t, method=METHOD, of="logit")
            for g, t in zip(graphs, targets, strict=True)
        ]

    def together() -> None:
        found["together"] = attribute(model, graphs, targets, method=METHOD, of="logit")

    def peer() -> None:
        explainer = _captum(model, 2 if config.quick else STEPS)
        pairs = zip(graphs, targets, strict=True)
        found["peer"] = [_mask(explainer, g, t) for g, t in pairs]

    sides = {OURS: single, "together": together} | ({} if absent else {PEER: peer})
    timed = interleaved(
        sides, repeats=1 if config.quick else 3, device=config.device,
        progress=lambda text: config.progress(f"{name}: {text}"),
    )  # fmt: skip
    each = {side: [s / len(graphs) for s in seconds] for side, seconds in timed.items()}
    detail = _gaps(found["single"], found.get("peer", []))
    sizes = f"{sum(g.num_nodes for g in graphs) / len(graphs):.0f} nodes, 4 layers of width 32"
    note = "; ".join(text for text in (note, absent) if text)
    row = partial(comparison, peer=PEER, size=len(graphs), note=note)
    what = f"one explanation, {sizes}"
    return [
        row(f"{name}, one by one", what, each, bar=BAR, detail=detail),
        row(f"{name}, all at once", what, {**each, OURS: each["together"]}),
    ]


def _captum(model: nn.Module, steps: int) -> Any:
    from torch_geometric.explain import Explainer
    from torch_geometric.explain.algorithm import CaptumExplainer

    return Explainer(
        PyGView(model).eval(),
        algorithm=CaptumExplainer("IntegratedGradients", n_steps=steps),
        explanation_type="phenomenon",
        edge_mask_type="object",
        model_config=CONFIG,
    )


def _mask(explainer: Any, graph: Data, target: int) -> Tensor:
    wanted = torch.tensor([target], device=graph.edge_index.device)
    mask: Tensor = explainer(graph.x, graph.edge_index, target=wanted).edge_mask
    return mask.detach()


def _gaps(ours: Sequence[Attribution], peer: Sequence[Tensor]) -> dict[str, float]:
    """The largest relative gaps of both sides, and our steps."""
    detail = {
        "lgan largest gap": max(found.relative_gap for found in ours),
        "lgan mean steps": sum(found.steps for found in ours) / len(ours),
        "lgan complete": sum(found.complete for found in ours) / len(ours),
    }
    rises = [found.output - found.baseline_output for found in ours]
    gaps = [abs(float(m.sum()) / rise - 1) for m, rise in zip(peer, rises, strict=False)]
    return detail | ({f"{PEER} largest gap": max(gaps)} if gaps else {})
