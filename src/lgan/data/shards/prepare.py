"""From a table of molecules of any size to a folder of shards, by several processes."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from lgan._sources import source_digest
from lgan._version import __version__
from lgan.data.cache import check_same, locked, save_json
from lgan.data.encoder import Encoder, check_not_targets
from lgan.data.graph_features import (
    GraphFeatures,
    GraphValues,
    decided_features,
    feature_list,
    source_columns,
)
from lgan.data.graph_keys import graph_keys
from lgan.data.load import COMPUTED_BY, with_target
from lgan.data.molecules.features import MoleculeFeatures
from lgan.data.molecules.graphs import molecule_graphs
from lgan.data.molecules.tables import (
    choose_structures,
    choose_targets,
    existing_column,
    molecules_of_blocks,
)
from lgan.data.raw import RawGraphs
from lgan.data.readers.tables import Table, TableBlock, open_table
from lgan.data.shards.files import MANIFEST, ShardFile, as_prepared, column_encoders, save_shard
from lgan.data.shards.folder import FORMAT, Shards
from lgan.data.shards.ray_tasks import on_ray
from lgan.task import Task
from lgan.task.cells import TargetColumn

PLAN = "plan.json"
# A shard is made in memory: so many rows of it take about 500 MiB.
MOST_ROWS = 100_000
# Different cells of a target beyond which numbers are no classes, and text is none either.
MOST_CELLS = 100_000


def prepare_shards(
    source: Path | str,
    folder: Path | str,
    *,
    targets: str | Sequence[str] | None = None,
    task: str | None = None,
    smiles_column: str | None = None,
    molecules: MoleculeFeatures | None = None,
    graph_features: str | Sequence[str] | None = None,
    columns: Sequence[str] = (),
    compress: bool = True,
    pair_code: str = "none",
    shards: int | None = None,
    processes: int = 1,
    ray: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Shards:
    """Read a table of molecules of any size into a folder of shards.

    Memory is that of a shard for each process. What a killed process has finished is not made
    again, and several processes, here or elsewhere, may fill one folder. A molecule that cannot be
    read costs its row, whose reason is kept; rows without a target are left out.

    Args:
        source: The table, see :func:`lgan.data.readers.tables.open_table`.
        folder: The folder to fill; it may hold shards of this very source with these options.
        targets: Columns to predict; the only other one unless given, ``all`` for all of them.
        task: The kind of task, where the values would suggest another. Classes are those of all
            rows, also of rows that cannot be read.
        smiles_column: The column with the molecules.
        molecules: How molecules become graphs.
        graph_features: Features of whole graphs, as for :func:`lgan.load`.
        columns: Further columns to keep, for groups or splits.
        compress: Merge true twins.
        pair_code: Structural code of the pairs.
        shards: Number of shards, of 100,000 rows at most; as few as that allows unless given.
        processes: How many processes work, this one included.
        ray: Address of a Ray cluster whose cores make the shards, while this process reads the
            table; the folder must be one that all its machines see under the same name.
        progress: Called with the rows done so far and all rows.
    """
    folder, told = Path(folder), progress or (lambda done, rows: None)
    if processes < 1 or (ray is not None and processes > 1):
        least = "1 or more" if ray is None else "left out with `ray`, which takes all cores it has"
        raise ValueError(f"`processes` must be {least}, got {processes}.")
    features = molecules or MoleculeFeatures()
    asked = {
        "source": str(Path(source).resolve()),
        "targets": targets if targets is None or isinstance(targets, str) else list(targets),
        "task": task,
        "smiles_column": smiles_column,
        "molecules": features.to_json(),
        "graph_features": list(feature_list(graph_features)),
        "columns": list(dict.fromkeys(columns)),
        "compress": compress,
        "pair_code": pair_code,
        "shards": shards,
    }
    plan = _plan(Path(source), folder, asked)
    if not (folder / MANIFEST).is_file():
        told(_rows_done(folder, plan), plan["rows"])
        helpers = [_helper(folder) for _ in range(min(processes, plan["shards"]) - 1)]
        try:
            if ray is None:
                _work(folder, plan, told)
            else:
                shared = (folder.resolve(), plan)
                for _ in on_ray(ray, _make, _missing(folder, plan), shared=shared):
                    told(_rows_done(folder, plan), plan["rows"])
            # What a helper left that broke down, or what a process elsewhere has in hand.
            _work(folder, plan, told, wait=True, processes=2)
        finally:
            for helper in helpers:
                helper.kill()
                helper.wait()
        _finish(folder, plan)
    told(plan["rows"], plan["rows"])
    return Shards.open(folder)


def help_prepare(folder: Path, parent: int) -> None:
    """Make shards of a folder that nobody else makes, as a process beside the one that asked."""

    def stop_alone(done: int, rows: int) -> None:
        if os.getppid() != parent:  # whoever asked was killed, maybe before this process was ready
            sys.exit(1)

    stop_alone(0, 0)
    plan = _read_plan(folder)
    _work(folder, plan, stop_alone)


def _plan(source: Path, folder: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """What all processes keep to: found once, checked by those that come later."""
    path, code = folder / PLAN, source_digest(*COMPUTED_BY)[:12]
    known: dict[str, Any] = {**asked, "lgan": __version__, "code": code, **_size_and_time(source)}
    with locked(path):
        if path.is_file():
            before = _read_plan(folder)
            check_same(before["asked"], known, f"{folder} holds shards that were made")
            return before
        if folder.is_dir() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
            raise ValueError(f"{folder} must be empty or hold shards. Choose another folder.")
        table = open_table(source)
        structures = choose_structures(table.names, asked["smiles_column"])
        chosen = choose_targets(table.names, structures, asked["targets"])
        kept = _kept(asked, table, chosen)
        task, rows = _streamed_task(table, chosen, asked["task"])
        least = -(-rows // MOST_ROWS)
        shards = asked["shards"] or least
        if shards < least:
            raise ValueError(
                f"`shards` must be {least} or more, so that each has at most {MOST_ROWS:,} of "
                f"{rows:,} rows, got {shards}."
            )
        plan = {
            "asked": known,
            "name": source.name,
            "encoding": table.encoding,
            "separator": table.separator,
            "structures": structures,
            "columns": kept,
            "graph_features": decided_features(asked["graph_features"], rows=rows, molecules=True),
            "task": task.to_json(),
            "rows": rows,
            "rows_per_shard": -(-rows // shards),
            "shards": -(-rows // -(-rows // shards)),
        }
        save_json(path, plan)
        return plan


def _read_plan(folder: Path) -> dict[str, Any]:
    """The plan of a folder that was begun."""
    with as_prepared(folder / PLAN):
        plan: dict[str, Any] = json.loads((folder / PLAN).read_text(encoding="utf-8"))
        Task.from_json(plan["task"])
        texts = (plan["name"], plan["structures"], *plan["columns"], plan["asked"]["source"],
                 *plan.get("graph_features", ()))  # fmt: skip
        rows, each = plan["rows"], plan["rows_per_shard"]
        whole = type(rows) is type(each) is int and rows > 0 and 0 < each <= MOST_ROWS
        if not whole or plan["shards"] != -(-rows // each):
            raise ValueError(f"{plan['shards']} shards of {each} for {rows} rows")
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"the names {texts}")
        return plan


def _size_and_time(source: Path) -> dict[str, int | None]:
    """By which a table that was changed is known."""
    stat = source.stat() if source.is_file() else None
    return {"size": stat and stat.st_size, "time": stat and stat.st_mtime_ns}


def _streamed_task(table: Table, names: Sequence[str], kind: str | None) -> tuple[Task, int]:
    """The task of target columns, and the number of rows, in one pass and bounded memory.

    Different cells say all there is to know, and whether any of them occurs twice.
    """
    cells: dict[str, dict[str, None]] = {name: {} for name in names}
    twice: dict[str, str] = {}
    rows = 0
    for block in table.blocks():
        rows += len(block)
        for name, known in cells.items():
            column = TargetColumn.read(name, block.columns[name], block.first)
            for text, number in zip(column.texts, column.numbers.tolist(), strict=True):
                if text in known:
                    twice[name] = text
                elif text is not None and (len(known) < MOST_CELLS or number != number):
                    known[text] = None
            if len(known) > MOST_CELLS:
                raise ValueError(
                    f"The target {name!r} must be a number or a class, got more than "
                    f"{MOST_CELLS:,} different texts. Choose another target."
                )
    if not rows:
        raise ValueError(f"{table.path} must have a row, got none below its columns.")
    columns = {name: [*known, *filter(None, [twice.get(name)])] for name, known in cells.items()}
    return Task.infer({n: column or [None] * rows for n, column in columns.items()}, kind), rows


def _kept(asked: dict[str, Any], table: Table, targets: Sequence[str]) -> list[str]:
    """The columns that are kept: those that were asked for, and those that are features, which
    must not be infinite.
    """
    features = source_columns(asked["graph_features"])
    check_not_targets(features, targets)
    kept = dict.fromkeys([*asked["columns"], *features])
    found = [existing_column(name, table.names, "A column") for name in kept]
    for block in table.blocks() if features else ():
        for name in features:
            TargetColumn.read(name, block.columns[name], block.first)
    return found


def _work(
    folder: Path,
    plan: dict[str, Any],
    told: Callable[[int, int], None],
    *,
    wait: bool = False,
    processes: int = 1,
) -> None:
    """Go through the table once and make the shards that nobody has made or, without ``wait``, is
    making. With two ``processes`` or more a molecule that breaks one down is found.
    """
    for number, block in _missing(folder, plan):
        _make(folder, plan, number, block, wait=wait, processes=processes)
        told(_rows_done(folder, plan), plan["rows"])


def _missing(folder: Path, plan: dict[str, Any]) -> Iterator[tuple[int, TableBlock]]:
    """The numbers and rows of the shards that are not there when their turn comes."""
    if all(_told(folder, number).is_file() for number in range(plan["shards"])):
        return
    separator = None if plan["separator"] in (None, " ") else plan["separator"]
    table = open_table(plan["asked"]["source"], encoding=plan["encoding"], separator=separator)
    for block in table.blocks(plan["rows_per_shard"]):
        number = block.first // plan["rows_per_shard"]
        if not _told(folder, number).is_file():
            yield number, block


def _make(
    folder: Path,
    plan: dict[str, Any],
    number: int,
    block: TableBlock,
    *,
    wait: bool = False,
    processes: int = 1,
) -> None:
    """Make one shard, unless somebody has made it or, without ``wait``, is making it."""
    with locked(_path(folder, number), wait=wait) as mine:
        if mine and not _told(folder, number).is_file():
            _write_shard(folder, plan, number, block, processes)


def _write_shard(
    folder: Path, plan: dict[str, Any], number: int, block: TableBlock, processes: int
) -> None:
    """Write one shard: its tensors, and then the file beside them that says it is whole."""
    path, asked = _path(folder, number), plan["asked"]
    features = MoleculeFeatures.from_json(asked["molecules"])
    task = Task.from_json(plan["task"])
    [(_, molecules)] = molecules_of_blocks(
        [block], plan["structures"], features, processes=processes
    )
    raw = molecule_graphs(
        molecules,
        features,
        name=plan["name"],
        targets={name: block.columns[name] for name in task.targets},
        columns={name: block.columns[name] for name in plan["columns"]},
        structures=block.columns[plan["structures"]],
    )
    raw = RawGraphs(**{**vars(raw), "task": task, "rows": raw.rows + block.first})
    labelled, checksum = with_target(raw, task), ""
    if raw.num_graphs:
        values = GraphValues.of(raw, (*plan["graph_features"], *plan["columns"]))
        places = torch.searchsorted(raw.rows, labelled.rows)
        union = Encoder.fit(raw).encode(
            labelled, compress=asked["compress"], pair_code=asked["pair_code"]
        )
        save_shard(path, union, labelled, graph_keys(labelled), values, places)
        checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    shard = ShardFile(
        path,
        graphs=labelled.num_graphs,
        rows=len(block),
        unlabelled=raw.num_graphs - labelled.num_graphs,
        errors=tuple((block.first + row, reason) for row, reason in molecules.errors),
        tables=(molecules.atom_table.tolist(), molecules.bond_table.tolist()),
        sha256=checksum,
    )
    save_json(_told(folder, number), shard.to_json())


def _finish(folder: Path, plan: dict[str, Any]) -> None:
    """Write the manifest: the encoder of all shards, what they hold, and their checksums."""
    now = _size_and_time(Path(plan["asked"]["source"]))
    check_same(plan["asked"], now, f"{folder} holds shards that were made")
    made = [ShardFile.read(_path(folder, number)) for number in range(plan["shards"])]
    files = [file for file in made if file.graphs]
    counts = {
        "rows": plan["rows"],
        "graphs": sum(file.graphs for file in made),
        "unreadable": sum(len(file.errors) for file in made),
        "unlabelled": sum(file.unlabelled for file in made),
    }
    if not files:
        first = next((f" (row {row + 1}: {why})" for f in made for row, why in f.errors), "")
        raise ValueError(
            f"{plan['name']} must have a molecule that can be read and has a target, got "
            f"{counts['unreadable']:,} rows that cannot be read{first} and "
            f"{counts['unlabelled']:,} without a target. Check the columns."
        )
    features = MoleculeFeatures.from_json(plan["asked"]["molecules"])
    atoms, bonds = ([row for file in made for row in file.tables[kind]] for kind in (0, 1))
    nodes, pairs = column_encoders(features, atoms, bonds)
    graphs, told = None, tuple(plan["graph_features"])
    if told:
        fitted = [name for name in told if name != "morgan"]
        read = [file for file in made if file.graphs or file.unlabelled]
        parts = [file.values(plan["name"], fitted)[0] for file in read]
        graphs = GraphFeatures.fit_values(parts, told)
    task = Task.from_json(plan["task"])
    encoder = Encoder(nodes, pairs, task, features.to_json(), graphs=graphs)
    manifest = {
        "format": FORMAT,
        "lgan": __version__,
        "name": plan["name"],
        "options": {name: plan["asked"][name] for name in ("compress", "pair_code")},
        "counts": counts,
        "columns": plan["columns"],
        "encoder": encoder.to_json(),
        "files": {file.path.name: file.sha256 for file in files},
    }
    save_json(folder / MANIFEST, manifest)


def _helper(folder: Path) -> "subprocess.Popen[bytes]":
    command = "import sys, pathlib; from lgan.data.shards.prepare import help_prepare; " \
              "help_prepare(pathlib.Path(sys.argv[1]), int(sys.argv[2]))"  # fmt: skip
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(
        [sys.executable, "-c", command, str(folder), str(os.getpid())],
        env={**os.environ, "PYTHONPATH": path},
    )


def _rows_done(folder: Path, plan: dict[str, Any]) -> int:
    done = sum(_told(folder, number).is_file() for number in range(plan["shards"]))
    return min(done * int(plan["rows_per_shard"]), int(plan["rows"]))


def _path(folder: Path, number: int) -> Path:
    return folder / f"shard-{number:05d}.safetensors"


def _told(folder: Path, number: int) -> Path:
    return _path(folder, number).with_suffix(".json")
