"""Features of whole graphs: fingerprints and descriptors of molecules, patterns and shape of any
graph, columns of the source.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.data.molecules.descriptors import BITS, descriptor_names, descriptors, morgan
from lgan.data.patterns import PLACES, SHAPE, patterns, shape
from lgan.data.raw import RawGraphs
from lgan.task.cells import TargetColumn
from lgan.task.infer import refuse_commas, refuse_mixed, refuse_names

OF_MOLECULES = {
    "morgan": "Morgan fingerprint, 1,024 bits of radius 2",
    "rdkit2d": "all descriptors that RDKit computes from the structure",
}
OF_GRAPHS = {
    "patterns": "how often subtree patterns of radius 2 occur, in 1,024 places",
    "shape": "numbers of nodes, edges, degrees, triangles, components and cycles",
}
COMPUTED = OF_MOLECULES | OF_GRAPHS
# Those with a column for every place, which are not scaled.
PLACES_OF = {"morgan": BITS, "patterns": PLACES}
# In so many graphs a place of patterns must be taken: what one graph has tells nothing of others.
LEAST = 2
# What is decided by the source, of so many rows at most.
AUTO, MOST_ROWS = "auto", 20_000
# Deviations from the mean beyond which a number is cut: some descriptors grow exponentially.
FARTHEST = 5.0
# The deviation of what has no spread in training: what it is elsewhere says nothing.
CONSTANT = 1e300
Scale = tuple[float, float]


@dataclass(frozen=True, eq=False)
class GraphValues:
    """What features of whole graphs are made from, as it is, before anything is scaled.

    Attributes:
        name: The source.
        computed: The bits of ``morgan`` and the counts of ``patterns`` ``[G, 1024]``; the numbers
            of ``rdkit2d`` and ``shape``, by :func:`_number_names`, NaN where one is missing
            ``[G, n]``.
        columns: The cells of columns, one per graph.
    """

    name: str
    computed: Mapping[str, NDArray[Any]]
    columns: Mapping[str, Sequence[Any]]

    @staticmethod
    def of(
        raw: RawGraphs,
        asked: Sequence[str],
        progress: Callable[[float], None] | None = None,
        cache: Path | None = None,
    ) -> "GraphValues":
        """The values of graphs; columns that they do not have are left out."""
        compute: dict[str, Callable[[], NDArray[Any]]] = {
            "morgan": lambda: morgan(raw),
            "rdkit2d": lambda: descriptors(raw, progress, cache),
            "patterns": lambda: patterns(raw),
            "shape": lambda: shape(raw),
        }
        return GraphValues(
            raw.name,
            {name: compute[name]() for name in asked if name in COMPUTED},
            {name: raw.columns[name] for name in asked if name in raw.columns},
        )

    def column(self, name: str, *, fitting: bool = False) -> TargetColumn:
        """A column of the source; features are fitted to finite numbers alone."""
        if name not in self.columns and not fitting:
            raise ValueError(
                f"{self.name} lacks the column {name!r}, which the model reads. Give a table that "
                "has it."
            )
        if name not in self.columns:
            raise ValueError(
                f"The feature {name!r} of whole graphs must be one of {', '.join(COMPUTED)} or a "
                f"column of {self.name}, which has none of this name. Give a table that has it."
            )
        return TargetColumn.read(name, self.columns[name], infinite=not fitting)

    def select(self, graphs: NDArray[np.int64]) -> "GraphValues":
        """The values of some graphs."""
        return GraphValues(
            self.name,
            {name: values[graphs] for name, values in self.computed.items()},
            {name: [cells[g] for g in graphs] for name, cells in self.columns.items()},
        )


@dataclass(frozen=True)
class GraphFeatures:
    """What is told of every graph as a whole, and how it is scaled.

    Numbers have mean 0 and deviation 1 over the graphs it was fitted on, and are cut at five
    deviations; a missing one is the mean, as is a cell that holds no finite number, and one that
    was the same in all of those graphs is always 0. Words are one-hot, and nothing where they are
    missing or were not there. Fingerprints stay 0 and 1; of patterns there is the logarithm of
    their number, plus 1, in those places that two of the graphs it was fitted on have taken, so
    that a pattern which is new says nothing.

    Attributes:
        asked: Names of :data:`COMPUTED` or of columns, in order.
        scales: For what is asked and consists of numbers: mean and deviation by their names.
        words: For columns of words their values.
        places: The places of ``patterns`` that are read; all of them where it is None, as in
            models of earlier versions.

    Example:
        >>> from lgan.data import load_raw
        >>> raw = load_raw(["CCO", "CCN", "c1ccccc1"])
        >>> GraphFeatures.fit(raw, ("morgan",)).encode(raw).shape
        torch.Size([3, 1024])
    """

    asked: tuple[str, ...]
    scales: Mapping[str, Mapping[str, Scale]]
    words: Mapping[str, tuple[str, ...]]
    places: tuple[int, ...] | None = None

    @staticmethod
    def fit(
        raw: RawGraphs,
        asked: Sequence[str],
        progress: Callable[[float], None] | None = None,
        cache: Path | None = None,
    ) -> "GraphFeatures":
        """The features of these graphs; targets are not looked at."""
        fitted = [name for name in asked if name != "morgan"]
        return GraphFeatures.fit_values([GraphValues.of(raw, fitted, progress, cache)], asked)

    @staticmethod
    def fit_values(parts: Sequence[GraphValues], asked: Sequence[str]) -> "GraphFeatures":
        """The features of graphs whose values come in parts; of descriptors one at a time is put
        together, so that the parts may be larger than memory.
        """
        scales: dict[str, dict[str, Scale]] = {}
        words: dict[str, tuple[str, ...]] = {}
        places = None
        for name in asked:
            if name == "patterns":
                taken = sum((part.computed[name] > 0).sum(0) for part in parts)
                places = tuple(np.flatnonzero(taken >= LEAST).tolist())
                if not places and len(asked) == 1:
                    raise ValueError(
                        f"`patterns` must have one that two graphs of {parts[0].name} share, got "
                        "none. Ask for `shape` too, or leave features of whole graphs out."
                    )
            elif name in COMPUTED and name not in PLACES_OF:
                tables = [part.computed[name].T for part in parts]
                scales[name] = {
                    own: _scale(np.concatenate([table[i] for table in tables]))
                    for i, own in enumerate(_number_names(name))
                }
            elif name not in COMPUTED:
                columns = [part.column(name, fitting=True) for part in parts]
                column = TargetColumn(
                    name,
                    [text for own in columns for text in own.texts],
                    np.concatenate([own.numbers for own in columns]),
                )
                if column.all_numbers():
                    scales[name] = {name: _scale(column.numbers)}
                else:
                    for refuse in (refuse_commas, refuse_mixed, refuse_names):
                        refuse(column, "column")
                    words[name] = tuple(column.distinct())
        return GraphFeatures(tuple(asked), scales, words, places)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a source that are read."""
        return source_columns(self.asked)

    @property
    def width(self) -> int:
        """Numbers of a graph."""
        left_out = 0 if self.places is None else PLACES - len(self.places)
        told = (PLACES_OF.get(n) or len(self.words.get(n) or self.scales[n]) for n in self.asked)
        return sum(told) - left_out

    def encode(self, raw: RawGraphs) -> Tensor:
        """The features of every graph ``[G, d]``."""
        return self.encode_values(GraphValues.of(raw, self.asked))

    def encode_values(self, values: GraphValues) -> Tensor:
        """The features of every graph of which these are the values ``[G, d]``."""
        parts = []
        for name in self.asked:
            if name == "morgan":
                parts.append(values.computed[name].astype(np.float32))
            elif name == "patterns":
                read = slice(None) if self.places is None else list(self.places)
                parts.append(np.log1p(values.computed[name][:, read]))
            elif name in self.words:
                texts = values.column(name).texts
                parts.append(np.array([[t == word for word in self.words[name]] for t in texts],
                                      np.float32).reshape(len(texts), -1))  # fmt: skip
            else:
                mean, deviation = np.array(list(self.scales[name].values())).T
                numbers = _numbers(values, name, tuple(self.scales[name]))
                with np.errstate(over="ignore"):  # what is too large is cut
                    scaled = (numbers - mean) / deviation
                scaled[:, deviation == CONSTANT] = 0
                parts.append(np.nan_to_num(np.clip(scaled, -FARTHEST, FARTHEST)).astype(np.float32))
        return torch.from_numpy(np.concatenate(parts, 1))

    def missing(self, raw: RawGraphs) -> dict[str, int]:
        """How many graphs have no value, by column; only those of the source are counted."""
        values = GraphValues.of(raw, self.columns)
        counts = {name: values.column(name).texts.count(None) for name in self.columns}
        return {name: count for name, count in counts.items() if count}

    def unseen(self, raw: RawGraphs) -> dict[str, dict[str, int]]:
        """How often words occur that it was not fitted on, or cells without a finite number where
        it was fitted on numbers, which are read as missing: by column, then by word.
        """
        found = {}
        for name in self.columns:
            column, words = TargetColumn.read(name, raw.columns.get(name, ()), infinite=True), None
            told = f"{name} (read as missing: no number)"
            if name in self.words:
                told, words = name, {*self.words[name]}
            cells = zip(column.texts, np.isnan(column.numbers).tolist(), strict=True)
            new = Counter(
                text
                for text, no_number in cells
                if text is not None and (no_number if words is None else text not in words)
            )
            if new:
                found[told] = dict(new)
        return found

    def to_json(self) -> dict[str, Any]:
        """The features as JSON's types."""
        return {
            "asked": list(self.asked),
            "scales": {
                name: {column: list(scale) for column, scale in own.items()}
                for name, own in self.scales.items()
            },
            "words": {name: list(own) for name, own in self.words.items()},
            **({} if self.places is None else {"places": list(self.places)}),
        }

    @staticmethod
    def from_json(plain: Any) -> "GraphFeatures":
        """The features that `to_json` wrote."""
        try:
            made = GraphFeatures(
                tuple(map(str, plain["asked"])),
                {
                    str(name): {str(c): (float(m), float(d)) for c, (m, d) in own.items()}
                    for name, own in plain["scales"].items()
                },
                {str(name): tuple(map(str, own)) for name, own in plain["words"].items()},
                tuple(map(int, plain["places"])) if "places" in plain else None,
            )
            told = {*made.scales, *made.words, *PLACES_OF}
            right = 0 < len({*made.asked}) == len(made.asked)
            right = right and {*made.asked, *PLACES_OF} == told
            right = right and not {*made.words} & {*COMPUTED} and not {*made.scales} & {*PLACES_OF}
            right = right and {*made.scales.get("shape", SHAPE)} == {*SHAPE}
            scales = [scale for own in made.scales.values() for scale in own.values()]
            right = right and all(np.isfinite(scale).all() and scale[1] > 0 for scale in scales)
            places = made.places or ()
            right = right and [*places] == sorted({*places} & {*range(PLACES)})
            right = right and ("patterns" in made.asked or made.places is None)
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
            right = False
        if not right:
            raise ValueError(
                "Features of graphs must be an object with what is asked, its scales and its "
                f"words, got {str(plain)[:80]}. Read it from a model file of this version."
            )
        return made


