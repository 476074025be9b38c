"""How well explanations find what is known to matter: models trained, explained and scored."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lgan.catalogue import known
from lgan.data import RawGraphs, load_raw
from lgan.experiment import Reading, factory, prepare
from lgan.experiment.settings import Settings, settings_for
from lgan.explain.integrated_gradients import METHOD
from lgan.explain.methods import METHODS
from lgan.graph import GraphUnion
from lgan.train import predict, train_ensemble
from lgan.train.environment import environment, typed_command
from lgan.train.stack import model_view
from paper.evaluate import Evaluation, evaluate
from paper.ground_truth import nitro_and_amino


@dataclass(frozen=True)
class ExplanationCase:
    """A data set with a known truth, and the model that is explained on it.

    Attributes:
        dataset: Name of the set.
        classes: Classes whose graphs carry the truth.
        bar: Edge ROC-AUC to reach, where there is a bar.
        given: Settings of the model and its training.
        truth: What counts as the truth, in words.
    """

    dataset: str
    classes: tuple[int, ...]
    bar: float | None
    given: dict[str, Any]
    truth: str


_MOTIFS = {"num_layers": 3, "readout": "mean", "epochs": 15}

CASES: dict[str, ExplanationCase] = {
    "triangles": ExplanationCase(
        dataset="triangles",
        classes=(1,),
        bar=0.99,
        given={"num_layers": 3, "readout": "sum", "epochs": 20},
        truth="the edges of all triangles, in the class that has them",
    ),
    "motifs-ba": ExplanationCase(
        dataset="motifs-ba",
        classes=(0, 1),
        bar=0.95,
        given=_MOTIFS,
        truth="the edges of the house or the 5-cycle",
    ),
    "motifs-tree": ExplanationCase(
        dataset="motifs-tree",
        classes=(0, 1),
        bar=None,
        given=_MOTIFS,
        truth="the edges of the house or the 5-cycle",
    ),
    "mutagenicity": ExplanationCase(
        dataset="Mutagenicity",
        classes=(0,),
        bar=0.90,
        given={"num_layers": 3, "readout": "sum", "epochs": 30, "lr": 0.002, "batch_size": 64},
        truth="the N-O and N-H bonds of all NO2 and NH2 groups, in mutagens that have any",
    ),
}


def score_explanations(
    name: str,
    *,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    limit: int = 30,
    methods: Iterable[str] = METHODS,
    root: str | Path = "data",
    mirror: str | Path | None = None,
    device: torch.device | str = "cpu",
    given: dict[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Train a model for every seed, explain graphs it classifies right, score all methods: a record
    for :func:`paper.json_records.write_record`.
    """
    case, methods = CASES[known(name, CASES, "case")], tuple(methods)
    tell = progress or (lambda _: None)
    if METHOD not in methods:
        raise ValueError(f"`methods` must contain ours, {METHOD!r}, got {list(methods)}.")
    chosen = {**case.given, "hidden": 32, "iterations": 0, **(given or {})}
    settings = settings_for("lgan-res", case.dataset, **chosen, compress=False)
    union = prepare(settings, reading=Reading(root=root, mirror=mirror), device=device)
    truths = _truths(load_raw(case.dataset, root=root, mirror=mirror), union)
    evaluations, accuracies = [], []
    for seed in seeds:
        tell(f"{name}: training, seed {seed}")
        evaluation, accuracy = _one_model(
            settings.with_seed(seed), union, truths, case.classes, limit, methods,
            lambda method, seed=seed: tell(f"{name}: {method}, seed {seed}"),  # type: ignore[misc]
        )  # fmt: skip
        evaluations.append(evaluation)
        accuracies.append(accuracy)
    summary = over_models(evaluations)
    return {
        "case": name,
        "truth": case.truth,
        "settings": {**settings.about(), "training": asdict(settings.training), "limit": limit},
        "seeds": list(seeds),
        "accuracies": accuracies,
        "summary": summary,
        "bar": case.bar,
        "environment": {**environment(torch.device(device)), "command": typed_command()},
        "holds": None if case.bar is None else summary[METHOD]["auc"] >= case.bar,
        "evaluations": [evaluation.to_json() for evaluation in evaluations],
    }


def over_models(evaluations: Sequence[Evaluation]) -> dict[str, dict[str, float]]:
    """Mean and standard deviation over models of every number, by method and name of the number.

    Fidelity and unfaithfulness are averaged over the sparsities first.
    """
    table: dict[str, dict[str, float]] = {}
    for method in evaluations[0].rows:
        many = [evaluation.rows[method] for evaluation in evaluations]
        numbers = {name: [getattr(each, name) for each in many] for name in
                   ("auc", "auc_per_graph", "stability", "seconds")}  # fmt: skip
        for name in ("plus", "minus", "unfaithfulness"):
            curves = [getattr(each.faithfulness, name) for each in many]
            numbers[f"fidelity {name}" if name != "unfaithfulness" else name] = [
                sum(curve) / len(curve) for curve in curves
            ]
        table[method] = {}
        for name, values in numbers.items():
            found = torch.tensor(values, dtype=torch.float64)
            table[method][name] = float(found.mean())
            table[method][f"{name} deviation"] = float(found.std(correction=0))
    return table


def _one_model(
    settings: Settings,
    union: GraphUnion,
    truths: Sequence[Tensor],
    classes: tuple[int, ...],
    limit: int,
    methods: tuple[str, ...],
    progress: Callable[[str], None],
) -> tuple[Evaluation, float]:
    trained = train_ensemble(factory(settings, union), union, members=1, config=settings.training)
    model = model_view(trained.network, 0)
    y = union.y.cpu()
    right = predict(model, union).argmax(-1).cpu() == y
    fits = [
        g for g in right.nonzero().flatten().tolist() if int(y[g]) in classes and truths[g].any()
    ]
    if not fits:
        raise ValueError(
            f"The model with seed {settings.training.seed} classifies no graph with a known truth "
            "right. Train it for more epochs."
        )
    generator = torch.Generator().manual_seed(settings.training.seed)
    drawn = [fits[i] for i in torch.randperm(len(fits), generator=generator)[:limit].tolist()]
    found = evaluate(
        model,
        [union.batch(torch.tensor([g], device=union.device)) for g in drawn],
        [truths[g] for g in drawn],
        targets=[int(y[g]) for g in drawn],
        methods=methods,
        seed=settings.training.seed,
        repeated=5,
        progress=progress,
    )
    return found, trained.score


def _truths(raw: RawGraphs, union: GraphUnion) -> list[Tensor]:
    """Whether each edge counts, graph by graph."""
    truth = raw.ground_truth
    if truth is None:
        assert raw.node_labels is not None
        truth = nitro_and_amino(raw.node_labels, raw.pair_index)
    return list(truth.split(torch.diff(union.pair_ptr).tolist()))
