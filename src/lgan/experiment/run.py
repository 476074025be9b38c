"""One experiment from end to end: data, model, folds, record."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from lgan.data import RawGraphs, node_features
from lgan.data.graph_features import AUTO, decided_by_width
from lgan.data.shards.union import Graphs
from lgan.experiment.recipes import LARGER_FROM, UNEVEN_FROM
from lgan.experiment.settings import Settings
from lgan.graph import GraphUnion
from lgan.train import CVResult, Variant, cross_validate_variants
from lgan.train.run_lock import run_lock
from lgan.zoo import MODELS, KernelSpec, ModelSpec, NetworkSpec, model_spec

logger = logging.getLogger(__name__)

Progress = Callable[[float], None]


def network_spec(model: str) -> NetworkSpec:
    """The entry of a network, or an error for a kernel, which has no weights to train."""
    spec = model_spec(model)
    if isinstance(spec, KernelSpec):
        raise ValueError(
            f"{model!r} is a graph kernel, which is fitted and not trained. "
            "Compare it with `lgan cv`, or choose a network."
        )
    return spec


def checked_and_placed(
    union: GraphUnion, settings: Settings, device: torch.device | str
) -> GraphUnion:
    """The data set on the device, or where it is if it would not fit there; an error where the
    network cannot do it.
    """
    spec, place = network_spec(settings.model), torch.device(device)
    if union.lines.edge_directed:
        _refuse_direction(settings.model, spec)
    if spec.check is not None:
        spec.check(union, settings.flat())
    return _placed(union, place, settings.training.budget_on(place))


def _refuse_direction(model: str, spec: ModelSpec) -> None:
    """Raise an error for a model that would ignore the direction of edges."""
    if isinstance(spec, NetworkSpec) and "directed" in spec.data_option_names:
        return
    able = [n for n, s in MODELS.items() if "directed" in getattr(s, "data_option_names", ())]
    raise ValueError(
        f"The model {model!r} does not read the direction of edges, got directed graphs. Choose "
        f"one that does: {', '.join(able)}; or read them as undirected ones with `symmetrise`."
    )


def _placed(union: GraphUnion, device: torch.device, budget: int) -> GraphUnion:
    """The data set on the device, or where it is if it would not fit there."""
    if device.type == "cpu":
        return union
    if union.nbytes > budget:
        logger.warning(
            "%s takes %.1f GiB, more than the memory budget of %.1f GiB: it stays in main memory, "
            "and its batches are moved to the GPU one by one.",
            union.name, union.nbytes / 2**30, budget / 2**30,
        )  # fmt: skip
        return union
    return union.to(device)


def variant(settings: Settings, union: Graphs) -> Variant:
    """The network for a data set, how it is trained, and all its settings for the record."""
    settings = with_data_options(settings, union)
    build = network_spec(settings.model).build
    sizes = (union.num_features, settings.hidden, union.known_task.num_outputs)
    return Variant(partial(build, *sizes, **settings.options), settings.training, settings.about())


def factory(settings: Settings, union: Graphs) -> Callable[[], nn.Module]:
    """Builds one network for a data set."""
    return variant(settings, union).factory


def with_data_options(settings: Settings, union: Graphs, *, graphs: int | None = None) -> Settings:
    """The same settings with the options that the data set decides, where they were not given.

    Args:
        settings: Model and training.
        union: The data set.
        graphs: How many of its graphs are trained on; all of them by default.
    """
    number = union.num_graphs if graphs is None else graphs
    unlabelled = union.only_degrees
    options = settings.options | (settings.unlabelled if unlabelled else {})
    if number >= LARGER_FROM and not unlabelled:
        options |= settings.larger
    if not unlabelled and settings.uneven and union.unevenness >= UNEVEN_FROM:
        options |= settings.uneven
    told = settings.graph_features
    if told == (AUTO,):
        told = decided_by_width(union.num_graph_features)
        options |= settings.described if told else {}
    settings = replace(
        settings,
        training=settings.training.sized(number, largest_batch=128 if unlabelled else 64),
        options=options,
        graph_features=told,
        unlabelled={},
        larger={},
        uneven={},
        described={},
    )
    from_data = network_spec(settings.model).data_options
    if from_data is None:
        return settings
    # What a spec asks of shards, the number of features, is what it asks of a union.
    options = {**settings.options, **from_data(cast(GraphUnion, union), settings.options)}
    return replace(settings, options=options)


def run_network(
    settings: Settings,
    union: GraphUnion,
    fold: Tensor,
    *,
    seeds: int = 1,
    output: Path | None = None,
    **how: Any,
) -> list[CVResult]:
    """Cross-validate a network on a data set from :func:`prepare`, one result a seed.

    Args:
        settings: Model and training.
        union: The data set.
        fold: The test fold of every graph ``[G]``.
        seeds: Trainings side by side, with the seed of the settings and the next ones. They
            differ in initial weights and dropout and share the batches.
        output: Folder for states and records: ``result.json``, or ``seed-S.json`` for each seed.
        how: Further arguments of :func:`lgan.cross_validate`.
    """
    first = settings.training.seed
    each = [settings.with_seed(seed) for seed in range(first, first + seeds)]
    results = run_side_by_side(each, union, folds=fold, output=output, **how)
    if output is not None:
        with run_lock(output):
            for one, result in zip(each, results, strict=True):
                result.save(output / record_name(one.training.seed, seeds))
    return results


def run_side_by_side(each: Sequence[Settings], union: GraphUnion, **how: Any) -> list[CVResult]:
    """Cross-validate networks whose settings have one shape, all in one program; see
    :func:`lgan.train.cross_validate_variants`.
    """
    variants = [variant(settings, union) for settings in each]
    return cross_validate_variants(variants, union, **as_the_network_needs(each[0], union), **how)


def as_the_network_needs(settings: Settings, union: Graphs) -> dict[str, Any]:
    """Arguments of a training that the network decides: whether its steps can be captured, and the
    rows of its largest activations.
    """
    spec = network_spec(settings.model)
    # Networks that count rows of their own refuse shards.
    rows = None if spec.rows is None else spec.rows(cast(GraphUnion, union))
    return {"captured": spec.captured, "rows": rows}


def record_name(seed: int | str, seeds: int) -> str:
    """The file that holds the record of a seed, alone or one of several."""
    return "result.json" if seeds == 1 else f"seed-{seed}.json"


def run_kernel(
    settings: Settings,
    raw: RawGraphs,
    fold: Tensor,
    *,
    output: Path | None = None,
    progress: Progress | None = None,
) -> CVResult:
    """Cross-validate a graph kernel: Gram matrices once, then a support vector machine per fold.

    Args:
        settings: The kernel and its options.
        raw: The data set as read.
        fold: The test fold of every graph ``[G]``.
        output: Folder for the record.
        progress: Called with the fraction done.
    """
    from lgan.train.kernel_svm import cross_validate_kernel  # scikit-learn takes a second to load

    spec = model_spec(settings.model)
    assert isinstance(spec, KernelSpec)
    if raw.direction is not None:
        _refuse_direction(settings.model, spec)
    labels = _node_labels(settings, raw)
    progress = progress or (lambda _: None)
    options = settings.options | _edge_labels(settings, raw)
    begin = time.perf_counter()
    grams = spec.grams(raw, labels, **options, progress=lambda done: progress(done / 2))
    return cross_validate_kernel(
        grams.matrices,
        raw.y,
        folds=fold,
        candidates=grams.candidates,
        seed=settings.training.seed,
        dataset=settings.dataset,
        model=settings.about(),
        gram_seconds=time.perf_counter() - begin,
        output=output,
        progress=lambda done: progress((1 + done) / 2),
    )


def _node_labels(settings: Settings, raw: RawGraphs) -> Tensor:
    """The category of every node that a kernel compares ``[N]``; ``all`` columns make one."""
    features, columns = settings.features, raw.nodes
    if features == "all":
        if columns.names and not columns.number_names:
            joined: Tensor = torch.unique(columns.categories, dim=0, return_inverse=True)[1]
            return joined
        features = "attributes" if columns.number_names else "degree"
    labels, _ = node_features(raw, features)
    if labels.is_floating_point():
        raise ValueError(
            f"The kernel {settings.model!r} compares categories of nodes, got the features "
            f"{settings.features!r}. Choose 'labels', 'degree' or 'constant'."
        )
    return labels


def _edge_labels(settings: Settings, raw: RawGraphs) -> dict[str, Tensor]:
    """The categories of pairs that a kernel compares, where it was asked to and there are any."""
    if settings.edge_features == "none":
        return {}
    columns = raw.pairs
    if settings.edge_features == "attributes" or (
        settings.edge_features == "all" and columns.number_names
    ):
        raise ValueError(
            f"The kernel {settings.model!r} compares categories of edges, got the edge features "
            f"{settings.edge_features!r}. Choose 'labels' or 'none'."
        )
    if not columns.names:
        if settings.edge_features == "labels":
            raise ValueError(f"{raw.name} has no labels of edges. Choose the edge features 'none'.")
        return {}
    return {"edge_labels": torch.unique(columns.categories, dim=0, return_inverse=True)[1]}