def decided_features(
    asked: Sequence[str], *, rows: int, molecules: bool = False, labelled: bool = False
) -> tuple[str, ...]:
    """What is asked of a source, where that may be ``auto``: fingerprints and descriptors of
    molecules, patterns and shape of other graphs whose nodes have labels; nothing of graphs
    without, which these do not help, nor of many, where they take longer than they help.

    Args:
        asked: Names of features, or ``auto`` alone.
        rows: Rows of the source, readable or not.
        molecules: Whether it holds molecules.
        labelled: Whether nodes of its graphs have labels that are read.

    Example:
        >>> decided_features(("auto",), rows=100, molecules=True, labelled=True)
        ('morgan', 'rdkit2d')
        >>> decided_features(("auto",), rows=100)
        ()
    """
    if AUTO not in asked:
        return tuple(asked)
    if rows >= MOST_ROWS or not (molecules or labelled):
        return ()
    return tuple(OF_MOLECULES if molecules else OF_GRAPHS)


def decided_by_width(columns: int) -> tuple[str, ...]:
    """What ``auto`` became, where so many columns came of it.

    Example:
        >>> decided_by_width(0)
        ()
    """
    if not columns:
        return ()
    return tuple(OF_GRAPHS if columns <= PLACES + len(SHAPE) else OF_MOLECULES)


