"""Predictions of a table of any size: a folder of parts, each whole or absent."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from lgan.data import locked
from lgan.data.cache import check_same, digest_of, save_json
from lgan.data.molecules.tables import choose_structures
from lgan.data.readers.tables import BLOCK, Table, TableBlock, open_table
from lgan.data.shards.ray_tasks import on_ray
from lgan.predictor.prediction_rows import PredictionRows
from lgan.predictor.predictor import Predictor
from lgan.train.tensor_file import read_metadata

PLAN = "plan.json"


@dataclass(frozen=True)
class PredictedParts:
    """Where the predictions of a table are.

    Attributes:
        paths: CSV files that together have a row for every row of the table, in its order.
        rows: The number of these rows.
        given: The columns of the table.
    """

    paths: tuple[Path, ...]
    rows: int
    given: tuple[str, ...]


def predict_in_parts(
    predictor: Predictor,
    source: Path | str,
    folder: Path | str,
    *,
    parts: int,
    smiles_column: str | None = None,
    on_error: str = "skip",
    ray: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PredictedParts:
    """Predict a table of molecules into a folder of CSV files.

    Parts that are there are not made again, so that a run goes on after a kill, and several
    processes may fill one folder: each makes the parts that nobody makes.

    Args:
        predictor: The model.
        source: The table, see :func:`lgan.data.readers.tables.open_table`.
        folder: The folder; it may hold parts of this very table by this very model.
        parts: How many parts to make, or fewer where the rows do not suffice.
        smiles_column: The column that holds the molecules.
        on_error: ``skip`` keeps rows that cannot be read, with the reason; ``raise`` stops.
        ray: Address of a Ray cluster whose cores, or GPUs where the model is on one, predict, while
            this process reads the table; the folder must be one that all its machines see under the
            same name.
        progress: Called with the rows done so far, by all processes, and all rows.
    """
    if parts < 1:
        raise ValueError(f"`parts` must be 1 or more, got {parts}.")
    folder, table = Path(folder), open_table(source)
    size = max(1, min(BLOCK, -(-table.rows // parts)))
    each = size * max(1, -(-table.rows // (parts * size)))
    plan = {
        "source": [str(table.path.resolve()), table.path.stat().st_size,
                   table.path.stat().st_mtime_ns],
        "smiles column": choose_structures(table.names, smiles_column),
        "model": _identity(predictor),
        "decision": [None if t is None else t.tolist()
                     for t in (predictor.sharpness, predictor.threshold)],
        "rows per part": each,
    }  # fmt: skip
    with locked(folder / PLAN):
        if (folder / PLAN).is_file():
            before = json.loads((folder / PLAN).read_text(encoding="utf-8"))
            check_same(before, plan, f"{folder} holds predictions")
        else:
            save_json(folder / PLAN, plan)
    paths = [folder / f"part-{number:05d}.csv" for number in range(-(-table.rows // each))]
    shared = (predictor, table, smiles_column, on_error)

    def missing() -> Iterator[tuple[Path, Iterable[TableBlock]]]:
        if all(path.is_file() for path in paths):
            return
        for number, blocks in groupby(table.blocks(size), lambda block: block.first // each):
            if not paths[number].is_file():
                yield paths[number], blocks

    def tell() -> None:
        if progress is not None:
            done = sum(path.is_file() for path in paths)
            progress(min(done * each, table.rows), table.rows)

    if ray is not None:
        gpus = int(next(predictor.network.parameters()).is_cuda)
        held = ((path.resolve(), list(blocks)) for path, blocks in missing())
        for _ in on_ray(ray, _make_part, held, shared=shared, gpus=gpus):
            tell()
    for wait in (False, True):  # then what others have in hand, or gave up
        for path, blocks in missing():
            _make_part(*shared, path, blocks, wait=wait)
            tell()
    tell()
    written = tuple(path for path in paths if path.is_file())
    return PredictedParts(written, sum(map(_rows, written)), table.names)


def _make_part(
    predictor: Predictor,
    table: Table,
    smiles_column: str | None,
    on_error: str,
    path: Path,
    blocks: Iterable[TableBlock],
    *,
    wait: bool = False,
) -> None:
    """Write one part, unless somebody has written it or, without ``wait``, is writing it."""
    with locked(path, wait=wait) as mine:
        if mine and not path.is_file():
            found = PredictionRows.of_blocks(
                predictor, table, blocks, smiles_column=smiles_column, on_error=on_error
            )
            for _ in found.written(path):
                pass


def _identity(predictor: Predictor) -> str:
    """A digest of all that the file of a model would hold, so that no other model has the same."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        predictor.checkpoint.save(path)
        written = read_metadata(path)  # its header, and the checksum of its tensors
    return digest_of(written[name].encode() for name in sorted(written))


def _rows(path: Path) -> int:
    """The number of rows of a part; a line that ends inside of quotes goes on in the next."""
    rows, quotes = -1, 0
    with path.open("rb") as file:
        for line in file:
            quotes += line.count(b'"')
            rows += quotes % 2 == 0
    return rows
