"""Explanations by a trained model of whatever it reads: files, tables, SMILES, graphs."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from torch import Tensor

from lgan.data import RawGraphs
from lgan.data.molecules.graphs import graph_molecule
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
from lgan.explain.atoms import MoleculeSpec
from lgan.nn.graph_block import graph_alone
from lgan.zoo import MODELS, NetworkSpec

if TYPE_CHECKING:
    from lgan.predictor.predictor import Predictor

SCORE_COLUMNS = ("row", "id", "explained", "kind", "name", "nodes", "score", "spread")


def explain_graphs(
    predictor: "Predictor",
    raw: RawGraphs,
    *,
    target: int | str | None = None,
    against: int | str | None = None,
    fragments: str | None = None,
    **asked: Any,
) -> list[Attribution]:
    """Explanations of graphs that :meth:`Predictor.read` gave, nodes in their order there.

    A network that has learned to do without features of whole graphs is asked without them: no
    edge carries these, and what they say would be missing from the scores. A companion, which reads
    nothing else, is not asked at all.

    Args:
        predictor: The model.
        raw: The graphs.
        target: Class, or the target of several, by name or number; the predicted class by default.
        against: The class it is compared with, by name or number; all others by default.
        fragments: Kind of fragments, see :func:`lgan.attribute` and
            :func:`lgan.explain.molecule_fragments`; by default the groups of molecules.
        asked: ``method``, ``over`` and other options of :func:`lgan.attribute`.
    """
    if raw.num_graphs == 0:
        return []
    check_explainable(predictor.checkpoint.model)
    network, said = graph_alone(predictor.network), None
    output: Any = None if target is None else explained_output_of(predictor, target)
    withheld = network is not predictor.network or predictor.checkpoint.companion is not None
    if withheld:
        said = predictor.member_answers(raw).mean(0)
        if output is None and predictor.task.has_classes:
            output = said.argmax(1).tolist()
    found: list[Attribution] = attribute(
        network,
        predictor.union(raw, compress=False),
        output,
        against=None if against is None else explained_output_of(predictor, against),
        fragments=_fragments(raw, fragments),
        task=predictor.task,
        scale=predictor.scale,
        **asked,
    )
    if said is not None:
        rows = zip(found, said, strict=True)
        found = [replace(each, prediction=row, withheld=True) for each, row in rows]
    if not asked.get("features"):
        return found
    nodes, pairs = predictor.encoder.nodes.column_names, predictor.encoder.pairs.column_names
    return [replace(each, node_feature_names=nodes, edge_feature_names=pairs) for each in found]


def check_explainable(model: str) -> None:
    """Refuse networks that read more than edges: what that is changes with every edge left out."""
    able = [name for name, s in MODELS.items() if isinstance(s, NetworkSpec) and s.lift is None]
    if model not in able:
        raise ValueError(
            f"The model to explain must be one of {', '.join(able)}, got {model!r}, which reads "
            "more than edges. Train one of these."
        )


def output_names(predictor: "Predictor") -> tuple[str, ...]:
    """What the outputs of a model stand for: the classes, by what they mean where that is known of
    a set, or the targets.
    """
    task, known = predictor.task, _known_molecules(predictor)
    if not task.has_classes:
        return task.targets
    return task.classes if known is None else known.classes


def coloured_output(predictor: "Predictor") -> int | None:
    """The class of two that colours speak for on every picture: its scores are those of the other
    with the sign turned. ``None`` where there are more, for the predicted one of each graph.
    """
    if predictor.task.kind != "binary":
        return None
    known = _known_molecules(predictor)
    return 1 if known is None else known.active


def explained_output_of(predictor: "Predictor", target: int | str) -> int:
    """The output of a model that stands for a class, or for one of several targets."""
    task, names = predictor.task, output_names(predictor)
    spelled = task.classes if task.has_classes else task.targets
    for words in (names, spelled):
        if isinstance(target, str) and target in words:
            return words.index(target)
    if str(target).isdecimal() and int(target) < len(names):
        return int(target)
    what = "class" if task.has_classes else "target"
    raise ValueError(
        f"The {what} to explain must be one of {', '.join(names)}, or a number from 0 to "
        f"{len(names) - 1}, got {target!r}."
    )


def known_classes(predictor: "Predictor", raw: RawGraphs) -> Tensor | None:
    """The true class of every graph ``[G]``, where the source tells them all."""
    task = predictor.task
    if not task.has_classes or tuple(raw.targets) != task.targets:
        return None
    if not set(raw.classes) <= set(task.classes):
        return None
    y = task.encode(raw.targets)
    return y if bool((y >= 0).all()) else None


def _known_molecules(predictor: "Predictor") -> MoleculeSpec | None:
    """What is known of the set of molecules that a model was trained on."""
    known = MOLECULES.get(predictor.checkpoint.dataset)
    fits = known is not None and predictor.encoder.featuriser is None
    return known if fits and predictor.task.has_classes else None


def explained_items(
    predictor: "Predictor",
    raw: RawGraphs,
    found: Sequence[Attribution],
    *,
    names: Sequence[str] | None = None,
    held_out: Collection[int] | None = None,
    intervals: Tensor | None = None,
) -> list[GalleryItem]:
    """Explained graphs with their names and pictures, those of molecules where they are; with the
    ``names`` of the outputs as the model spells them unless given, the rows that it was not trained
    on, and ``intervals`` of numbers ``[G, T, 2]``, where these are known.
    """
    task, truth, items = predictor.task, known_classes(predictor, raw), []
    words = tuple(names or (task.classes if task.has_classes else task.targets))
    for graph, attribution in enumerate(found):
        row = int(raw.rows[graph])
        name = f"{raw.name} {row}" if raw.ids is None else raw.ids[graph]
        ends = None if intervals is None else intervals[graph, attribution.target].tolist()
        item = GalleryItem.of(
            attribution,
            words,
            name=name,
            truth=None if truth is None else int(truth[graph]),
            held_out=None if held_out is None else row in held_out,
            molecule=_molecule(raw, graph, name),
            interval=None if ends is None else (ends[0], ends[1]),
        )
        items.append(item)
    return items


def _molecule(raw: RawGraphs, graph: int, name: str) -> Molecule | None:
    if raw.structures is not None and raw.featuriser is not None:
        return Molecule.of_rdkit(graph_molecule(raw, graph), name)
    if raw.structures is not None:  # of RDKit, in the labels of a set
        return Molecule.of_rdkit(raw.structures[graph], name)
    if raw.name in MOLECULES and raw.node_labels is not None and find_spec("rdkit") is not None:
        return molecule_from_graph(raw, graph)
    return None


def score_rows(
    raw: RawGraphs, found: Sequence[Attribution], names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """A row of a table for every node, edge, triangle, fragment and feature of explained graphs,
    whose outputs are called so.
    """
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