def source_columns(asked: Sequence[str]) -> tuple[str, ...]:
    """What of the features asked for is a column of the source."""
    return tuple(name for name in asked if name not in COMPUTED and name != AUTO)


def feature_list(text: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names from a text with commas between them, or a list; nothing for ``none``.

    Example:
        >>> feature_list("morgan, pH")
        ('morgan', 'pH')
    """
    if text is None or text == "none":
        return ()
    given = text.split(",") if isinstance(text, str) else text
    if not isinstance(given, list | tuple) or not all(isinstance(name, str) for name in given):
        raise TypeError(
            "`graph_features` must be names with commas between them, or a list of them, got "
            f"{text!r}."
        )
    names = tuple(name.strip() for name in given)
    if not all(names) or len(set(names)) < len(names):
        raise ValueError(
            f"`graph_features` must name {', '.join(COMPUTED)} or columns, each once, got {text!r}."
        )
    if AUTO in names and len(names) > 1:
        raise ValueError(
            f"`graph_features` must be {AUTO!r} alone, by which the source decides, or name "
            f"{', '.join(COMPUTED)} or columns, got {text!r}."
        )
    return names


def _numbers(values: GraphValues, asked: str, names: Sequence[str]) -> NDArray[np.float64]:
    """Numbers ``[G, n]`` as they are; NaN where one is missing, infinite or text."""
    if asked not in COMPUTED:
        return values.column(asked).numbers[:, None]
    place = {name: i for i, name in enumerate(_number_names(asked))}
    table = values.computed[asked]
    found = np.full((len(table), len(names)), np.nan)
    known = [(i, place[name]) for i, name in enumerate(names) if name in place]
    into, of = np.array(known, dtype=int).reshape(-1, 2).T
    found[:, into] = table[:, of]
    return found


def _number_names(asked: str) -> tuple[str, ...]:
    """The numbers of a feature that is computed."""
    return SHAPE if asked == "shape" else descriptor_names()


def _scale(values: NDArray[np.float64]) -> Scale:
    """Mean and deviation of what is not missing; `CONSTANT` where there is no spread."""
    there = values[np.isfinite(values)]
    size = float(np.abs(there).max()) if there.size else 0.0
    if size < np.finfo(float).tiny:
        return 0.0, CONSTANT
    parts = there / size  # some descriptors grow exponentially, and their squares overflow
    mean, deviation = float(parts.mean()), float(parts.std())
    spread = deviation > 1e-12 * abs(mean) and deviation * size >= np.finfo(float).tiny
    return mean * size, deviation * size if spread else CONSTANT
