"""What a model says of molecules or graphs, as JSON's types."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from lgan.app.limits import Limits, RefusedError
from lgan.app.subjects import Subjects
from lgan.data import RawGraphs
from lgan.data.encoder import unseen_words
from lgan.data.molecules.graphs import graph_molecule
from lgan.explain import Molecule, Picture, Scale
from lgan.explain.attribution import plain
from lgan.explain.draw import picture_svg
from lgan.explain.draw_molecule import molecule_svg
from lgan.predictor import Predictor
from lgan.predictor.conformal import prediction_sets
from lgan.predictor.explaining import explain_graphs, explained_items, explained_output_of
from lgan.predictor.prediction_rows import PredictionRows

# Share of truths that intervals and sets of classes may miss.
ALPHA = 0.1
NEIGHBOURS = 3
# Pixels of a molecule without scores.
SMALL = (216, 168)


def predicted(predictor: Predictor, subjects: Subjects, *, details: bool) -> dict[str, Any]:
    """The rows of `lgan predict`, and where asked what stands behind each.

    Details of a row are what each member says by output (``members``), the interval or the classes
    that hold 90 % of the truths (``interval``, ``possible``), the nearest training molecules
    (``nearest``) and whether they are all far (``unlike``), and in words what of it the model was
    not trained on (``unseen``; empty where there is nothing).
    """
    raw = subjects.raw
    members = predictor.member_answers(raw)
    rows = PredictionRows.of_graphs(predictor, raw, subjects.cells, members)
    answer: dict[str, Any] = {"rows": rows}
    if details:
        graphs = range(raw.num_graphs)
        each = [raw] if len(graphs) == 1 else [raw.select([graph]) for graph in graphs]
        answer["details"] = raw.by_row(
            _details(predictor, each[graph], members[:, [graph]]) for graph in graphs
        )
    return plain(answer)  # type: ignore[no-any-return]


def explained(
    predictor: Predictor,
    raw: RawGraphs,
    limits: Limits,
    *,
    target: int | str | None = None,
    numbers: bool = False,
    limit: float | None = None,
) -> dict[str, Any]:
    """Which atoms and bonds, or nodes and edges, made the model say what it says.

    Args:
        predictor: The model.
        raw: One molecule or graph.
        limits: Larger ones are refused.
        target: The class, or one of several targets; of two classes the second by default, so that
            the colours keep their meaning from molecule to molecule.
        numbers: Write scores into the picture.
        limit: The score that has the full colour; the largest of this one unless given.
    """
    if raw.num_pairs > limits.edges:
        raise RefusedError(
            422,
            f"Explanations here are for up to {limits.edges} bonds or edges, got {raw.num_pairs}. "
            "Use `lgan explain` for larger ones.",
        )
    task = predictor.task
    if target is None and task.kind == "binary":
        target = 1
    found = explain_graphs(predictor, raw, target=target)[0]
    picture = replace(
        explained_items(predictor, raw, [found])[0].picture,
        node_scores=tuple(found.node_scores.tolist()),
        numbers=numbers,
    )
    if limit is not None:
        picture = picture.on_scale(Scale(limit))
    names = task.classes if task.has_classes else task.targets
    pairs, scores = found.undirected()
    parts = zip(
        found.fragments, found.fragment_scores.tolist(), found.fragment_spread.tolist(), strict=True
    )
    return plain(  # type: ignore[no-any-return]
        {
            "class": names[found.target],
            "atoms": found.node_scores.tolist(),
            "bonds": [
                [u, v, s] for (u, v), s in zip(pairs.t().tolist(), scores.tolist(), strict=True)
            ],
            "labels": list(picture.labels),
            "fragments": [
                {"name": part.name, "atoms": list(part.nodes), "score": score, "spread": spread}
                for part, score, spread in parts
            ],
            "of": found.of,
            "output": found.output,
            "baseline": found.baseline_output,
            "complete": found.complete,
            "withheld": found.withheld,
            "red": picture.red,
            "blue": picture.blue,
            "limit": picture.scale.limit,
            "svg": picture_svg(picture),
        }
    )


def explained_value(predictor: Predictor, raw: RawGraphs, target: int | str) -> float:
    """What an explanation explains (log-odds, a number) of one graph."""
    output = explained_output_of(predictor, target)
    return explain_graphs(predictor, raw, target=output, method="gradient")[0].output


def plain_pictures(raw: RawGraphs, edges: int) -> list[str | None]:
    """A picture of every row without scores; none of what is unreadable or has more edges."""
    each = (raw.select([graph]) for graph in range(raw.num_graphs))
    return raw.by_row(_picture(one) if one.num_pairs <= edges else None for one in each)


def _picture(raw: RawGraphs) -> str:
    """One molecule or graph without scores, as SVG."""
    if raw.structures is not None and raw.featuriser is not None:
        drawn = Molecule.of_rdkit(graph_molecule(raw, 0), "")
        return molecule_svg(Picture((), (), (), Scale(0.0), "", "", molecule=drawn), *SMALL)
    names = tuple(map(str, range(raw.num_nodes)))
    ends = tuple((u, v) for u, v in raw.pair_index.t().tolist())
    return picture_svg(Picture(names, ends, (0.0,) * len(ends), Scale(0.0), "", ""))


def _details(predictor: Predictor, raw: RawGraphs, members: Tensor) -> dict[str, Any]:
    """What stands behind the prediction of one graph; ``members [K, 1, O]``."""
    task, known = predictor.task, predictor.checkpoint.out_of_fold
    names: Sequence[str] = task.classes if task.has_classes else task.targets
    told: dict[str, Any] = {
        "members": {name: members[:, 0, o].tolist() for o, name in enumerate(names)},
        "nodes": raw.num_nodes,
        "edges": raw.num_pairs,
        "unseen": unseen_words(unseen) if (unseen := predictor.encoder.unseen(raw)) else "",
    }
    if known is not None and task.has_classes:
        [may] = prediction_sets(members, known, ALPHA, task).tolist()
        told["possible"] = [name for name, one in zip(task.classes, may, strict=True) if one]
    elif known is not None and not task.classes:
        [ends] = predictor.intervals(members, ALPHA).tolist()
        told["interval"] = dict(zip(task.targets, ends, strict=True))
    if predictor.checkpoint.molecules is not None:
        [near] = predictor.neighbours(raw, NEIGHBOURS)
        told |= {"nearest": [vars(one) for one in near], "unlike": predictor.is_unlike(near)}
    return told
