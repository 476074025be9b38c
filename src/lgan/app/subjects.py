"""What a question is about: molecules as SMILES, or graphs as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lgan.app.limits import Limits, RefusedError
from lgan.data import RawGraphs
from lgan.data.readers.graph_files import node_link_graph
from lgan.predictor import Predictor


@dataclass(frozen=True, eq=False)
class Subjects:
    """The molecules or graphs of a question, one row each.

    Attributes:
        raw: Those that can be read, with reasons for the others.
        cells: What identifies the rows.
    """

    raw: RawGraphs
    cells: dict[str, list[Any]]

    @property
    def only(self) -> RawGraphs:
        """The one molecule or graph that was asked about."""
        if self.raw.errors:
            raise RefusedError(422, self.raw.errors[0][1])
        return self.raw


def reads_molecules(predictor: Predictor) -> bool:
    """Whether a model reads SMILES."""
    return predictor.encoder.featuriser is not None


def read_columns(predictor: Predictor) -> str:
    """The columns of a source that a model reads, in words; empty where there are none."""
    told = predictor.encoder.graphs
    names = ", ".join(map(repr, () if told is None else told.columns))
    return f"the column {names}" if names else ""


def asked_object(body: Any, known: Mapping[str, type | tuple[type, ...]]) -> dict[str, Any]:
    """An object of JSON with known keys alone, each of its type."""
    if not isinstance(body, dict):
        raise RefusedError(422, f"Expected a JSON object, got {type(body).__name__}.")
    for name, value in body.items():
        if name not in known:
            raise RefusedError(422, f"Expected the keys {', '.join(known)}, got {name[:40]!r}.")
        types = known[name]
        # In Python true and false are whole numbers too; in JSON they are not.
        if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
            raise RefusedError(422, f"`{name}` has the wrong type, got {type(value).__name__}.")
    return body


def check_smiles(predictor: Predictor, smiles: list[Any], limits: Limits) -> list[str]:
    """A list of texts, not too many, where the model reads molecules; or a refusal."""
    if not reads_molecules(predictor):
        raise RefusedError(
            422, "Expected `graphs`: this model was trained on graphs that are no molecules."
        )
    if columns := read_columns(predictor):
        raise RefusedError(
            422,
            f"This model reads {columns} of a table, which the page cannot give for a molecule. "
            "Drop a table that has it, or use `lgan predict` with one.",
        )
    _check_count(smiles, limits)
    for text in smiles:
        if not isinstance(text, str):
            raise RefusedError(422, f"`smiles` must hold text, got {type(text).__name__}.")
    told, long = predictor.encoder.graphs, sum(len(text) > limits.long for text in smiles)
    if told is not None and "rdkit2d" in told.asked and long > limits.long_rows:
        raise RefusedError(
            422,
            f"Expected {limits.long_rows} molecules of more than {limits.long} characters at most, "
            f"whose descriptors take seconds each, got {long}. Drop them as a file.",
        )
    return smiles


def read_smiles(predictor: Predictor, smiles: list[str], limits: Limits) -> Subjects:
    """Molecules; what is no SMILES keeps its row with the reason."""
    reasons: dict[int, str] = {}
    for row, text in enumerate(smiles):
        if len(text) > limits.letters:
            reasons[row] = f"longer than {limits.letters:,} characters; give a smaller molecule"
        elif not text.strip().isprintable():
            reasons[row] = "a SMILES is one line of printable characters; remove the others"
    raw = predictor.read(["" if row in reasons else text for row, text in enumerate(smiles)])
    if reasons:
        told = tuple((row, reasons.get(row, reason)) for row, reason in raw.errors)
        raw = replace(raw, errors=told)
    return Subjects(raw, {"smiles": smiles})


def read_graphs(predictor: Predictor, graphs: list[Any], limits: Limits) -> Subjects:
    """Graphs, each the JSON of `networkx.node_link_data`."""
    if reads_molecules(predictor):
        raise RefusedError(422, "Expected `smiles`: this model was trained on molecules.")
    _check_count(graphs, limits)
    read = [node_link_graph(plain, f"graph {row}") for row, plain in enumerate(graphs)]
    return Subjects(predictor.read(read), {"graph": list(range(len(graphs)))})


def node_link(raw: RawGraphs) -> dict[str, Any]:
    """One graph as `networkx.node_link_data` would give it; `read_graphs` reads the same."""

    def features(columns: Any, row: int) -> dict[str, Any]:
        words = zip(columns.names, columns.vocabularies, columns.categories[row], strict=True)
        numbers = zip(columns.number_names, columns.numbers[row].tolist(), strict=True)
        return {name: values[int(i)] for name, values, i in words} | dict(numbers)

    ways = [0] * raw.num_pairs if raw.direction is None else raw.direction.tolist()
    edges = []
    for pair, ((u, v), way) in enumerate(zip(raw.pair_index.t().tolist(), ways, strict=True)):
        own = features(raw.pairs, pair)
        if way >= 0:
            edges.append({"source": u, "target": v, **own})
        if way < 0 or (way == 0 and raw.direction is not None):
            edges.append({"source": v, "target": u, **own})
    return {
        "directed": raw.direction is not None,
        "multigraph": False,
        "graph": {},
        "nodes": [{"id": node, **features(raw.nodes, node)} for node in range(raw.num_nodes)],
        "edges": edges,
    }


def _check_count(given: list[Any], limits: Limits) -> None:
    if not given:
        raise RefusedError(422, "Expected a molecule or graph at least, got none.")
    if len(given) > limits.rows:
        raise RefusedError(
            413,
            f"Expected {limits.rows:,} rows at most, got {len(given):,}. Drop them as a file, or "
            "ask in parts.",
        )
