"""From features and targets as a source spells them to those a model reads."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lgan.catalogue import EDGE_FEATURES, FEATURES, known
from lgan.data.column_encoder import ColumnEncoder
from lgan.data.columns import Columns
from lgan.data.graph_features import GraphFeatures, decided_features, source_columns
from lgan.data.node_features import bins_of, chosen_columns, feature_names, node_columns
from lgan.data.raw import RawGraphs
from lgan.graph import EdgeFeatures, GraphUnion
from lgan.task import Task

FORMAT = 1
# What a stored encoder has only where it is so; those of earlier versions have none of it.
ONLY_IF_SO = {"directed", "symmetrise", "graphs"}
# Values of a column that a message names.
MOST_TOLD = 10
# What a node can be told of itself where a source names no features.
STRUCTURAL = ("degree", "degree-bins", "constant")


@dataclass(frozen=True)
class Encoder:
    """Columns, vocabularies, the task and what made the features: all that turns graphs of a
    source into what a model reads, the same for every later source.

    Vocabularies come from the whole source and hold no target. A value that was not in it has a
    column of its own, the last of its feature, and never shifts the others.

    Attributes:
        nodes: The columns of the nodes. Features that come from the graph itself (``degree``,
            ``degree-bins``, ``constant``) are a column of categories of that name.
        pairs: The columns of the pairs; none where a model does not read any.
        task: What is predicted; none where a source has no targets.
        featuriser: What computed the features, with its options (molecules).
        directed: Whether the edges have a direction.
        symmetrise: Whether directed graphs are read as undirected ones.
        graphs: Features of whole graphs; none where a model reads none.

    Example:
        >>> from lgan.data import load_raw
        >>> raw = load_raw("csl")
        >>> encoder = Encoder.fit(raw, features="degree")
        >>> encoder.nodes.names, encoder.num_features, encoder.encode(raw).num_graphs
        (('degree',), 6, 150)
    """

    nodes: ColumnEncoder
    pairs: ColumnEncoder
    task: Task | None = None
    featuriser: Mapping[str, Any] | None = None
    directed: bool = False
    symmetrise: bool = False
    graphs: GraphFeatures | None = None

    @staticmethod
    def fit(
        raw: RawGraphs,
        *,
        features: str = "all",
        edge_features: str = "all",
        graph_features: Sequence[str] = (),
        targets: Sequence[str] | None = None,
        task: str | None = None,
        other: bool = True,
        rows: int | None = None,
        progress: Callable[[float], None] | None = None,
        cache: Path | None = None,
    ) -> "Encoder":
        """The encoder of a source.

        Args:
            raw: The graphs.
            features: ``all`` columns of the nodes, or bins of their degree where there are none;
                ``labels``, ``attributes``, or both joined by ``+``; ``degree``; ``degree-bins``,
                in which degrees from 32 on share a column with those within 6 %, and larger ones
                than there were count as the largest; or ``constant``.
            edge_features: ``all`` columns of the pairs, ``labels``, ``attributes``, or ``none``.
            graph_features: Features of whole graphs: ``morgan`` and ``rdkit2d`` of molecules,
                ``patterns`` and ``shape`` of any, or columns of the source; ``auto`` for what
                :func:`lgan.data.graph_features.decided_features` decides.
            targets: The names of the targets; all that the source has unless given.
            task: The kind of task, where the values would suggest another.
            other: Keep a column for values that are not here; the published sets have none.
            rows: The rows by which ``auto`` decides; all of the source unless given.
            progress: Called with the fraction of the descriptors computed.
            cache: A folder in which descriptors are kept.
        """
        known(features, ("all", *FEATURES), "kind of features")
        known(edge_features, EDGE_FEATURES, "kind of edge features")
        if features == "all" and not raw.nodes.num_columns:
            features = "degree-bins"
        nodes, asked = node_columns(raw, features), _task(raw, targets, task)
        told = decided_features(
            graph_features,
            rows=raw.num_graphs + len(raw.errors) if rows is None else rows,
            molecules=raw.featuriser is not None,
            labelled=features not in STRUCTURAL and any(len(w) > 1 for w in nodes.vocabularies),
        )
        check_not_targets(source_columns(told), () if asked is None else asked.targets)
        encoder = Encoder(
            nodes=ColumnEncoder.fit(nodes, other=other),
            pairs=ColumnEncoder.fit(chosen_columns(raw, "edge", edge_features), other=other),
            task=asked,
            featuriser=raw.featuriser,
            directed=raw.direction is not None,
            symmetrise=raw.symmetrised,
        )
        if not told:
            return encoder
        read = encoder._as_read(raw, told)
        return replace(encoder, graphs=GraphFeatures.fit(read, told, progress, cache))

    @property
    def num_features(self) -> int:
        """Features of a node, or categories where they are the only column."""
        return self.nodes.width

    @property
    def num_edge_features(self) -> int:
        """Features of an edge; 0 where none are read."""
        return self.pairs.width

    @property
    def num_graph_features(self) -> int:
        """Features of a graph as a whole; 0 where none are read."""
        return 0 if self.graphs is None else self.graphs.width

    @property
    def num_outputs(self) -> int:
        """Outputs of a model: 0 where there is no task."""
        return 0 if self.task is None else self.task.num_outputs

    def unseen(self, raw: RawGraphs) -> dict[str, dict[str, int]]:
        """How often values occur that were not in the source: by column, then by value."""
        self._check_source(raw)
        nodes = self.nodes.unseen(self._node_columns(raw), f"nodes of {raw.name}")
        pairs = self.pairs.unseen(raw.pairs, f"edges of {raw.name}")
        graphs = {} if self.graphs is None else self.graphs.unseen(raw)
        return {
            f"{of} {name}": words
            for of, found in (("node", nodes), ("edge", pairs), ("graph", graphs))
            for name, words in found.items()
        }

    def feature_names(self, raw: RawGraphs, features: str) -> tuple[str, ...]:
        """What every feature of the nodes of a published set stands for, see
        :func:`lgan.data.feature_names`; ``features`` may be ``all`` too.
        """
        if features != "all":
            return feature_names(raw, features)
        prefix = "" if {*self.nodes.names} & {*STRUCTURAL} else f"{raw.name} "
        return tuple(prefix + column for column in self.nodes.column_names)

    def unread(self, raw: RawGraphs) -> tuple[str, ...]:
        """The columns of a source that are not read."""
        return tuple(
            f"{of} {name}"
            for of, encoder, columns in (
                ("node", self.nodes, raw.nodes),
                ("edge", self.pairs, raw.pairs),
            )
            for name in columns.names + columns.number_names
            if name not in encoder.names + encoder.number_names
        )

    def encode(
        self,
        raw: RawGraphs,
        *,
        compress: bool = True,
        triangles: bool = True,
        pair_code: str = "none",
        labelled: bool = True,
    ) -> GraphUnion:
        """The graphs as a model reads them.

        Args:
            raw: The graphs; their features must have the columns of this encoder.
            compress: Merge true twins with equal features.
            triangles: List triangles.
            pair_code: Structural code of the pairs.
            labelled: Read the targets; without, ``y`` says that they are missing.
        """
        self._check_source(raw)
        columns, of = self._node_columns(raw), f"nodes of {raw.name}"
        table = None
        if self.nodes.only_categories:
            x = self.nodes.encode(columns, of)
        else:  # few rows are distinct: twins are found by their numbers, and memory is small
            table, x = self.nodes.distinct(columns, of)
        edges = None
        if self.num_edge_features:
            edges = EdgeFeatures(*self.pairs.distinct(raw.pairs, f"edges of {raw.name}"))
        if raw.direction is not None and edges is not None:
            edges = edges.with_direction(raw.direction)
        elif raw.direction is not None:
            edges = EdgeFeatures.of(None, raw.direction)
        if self.task is not None and labelled:
            y = self.task.encode(raw.targets)
        elif self.task is not None and not self.task.has_classes:
            y = torch.full((raw.num_graphs, len(self.task.targets)), torch.nan)
        else:
            y = torch.full((raw.num_graphs,), -1)
        return GraphUnion.build(
            x,
            raw.pair_index,
            y,
            raw.node_ptr,
            num_features=self.num_features,
            num_classes=self.num_outputs,
            compress=compress,
            triangles=triangles,
            pair_code=pair_code,
            name=raw.name,
            task=self.task,
            x_table=table,
            edges=edges,
            graph_x=self._graph_features(raw),
        )

    def with_degrees(self, x: Tensor, degree: Tensor) -> Tensor:
        """Encoded features of nodes that have so many neighbours now.

        Args:
            x: What :meth:`encode` made of them, ``[n]`` categories or ``[n, F]``.
            degree: The number of neighbours of every node ``[n]``. Where no feature tells it, or a
                column of the source of that name, the features stay as they are.
        """
        told = [name for name in ("degree", "degree-bins") if name in self.nodes.names]
        if not told or (self.featuriser is None and len(self.nodes.names) > 1):
            return x
        column = self.nodes.names.index(told[0])
        words, start = self.nodes.vocabularies[column], self.nodes.starts[column]
        every = torch.arange(int(degree.max()) + 1 if len(degree) else 1)
        if told[0] == "degree-bins":
            places = bins_of(every).clamp(max=len(words) - 1)
        else:
            known = {word: i for i, word in enumerate(words)}
            last = len(words) - (not self.nodes.other)
            places = torch.tensor([known.get(str(d), last) for d in every.tolist()])
        place = places.to(x.device)[degree]
        if self.nodes.only_categories:
            return place.to(x.dtype)
        new = F.one_hot(place, len(words) + self.nodes.other).to(x.dtype)
        return torch.cat([x[:, :start], new, x[:, start + new.size(1) :]], 1)

    def to_json(self) -> dict[str, Any]:
        """The encoder as JSON's types."""
        return {
            "format": FORMAT,
            "nodes": self.nodes.to_json(),
            "pairs": self.pairs.to_json(),
            "task": None if self.task is None else self.task.to_json(),
            "featuriser": None if self.featuriser is None else dict(self.featuriser),
            **({"directed": True} if self.directed else {}),
            **({"symmetrise": True} if self.symmetrise else {}),
            **({} if self.graphs is None else {"graphs": self.graphs.to_json()}),
        }

    @staticmethod
    def from_json(plain: Any) -> "Encoder":
        """The encoder that `to_json` wrote."""
        fields = {"format", "nodes", "pairs", "task", "featuriser"}
        known = isinstance(plain, Mapping) and set(plain) - ONLY_IF_SO == fields
        if not known or plain["format"] != FORMAT:
            raise ValueError(
                f"An encoder must be an object of format {FORMAT} with {sorted(fields)}, got "
                f"{str(plain)[:80]}. Read it from a model file of this version."
            )
        featuriser = plain["featuriser"]
        if featuriser is not None and not isinstance(featuriser, Mapping):
            raise ValueError(f"`featuriser` must be an object or null, got {featuriser!r}.")
        return Encoder(
            nodes=ColumnEncoder.from_json(plain["nodes"]),
            pairs=ColumnEncoder.from_json(plain["pairs"]),
            task=None if plain["task"] is None else Task.from_json(plain["task"]),
            featuriser=featuriser,
            directed=bool(plain.get("directed", False)),
            symmetrise=bool(plain.get("symmetrise", False)),
            graphs=GraphFeatures.from_json(plain["graphs"]) if "graphs" in plain else None,
        )

    def _check_source(self, raw: RawGraphs) -> None:
        """Refuse graphs of another kind than those the model reads."""
        if self.featuriser is None and raw.featuriser is not None:
            raise ValueError(
                f"The model reads graphs whose features come with them, got molecules "
                f"({raw.name}). Give graphs like those it was trained on, or train it on molecules."
            )
        if raw.featuriser != self.featuriser:
            raise ValueError(
                f"The features of {raw.name} must be made as those of the model were, with "
                f"{_shown(self.featuriser)}, got {_shown(raw.featuriser)}. Read the source with "
                "the same options."
            )
        if (raw.direction is not None) != self.directed:
            wanted, got = ("a direction", "none") if self.directed else ("no direction", "one")
            raise ValueError(
                f"The edges of {raw.name} must have {wanted}, as those the model was trained on, "
                f"got {got}. Read the source with `directed={self.directed}`."
            )

    def _graph_features(self, raw: RawGraphs) -> Tensor | None:
        """The features of whole graphs."""
        if self.graphs is None:
            return None
        return self.graphs.encode(self._as_read(raw, self.graphs.asked))

    def _as_read(self, raw: RawGraphs, asked: Sequence[str]) -> RawGraphs:
        """The graphs with those labels alone that a network reads, where patterns are asked for,
        which are of these.
        """
        if "patterns" not in asked:
            return raw
        nodes = self.nodes.labels(self._node_columns(raw), f"nodes of {raw.name}")
        return replace(raw, nodes=nodes, pairs=self.pairs.labels(raw.pairs, f"edges of {raw.name}"))

    def _node_columns(self, raw: RawGraphs) -> Columns:
        """The columns of the nodes, with those that come from the graph itself."""
        computed = next((name for name in STRUCTURAL if self.nodes.names == (name,)), None)
        # A source may have a column of this name; then that is what was read.
        if computed is None or computed in raw.nodes.names:
            return raw.nodes
        return node_columns(raw, computed, bins=len(self.nodes.vocabularies[0]))


