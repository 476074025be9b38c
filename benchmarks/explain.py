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
from lgan import ops
from lgan.data import Encoder, load_raw
from lgan.explain import Attribution, attribute
from lgan.explain.integrated_gradients import METHOD
from lgan.explain.peers import pyg_explainer
from lgan.explain.pyg_view import PyGView
from lgan.nn import LGAN
from lgan.train import TrainConfig, train_ensemble
from lgan.train.stack import drawn, model_view, stack

PEER = "PyG CaptumExplainer"
BAR = Bar("speedup", 10)
STEPS = 50  # Captum's own default
THREADS = (1, 2)
# Drugs of 18 to 44 bonds, 26 on average; the first has 31.
DRUGS = (
    "COc1cc2c(cc1OC)CC(CC1CCN(Cc3ccccc3)CC1)C2=O",
    "COc1ccc2[nH]cc(CCNC(C)=O)c2c1",
    "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21",
    "CC(C)NCC(O)COc1cccc2ccccc12",
    "CN(C)CCCN1c2ccccc2CCc2ccccc21",
    "NS(=O)(=O)c1cc2c(cc1Cl)NCNS2(=O)=O",
    "OC(c1ccccc1)(c1ccccc1)C1CCNCC1",
    "CC1(C)SC2C(NC(=O)Cc3ccccc3)C(=O)N2C1C(=O)O",
    "CN1CCN(CC1)Cc1ccc(cc1)C(=O)Nc1ccc(C)c(Nc2nccc(n2)-c2cccnc2)c1",
    "CC(C)c1n(CCC(O)CC(O)CC(=O)O)c(-c2ccc(F)cc2)c(-c2ccccc2)c1C(=O)Nc1ccccc1",
)


def explain(config: BenchConfig) -> list[Row]:
    """Integrated Gradients of every edge, by both sides, for the same models and graphs.

    Both explain the logit, which is all that Captum knows of a class. Ours goes on until the gap
    is below 1 %; Captum takes its 50 steps, whatever the gap.
    """
    config.progress("reading")
    both = load_both("MUTAG", config)
    count = 1 if config.quick else 8
    # Without bonds, which neither model reads.
    graphs = [
        Data(x=g.x, edge_index=g.edge_index).to(config.device)
        for g in both.graphs[:: len(both.graphs) // count][:count]
    ]
    config.progress("training")
    lgan = _trained(both, config)
    torch.manual_seed(config.seed)
    gin = GIN(both.union.num_features, 32, both.union.num_classes).to(config.device).eval()
    rows = []
    # With threads the peer may be slower than without, so that both are told.
    for threads in THREADS if config.device.type == "cpu" else (None,):
        with ops.at_most(threads):
            how = "" if threads is None else f", {threads} thread" + "s" * (threads > 1)
            rows += _rows("LGAN-res", lgan, graphs, config, both.note, how)
            rows += _rows("GIN of PyG, not trained", gin, graphs, config, both.note, how)
            rows += [] if missing("rdkit") else _molecule_rows(config, threads, how)
    return rows


def _molecule_rows(config: BenchConfig, threads: int | None, count: str) -> list[Row]:
    """Drug-like molecules by ten members of width 64 with fresh weights: the default method for
    many, and leaving one bond out of one.
    """
    raw = load_raw([DRUGS[i % len(DRUGS)] for i in range(4 if config.quick else 1000)])
    encoder = Encoder.fit(raw)
    union = encoder.encode(raw, compress=False, labelled=False)
    factory = partial(
        LGAN, encoder.num_features, 64, 2, residual=True, readout="sum+mean+max",
        edge_dim=encoder.num_edge_features,
    )  # fmt: skip
    model = stack([drawn(factory, k) for k in range(10)]).to(config.device).eval()
    graphs = [union.batch(torch.tensor([i])) for i in range(union.num_graphs)]
    pairs = graphs[0].lines.num_pairs
    attribute(model, graphs[:2])  # what is compiled is compiled before the clock
    runs = {
        f"{len(graphs):,} molecules, default method": (lambda: attribute(model, graphs), 60.0, 1),
        f"one molecule of {pairs} bonds, leaving one out": (
            lambda: attribute(model, graphs[0], method="leave-one-out"), 0.1, 5,
        ),
    }  # fmt: skip
    rows = []
    for name, (run, limit, repeats) in runs.items():
        timed = interleaved(
            {OURS: run}, repeats=1 if config.quick else repeats, device=config.device,
            progress=config.progress,
        )  # fmt: skip
        judged = Bar("seconds", limit) if (limit == 60) == (threads == 2) else None
        rows.append(
            comparison(name + count, "ten members of width 64, 4 layers", timed, bar=judged)
        )
    return rows


def _trained(both: BothSides, config: BenchConfig) -> nn.Module:
    union = both.union
    factory = partial(
        LGAN, union.num_features, 32, union.num_classes, residual=True, readout=both.readout
    )
    settings = TrainConfig(epochs=1 if config.quick else 20, iterations=0, seed=config.seed)
    return model_view(train_ensemble(factory, union, members=1, config=settings).network, 0)


def _rows(
    name: str, model: nn.Module, graphs: Sequence[Data], config: BenchConfig, note: str, count: str
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
        from torch_geometric.explain.algorithm import CaptumExplainer

        steps = 2 if config.quick else STEPS
        captum = CaptumExplainer("IntegratedGradients", n_steps=steps)
        explainer = pyg_explainer(model, captum)
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
    # Only the single explanations have a bar: the peer knows no others.
    return [
        row(f"{name}, one by one{count}", what, each, bar=BAR, detail=detail),
        row(f"{name}, all at once{count}", what, {**each, OURS: each["together"]}),
    ]


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
