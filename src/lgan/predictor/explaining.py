"""Explanations by a trained model of whatever it reads: files, tables, SMILES, graphs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Protocol

from torch import nn

from lgan.data import Encoder, RawGraphs
from lgan.data.molecule_graphs import graph_molecule
from lgan.explain import (
    FRAGMENTS,
    MOLECULES,
    Attribution,
    Fragment,
    GalleryItem,
    Molecule,
    attribute,
    molecule_fragments,
    molecule_from_graph,
)
from lgan.explain.methods import DEFAULT
from lgan.explain.question import Over
from lgan.graph import GraphUnion
from lgan.task import TargetScale, Task

SCORE_COLUMNS = ("row", "id", "explained", "kind", "name", "nodes", "score", "spread")


class _Model(Protocol):
    """What an explanation asks of a :class:`lgan.Predictor`."""

    @property
    def network(self) -> nn.Module: ...
    @property
    def encoder(self) -> Encoder: ...
    @property
    def scale(self) -> TargetScale | None: ...
    @property
    def task(self) -> Task: ...
    def union(self, raw: RawGraphs, *, compress: bool | None = None) -> GraphUnion: ...


def explain_graphs(
    predictor: _Model,
    raw: RawGraphs,
    *,
    target: int | str | None = None,
    against: int | str | None = None,
    method: str = DEFAULT,
    over: Over = "edges",
    fragments: str | None = None,
    recount: bool = False,
    **asked: Any,
) -> list[Attribution]:
    """Explanations of graphs that :meth:`Predictor.read` gave, nodes in their order there.

    Args:
        predictor: The model.
        raw: The graphs.
        target: Class, or the target of several, by name or number; the predicted class by default.
        against: The class it is compared with, by name or number; all others by default.
        method: Name of the method.
        over: What is taken away.
        fragments: Kind of fragments, see :func:`lgan.attribute` and
            :func:`lgan.explain.molecule_fragments`; by default the groups of molecules.
        recount: Tell atoms that lost a neighbour so. On the development suite scores by which the
            other features, and this one, stay as they are find known groups better.
        asked: Other options of :func:`lgan.attribute`.
    """
    if raw.num_graphs == 0:
        return []
    found: list[Attribution] = attribute(
        predictor.network,
        predictor.union(raw, compress=False),
        None if target is None else explained_output_of(predictor.task, target),
        against=None if against is None else explained_output_of(predictor.task, against),
        method=method,
        over=over,
        fragments=_fragments(raw, fragments),
        task=predictor.task,
        scale=predictor.scale,
        degrees=predictor.encoder.with_degrees if recount else None,
        **asked,
    )
    if not asked.get("features"):
        return found
    nodes, pairs = predictor.encoder.nodes.column_names, predictor.encoder.pairs.column_names
    return [replace(each, node_feature_names=nodes, edge_feature_names=pairs) for each in found]


def explained_output_of(task: Task, target: int | str) -> int:
    """The output of a model that stands for a class, or for one of several targets."""
    names = task.classes if task.has_classes else task.targets
    if isinstance(target, str) and target in names:
        return names.index(target)
    if str(target).isdecimal() and int(target) < len(names):
        return int(target)
    what = "class" if task.has_classes else "target"
    raise ValueError(
        f"The {what} to explain must be one of {', '.join(names)}, or a number from 0 to "
        f"{len(names) - 1}, got {target!r}."
    )


def explained_item(
    predictor: _Model,
    raw: RawGraphs,
    graph: int,
    found: Attribution,
    interval: tuple[float, float] | None = None,
) -> GalleryItem:
    """An explained graph with its name and picture, that of a molecule where it is one."""
    task = predictor.task
    name = f"{raw.name} {int(raw.rows[graph])}" if raw.ids is None else raw.ids[graph]
    molecule = None
    if raw.structures is not None and raw.featuriser is not None:
        molecule = Molecule.of_rdkit(graph_molecule(raw, graph), name)
    elif raw.name in MOLECULES and raw.node_labels is not None and find_spec("rdkit") is not None:
        molecule = molecule_from_graph(raw, graph)
    names = task.classes if task.has_classes else task.targets
    return GalleryItem.of(found, names, name=name, molecule=molecule, interval=interval)


def score_rows(
    raw: RawGraphs, found: Sequence[Attribution], task: Task
) -> Iterator[dict[str, Any]]:
    """A row of a table for every node, edge, triangle, fragment and feature of explained graphs."""
    names = task.classes if task.has_classes else task.targets
    for graph, attribution in enumerate(found):
        own = {
            "row": int(raw.rows[graph]),
            "id": "" if raw.ids is None else raw.ids[graph],
            "explained": names[attribution.target],
        }
        for row in attribution.to_dataframe().to_dict("records"):
            yield own | row


def _fragments(raw: RawGraphs, kind: str | None) -> str | list[tuple[Fragment, ...]] | None:
    molecules = raw.structures is not None and raw.featuriser is not None
    if not molecules or kind in FRAGMENTS:
        return kind
    chosen = kind or "groups"
    return [molecule_fragments(graph_molecule(raw, g), chosen) for g in range(raw.num_graphs)]