def unseen_words(unseen: Mapping[str, Mapping[str, int]]) -> str:
    """What :meth:`Encoder.unseen` found, in words; of every column the most frequent values.

    Example:
        >>> unseen_words({"node element": {"Xe": 1, "Si": 2}})
        'values the model was not trained on: node element Si (2), Xe (1)'
    """
    told = []
    for column, counts in unseen.items():
        words = [f"{word} ({count:,})" for word, count in Counter(counts).most_common(MOST_TOLD)]
        more = len(counts) - len(words)
        told.append(f"{column} {', '.join(words)}" + (f" and {more:,} others" if more else ""))
    return "values the model was not trained on: " + "; ".join(told)


def check_not_targets(graph_features: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse features that are what is to be predicted."""
    told = [name for name in graph_features if name in targets]
    if told:
        raise ValueError(
            f"`graph_features` must not name what is predicted, got {told[0]!r}. Leave it out, "
            "or name the targets."
        )


def _task(raw: RawGraphs, targets: Sequence[str] | None, kind: str | None) -> Task | None:
    names = tuple(targets) if targets is not None else None
    missing = [name for name in names or () if name not in raw.targets]
    if missing:
        there = ", ".join(map(repr, raw.targets)) or "none"
        raise ValueError(
            f"The target {missing[0]!r} must be among those of {raw.name}, got {there}. "
            "Name one of these."
        )
    said = raw.task
    if said is not None and names in (None, said.targets) and kind in (None, said.kind):
        return said
    chosen = {name: raw.targets[name] for name in (raw.targets if names is None else names)}
    return Task.infer(chosen, kind) if chosen else None


def _shown(featuriser: Mapping[str, Any] | None) -> str:
    return "no featuriser" if featuriser is None else str(dict(featuriser))
