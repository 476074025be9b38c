"""Tables with molecules in them: which column is the structure, which are the targets."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lgan._optional import require
from lgan.data.molecules.features import MoleculeFeatures
from lgan.data.molecules.featurise import Molecules
from lgan.data.molecules.graphs import molecule_graphs
from lgan.data.molecules.parallel import Progress, featurise_blocks, featurise_molecules
from lgan.data.raw import RawGraphs
from lgan.data.readers.sdf import MOLBLOCK, NAME
from lgan.data.readers.tables import SMILES_NAMES, TableBlock, open_table
from lgan.task.cells import spelled


@dataclass(frozen=True)
class Duplicates:
    """Molecules that occur in several rows.

    Attributes:
        molecules: Different molecules that occur more than once.
        rows: The rows they take.
        conflicting: Molecules among them whose rows differ in a target.
        stereo: Molecules that occur as several stereoisomers, or with and without marks.
    """

    molecules: int
    rows: int
    conflicting: int
    stereo: int = 0


def choose_structures(names: Sequence[str], wanted: str | None = None) -> str:
    """The column that holds the molecules: the one wanted, or one called ``smiles`` or alike."""
    if wanted is not None:
        return existing_column(wanted, names, "The column with the SMILES")
    if MOLBLOCK in names:
        return MOLBLOCK
    for usual in SMILES_NAMES:
        found = [name for name in names if name.lower() == usual]
        if found:
            return found[0]
    raise ValueError(
        f"A table of molecules must have a column of SMILES, called {SMILES_NAMES[0]!r} or alike, "
        f"got {_listed(names)}. Name the column (`smiles_column`, `--smiles-column`), and put a "
        "line with the names first if there is none."
    )


def choose_targets(
    names: Sequence[str], structures: str, wanted: str | Sequence[str] | None = None
) -> tuple[str, ...]:
    """The target columns: those wanted, or ``all`` but the structures, or the only other one unless
    given.
    """
    others = [name for name in names if name != structures]
    if wanted is not None and wanted != "all" and list(wanted) != ["all"]:
        asked = [wanted] if isinstance(wanted, str) else list(dict.fromkeys(wanted))
        return tuple(existing_column(name, others, "A target") for name in asked)
    # The title of a molecule is no target, unless it is asked for.
    candidates = [name for name in others if name != NAME] if wanted is None else others
    if not candidates or (wanted is None and len(candidates) > 1):
        raise ValueError(
            f"A target must be named where there is not just one other column, got "
            f"{_listed(others)}. Name one or more of them, or `all` (`targets`, `--target`)."
        )
    return tuple(candidates)


def read_molecule_table(
    source: Path | str | Mapping[str, Sequence[Any]] | Any,
    features: MoleculeFeatures | None = None,
    *,
    smiles_column: str | None = None,
    targets: str | Sequence[str] | None = None,
    columns: Sequence[str] = (),
    processes: int | None = None,
    progress: Progress | None = None,
    cache: Path | None = None,
) -> RawGraphs:
    """All molecules of a table with the columns that were asked for; a row that does not fit its
    header is among the errors.

    Args:
        source: A file (see `open_table`), or a table in memory (see `table_columns`).
        features: How molecules become graphs.
        smiles_column: The column with the molecules; see `choose_structures`.
        targets: The target columns; see `choose_targets`. None at all for an empty list.
        columns: Further columns to keep, for groups or splits.
        processes, progress, cache: See `featurise_molecules`.
    """
    name, names, blocks = _blocks(source)
    structures = choose_structures(names, smiles_column)
    none = targets is not None and not len(targets)
    wanted = () if none else choose_targets(names, structures, targets)
    kept: dict[str, list[Any]] = {
        column: []
        for column in (
            structures,
            *wanted,
            *(existing_column(c, names, "A column") for c in columns),
        )
    }
    unfit: dict[int, str] = {}
    for block in blocks:
        unfit |= {block.first + place: reason for place, reason in block.errors.items()}
        for column, cells in kept.items():
            cells.extend(block.columns[column])
    cells = kept[structures]
    if not cells:
        raise ValueError(f"{name} must have a row, got none below its columns {_listed(names)}.")
    for row in unfit:
        cells[row] = None
    molecules = featurise_molecules(
        cells, features, processes=processes, progress=progress, cache=cache
    )
    return molecule_graphs(
        _with_reasons(molecules, unfit),
        features,
        name=name,
        targets={column: kept[column] for column in wanted},
        columns={column: kept[column] for column in columns},
        structures=cells,
    )


def count_duplicates(smiles: Iterable[str], targets: Mapping[str, Sequence[Any]]) -> Duplicates:
    """Count the molecules that occur in several rows, by canonical SMILES, those whose targets
    differ there, and those that occur as several stereoisomers.

    Example:
        >>> count_duplicates(["CO", "CO", "C"], {"active": ["1", "0", "1"]})
        Duplicates(molecules=1, rows=2, conflicting=1, stereo=0)
    """
    groups: dict[str, list[int]] = {}
    for graph, text in enumerate(smiles):
        groups.setdefault(text, []).append(graph)
    several = [graphs for graphs in groups.values() if len(graphs) > 1]
    conflicting = sum(
        any(
            len({cell for cell in (spelled(cells[g]) for g in graphs) if cell is not None}) > 1
            for cells in targets.values()
        )
        for graphs in several
    )
    flat = Counter(_without_stereo(text) for text in groups)
    stereo = sum(count > 1 for count in flat.values())
    return Duplicates(len(several), sum(map(len, several)), conflicting, stereo)


def _without_stereo(smiles: str) -> str:
    """The canonical SMILES of a molecule without its stereo marks."""
    if not any(mark in smiles for mark in "@/\\"):
        return smiles
    chem = require("rdkit.Chem")
    with require("rdkit.rdBase").BlockLogs():  # reading them has told what is wrong
        mol = chem.MolFromSmiles(smiles)
    if mol is None:
        return smiles
    chem.RemoveStereochemistry(mol)
    return str(chem.MolToSmiles(mol))


def molecules_of_blocks(
    blocks: Iterable[TableBlock],
    structures: str,
    features: MoleculeFeatures | None = None,
    *,
    processes: int | None = None,
) -> Iterator[tuple[TableBlock, Molecules]]:
    """Blocks of a table with the molecules in one of their columns, in bounded memory."""
    waiting: list[TableBlock] = []

    def cells() -> Iterator[list[Any]]:
        for block in blocks:
            waiting.append(block)
            yield [
                None if place in block.errors else cell
                for place, cell in enumerate(block.columns[structures])
            ]

    for molecules in featurise_blocks(cells(), features, processes=processes):
        block = waiting.pop(0)
        yield block, _with_reasons(molecules, block.errors)


def _with_reasons(molecules: Molecules, reasons: Mapping[int, str]) -> Molecules:
    """Say of rows that do not fit their header that this is why they have no structure."""
    if not reasons:
        return molecules
    errors = tuple((row, reasons.get(row, reason)) for row, reason in molecules.errors)
    return Molecules(**{**vars(molecules), "errors": errors})


def _blocks(source: Any) -> tuple[str, tuple[str, ...], Iterable[TableBlock]]:
    """The name, the columns and the rows of a source."""
    if isinstance(source, str | Path):
        table = open_table(source)
        return table.path.name, table.names, table.blocks()
    columns = table_columns(source)
    lengths = {len(cells) for cells in columns.values()}
    if len(lengths) != 1:
        raise ValueError(f"Columns must have the same length, got {sorted(lengths)}.")
    return "table", tuple(columns), [TableBlock(0, columns)]


def table_columns(source: Any) -> dict[str, list[Any]]:
    """The columns of a table in memory: a mapping, a DataFrame of pandas or polars, or a table of
    Arrow.
    """
    if hasattr(source, "to_pydict"):  # of Arrow
        names, source = source.column_names, source.to_pydict()
    else:
        names = list(source if isinstance(source, Mapping) else source.columns)
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"The columns of a table must have different names, got {_listed(twice)} more than "
            "once. Rename one of them."
        )
    for name in names:
        if isinstance(source[name], str | bytes) or not hasattr(source[name], "__iter__"):
            raise TypeError(
                f"A column of a table must be a list of cells, got {type(source[name]).__name__} "
                f"as {str(name)!r}. Give every column one cell a row."
            )
    return {str(name): list(source[name]) for name in names}


def existing_column(name: str, names: Sequence[str], what: str) -> str:
    """The name of a column, which must be there."""
    if name not in names:
        raise ValueError(
            f"{what} must be among the columns {_listed(names)}, got {name!r}. Name one of these."
        )
    return name


def _listed(names: Sequence[str]) -> str:
    more = f", … ({len(names)} in all)" if len(names) > 20 else ""
    return (", ".join(map(repr, names[:20])) or "none") + more
