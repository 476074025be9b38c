"""A source read for a network: its graphs, what encodes them, and their union."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from lgan.catalogue import DATASETS
from lgan.data import Encoder, RawGraphs, Shards, fit_encoder
from lgan.data.encoder import STRUCTURAL
from lgan.data.graph_features import source_columns
from lgan.data.graph_keys import graph_keys
from lgan.data.load import UnionOptions, cached_union, encoded, with_target
from lgan.data.shards.folder import is_shards
from lgan.data.shards.union import Graphs, ShardedUnion
from lgan.experiment.reading import Reading
from lgan.experiment.run import checked_and_placed, network_spec, with_data_options
from lgan.experiment.settings import Settings
from lgan.graph import GraphUnion
from lgan.graph.free_memory import free_memory
from lgan.predictor.neighbours import training_molecules
from lgan.task import TargetScale
from lgan.train import OUTSIDE, TrainedEnsemble
from lgan.train.checkpoint import Checkpoint
from lgan.train.out_of_fold import OutOfFold
from lgan.train.result import rounded
from lgan.train.stack import unstack

# What of shards is in memory at once unless said otherwise; twice that while the next is read.
WINDOW_BYTES = 512 << 20
# On a GPU, whose steps are captured where all shards are there: this share of what is free, on it
# and beside it.
WINDOW_SHARE = 0.25
# Molecules in shards up to which a model keeps fingerprints of those it is trained on.
MOST_MOLECULES = 100_000


@dataclass(frozen=True, eq=False)
class ReadSource:
    """A source as a network reads it.

    Attributes:
        raw: The graphs that have a target; of shards what their rows say, without nodes.
        encoder: What encodes them, and later sources.
        union: The graphs, encoded, on the device to train on.
        unlabelled: Graphs that were left out, since they have no target.
        shards: The shards they come from, where they do.
    """

    raw: RawGraphs
    encoder: Encoder
    union: Graphs
    unlabelled: int = 0
    shards: Shards | None = None

    @property
    def whole(self) -> GraphUnion:
        """The graphs, where all of them are in memory."""
        if not isinstance(self.union, GraphUnion):
            raise ValueError(
                f"This needs all graphs of {self.raw.name} in memory at once, got {self.union}. "
                "Use fewer shards, or `lgan train`."
            )
        return self.union

    def select(self, graphs: Sequence[int]) -> RawGraphs:
        """Some of the graphs, with their nodes."""
        return self.raw.select(graphs) if self.shards is None else self.shards.raw(graphs)

    def keys(self) -> Tensor:
        """What tells every graph again, see :func:`lgan.data.graph_keys.graph_keys` ``[G]``."""
        if self.shards is not None:
            return self.shards.column("graph_keys")
        return graph_keys(self.raw, edges=self.encoder.num_edge_features > 0)

    @staticmethod
    def of(
        settings: Settings,
        source: str,
        reading: Reading,
        *,
        device: torch.device | str = "cpu",
        progress: Callable[..., None] | None = None,
        window: int | None = None,
    ) -> "ReadSource":
        """Read a source for the network of some settings. ``progress`` is called with the fraction
        done of reading, and then with that of what is named beside it.

        Of shards only a ``window`` of so many may be in memory; unless given as many as take
        512 MiB, or a quarter of what is free where they train on a GPU.
        """
        if is_shards(source):
            return _of_shards(settings, Shards.open(source), reading, window, device)
        raw, encoder = _read(settings, source, reading, progress)
        labelled = with_target(raw, encoder.task)
        union = _union(
            settings, source, reading, device,
            lambda options: encoded(labelled, encoder, options, progress),
        )  # fmt: skip
        return ReadSource(labelled, encoder, union, raw.num_graphs - labelled.num_graphs)

    @staticmethod
    def of_graphs(
        settings: Settings,
        raw: RawGraphs,
        task: str,
        device: torch.device | str = "cpu",
        *,
        trained: int | None = None,
    ) -> "ReadSource":
        """The graphs that have a target, ready for the network of some settings, of which so many
        are ``trained`` on; all of them by default.
        """
        encoder = fit_encoder(
            raw,
            features=settings.features,
            edge_features=settings.edge_features,
            graph_features=settings.graph_features,
            task=task,
            rows=trained,
        )
        labelled = with_target(raw, encoder.task)
        union = encoded(labelled, encoder, _union_options(settings))
        union = checked_and_placed(union, settings, device)
        return ReadSource(labelled, encoder, union, raw.num_graphs - labelled.num_graphs)


def prepare(
    settings: Settings,
    source: str | None = None,
    reading: Reading | None = None,
    *,
    device: torch.device | str = "cpu",
) -> GraphUnion:
    """A source in the form the network reads, checked, on the device to train on; from its cache,
    without a look at the source, where there is one.

    A data set larger than the memory budget stays in main memory.

    Args:
        settings: Model and training.
        source: Name or path of the data set; that of the settings unless given.
        reading: What is said of it beyond its name.
        device: Where to train.
    """
    source, reading = source or settings.dataset, reading or Reading()

    def build(options: UnionOptions) -> GraphUnion:
        raw, encoder = _read(settings, source, reading)
        return encoded(with_target(raw, encoder.task), encoder, options)

    return _union(settings, source, reading, device, build)


def stored_model(
    settings: Settings,
    source: ReadSource,
    trained: TrainedEnsemble,
    *,
    training_data: bool = True,
) -> Checkpoint:
    """A trained network as it is kept in a file, with all that a prediction needs; of molecules
    SMILES and targets beside their fingerprints, unless without ``training_data``.
    """
    settings = with_data_options(settings, source.union)
    raw, encoder, alone = source.raw, source.encoder, trained.members == 1
    known = raw.name in DATASETS
    # Of several models each graph was seen by some, unless all hold out the same.
    same = alone or int(trained.fold.max()) == 0
    held_out = (trained.fold == 0).nonzero().flatten() if same else torch.empty(0).long()
    seen = (trained.fold != OUTSIDE).index_fill(0, held_out, False)
    said, scale = trained.predictions, trained.scale
    there = said.isfinite().all(1)
    y, molecules = source.union.y.cpu(), None
    if raw.structures is not None and raw.featuriser is not None:
        part = raw.select(seen.nonzero().flatten().tolist())
        molecules = training_molecules(part, y[seen], named=training_data)
    info = {
        "epoch": trained.epoch,
        "score": trained.score,
        "fold_scores": rounded(trained.fold_scores, 9),
        "pooled_score": trained.pooled_score,
        "held_out_graphs": held_out.tolist(),
        "test": [rounded(row, 7) for row in trained.test.tolist()],
        "loss": [rounded(row, 5) for row in trained.loss.tolist()],
        **trained.info,
    }
    return Checkpoint(
        model=settings.model,
        options=settings.options,
        in_channels=source.union.num_features,
        hidden_channels=settings.hidden,
        out_channels=source.union.num_classes,
        dataset=raw.name,
        features=settings.features,
        state=unstack(trained.network, 0) if alone else trained.network.state_dict(),
        info={**info, "compress": settings.compress},
        feature_names=encoder.feature_names(raw, settings.features) if known else (),
        classes=encoder.task.classes if encoder.task is not None else (),
        encoder=encoder.to_json(),
        target_scale=TargetScale(scale.mean[0], scale.std[0]) if scale and alone else scale,
        trained_on=source.keys()[seen],
        members=trained.members,
        out_of_fold=OutOfFold(y[there], said[there], trained.fold[there], trained.held_out),
        molecules=molecules,
        companion=trained.companion,
    )


def _of_shards(
    settings: Settings,
    shards: Shards,
    reading: Reading,
    window: int | None,
    device: torch.device | str,
) -> ReadSource:
    """Shards for the network of some settings: one union where they fit into a window."""
    spec = network_spec(settings.model)
    told = shards.decided(settings.graph_features)
    if not told:
        shards = shards.without_graph_features()
    made = {
        **shards.options,
        "features": "all",
        "edge_features": "all",
        "graph_features": ",".join(shards.graph_features) or "none",
    }
    wanted = {
        "compress": settings.compress,
        "pair_code": settings.pair_code,
        "features": settings.features,
        "edge_features": settings.edge_features if shards.encoder.num_edge_features else "all",
        "graph_features": ",".join(told) or "none",
    }
    differ = [name for name in wanted if wanted[name] != made[name]]
    given = {name: value for name, value in reading.given.items() if name != "columns"}
    missing = [
        name for name in reading.columns if name not in (*shards.columns, *shards.task.targets)
    ]
    if differ or given or missing or reading.task or spec.lift is not None:
        asked = [f"{name} {wanted[name]}" for name in differ]
        asked += [f"{name} {value}" for name, value in given.items()]
        asked += [f"the column {name}" for name in missing]
        kept = [f"{name} {value}" for name, value in made.items()]
        kept += [f"the columns {', '.join(shards.columns)}"] if shards.columns else []
        raise ValueError(
            f"{shards.folder} holds shards, which are read as they were prepared, with "
            f"{', '.join(kept)}; the model {settings.model!r} or an option asks for "
            f"{', '.join(asked) or reading.task or 'cells'}. Prepare the table again with that, "
            "or train on the table itself."
        )
    if window is None:
        features = 4 * shards.num_graphs * shards.encoder.num_graph_features
        window = max(1, len(shards) * _window_bytes(device) // (shards.nbytes + features))
    union: Graphs
    if window >= len(shards):
        union = checked_and_placed(shards.union(), settings, device)
    elif spec.check is not None or spec.rows is not None:
        raise ValueError(
            f"The model {settings.model!r} must see all graphs at once, got shards of "
            f"{shards.nbytes / 2**30:.1f} GiB. Choose a larger `--window`, or another model."
        )
    else:
        union = ShardedUnion(shards, window)
    rows = shards.rows()
    if shards.num_graphs > MOST_MOLECULES:
        rows = replace(rows, structures=None)
    return ReadSource(rows, shards.encoder, union, shards.counts["unlabelled"], shards)


def _window_bytes(device: torch.device | str) -> int:
    place = torch.device(device)
    if place.type == "cpu":
        return WINDOW_BYTES
    free = min(free_memory(place), free_memory(torch.device("cpu")))
    return max(WINDOW_BYTES, int(WINDOW_SHARE * free))


def _read(
    settings: Settings, source: str, reading: Reading, progress: Callable[..., None] | None = None
) -> tuple[RawGraphs, Encoder]:
    # Features of whole graphs come from columns that must be read with the others.
    more = [n for n in source_columns(settings.graph_features) if n not in reading.columns]
    not_read = {
        "node_features": settings.features in STRUCTURAL,
        "edge_features": settings.edge_features == "none",
    }
    raw = replace(reading, columns=(*reading.columns, *more)).raw(
        source, progress, unread=[name for name, said in not_read.items() if said]
    )
    encoder = fit_encoder(
        raw,
        features=settings.features,
        edge_features=settings.edge_features,
        graph_features=settings.graph_features,
        targets=None if reading.targets == ("all",) else reading.targets,
        task=reading.task,
        progress=None if progress is None else lambda done: progress(done, "computing descriptors"),
        root=reading.root,
    )
    if encoder.task is None and reading.targets != ():
        raise ValueError(
            f"{raw.name} has nothing to predict: no targets were found. Name a column or an "
            "attribute of the graphs (`--target`)."
        )
    return raw, encoder


def _union_options(settings: Settings) -> UnionOptions:
    spec = network_spec(settings.model)
    return UnionOptions(
        settings.features,
        settings.edge_features,
        settings.compress,
        spec.triangles,
        settings.pair_code,
        None if spec.lift is None else spec.lift(settings.options),
        settings.graph_features,
        settings.unlabelled.get("pair_code"),
    )


def _union(
    settings: Settings,
    source: str,
    reading: Reading,
    device: torch.device | str,
    build: Callable[[UnionOptions], GraphUnion],
) -> GraphUnion:
    """The union of a source, cached or built, where the network of these settings trains."""
    options = _union_options(settings)
    union = cached_union(
        source,
        options,
        lambda: build(options),
        given={**reading.given, "task": reading.task, "columns": None},
        root=reading.root,
        mirror=reading.mirror,
    )
    return checked_and_placed(union, settings, device)
