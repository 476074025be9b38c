"""The sets of the table of molecules: rows, parts, fingerprints, prepared once for both sides."""

import csv
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.data import Encoder, GraphFeatures, RawGraphs, load_raw
from lgan.data.cache import load_tensors, save_tensors
from lgan.data.load import with_target
from lgan.data.molecules.descriptors import morgan
from lgan.data.split_words import scaffolds
from lgan.graph import GraphUnion
from lgan.task import Task
from lgan.task.metrics import Metric

# Every set: its file, how many of its rows are drawn (all where 0), its splits.
SETS = {
    "FreeSolv": ("FreeSolv.csv", 0, ("random", "scaffold")),
    "ESOL": ("ESOL.csv", 0, ("random", "scaffold")),
    "BBBP": ("BBBP.csv", 0, ("random", "scaffold")),
    "ClinTox": ("ClinTox.csv", 0, ("random", "scaffold")),
    "SIDER": ("SIDER.csv", 0, ("random", "scaffold")),
    "Tox21-2000": ("Tox21.csv", 2000, ("random", "scaffold")),
    "Tox21": ("Tox21.csv", 0, ("random", "scaffold")),
    "HIV-4000": ("HIV.csv", 4000, ("random", "scaffold")),
    "HIV": ("HIV.csv", 0, ("ogb",)),
}
SEEDS = (0, 1, 2)
TRAIN, VALIDATION, TEST = 0, 1, 2
# Features of whole molecules that a variant may read, and fingerprints for the forests.
DESCRIPTORS = ("morgan", "rdkit2d")
RADIUS, BITS = 2, 2048


@dataclass(frozen=True)
class PreparedSet:
    """A set as all models of the table read it.

    Attributes:
        name: Its name.
        union: Its molecules as graphs, twins apart, as `lgan train` encodes them.
        parts: For every split and seed the part of each molecule ``[G]``.
        descriptors: Encoded features of whole molecules by name ``[G, d]``.
        bits: Morgan fingerprints for the forests, eight bits to a byte ``[G, 256]``.
        table: A CSV of the same rows in the same order, for peers that read SMILES.
    """

    name: str
    union: GraphUnion
    parts: dict[tuple[str, int], Tensor]
    descriptors: dict[str, Tensor]
    bits: Tensor
    table: Path

    def part(self, split: str, seed: int) -> Tensor:
        """The part of every molecule; of ogbg-molhiv's split there is one for all seeds."""
        return self.parts[split, 0 if split == "ogb" else seed]

    @property
    def metric(self) -> Metric:
        """What answers are scored by."""
        task = self.union.known_task
        return task.metric("roc-auc" if task.classes else "rmse")

    def score(self, split: str, seed: int, judged: int, answers: NDArray[np.float64]) -> float:
        """The score of what a model says of the rows of a part."""
        return self.metric(self.union.y[self.part(split, seed) == judged].numpy(), answers)

    @staticmethod
    def load(folder: Path, name: str) -> "PreparedSet":
        """What :func:`prepare` wrote."""
        path = folder / f"{name}.safetensors"
        if not path.is_file():
            raise FileNotFoundError(
                f"{name} must be prepared in {folder}, got no {path.name}. Run `python -m "
                "paper.molecules prepare --molecules FOLDER` where RDKit is."
            )
        tensors, about = load_tensors(path)
        task = Task.from_json(json.loads(about["task"]))
        splits = [(split, int(seed)) for split, seed in json.loads(about["splits"])]
        parts = tensors.pop("parts")
        packed = tensors.pop("morgan").numpy()
        unpacked = torch.from_numpy(np.unpackbits(packed, axis=1)).float()
        descriptors = {"morgan": unpacked}
        if "rdkit2d" in tensors:
            descriptors["rdkit2d"] = tensors.pop("rdkit2d").float()
        return PreparedSet(
            name=name,
            bits=tensors.pop("bits"),
            descriptors=descriptors,
            union=GraphUnion.from_tensors(tensors, name, task),
            parts=dict(zip(splits, parts, strict=True)),
            table=folder / f"{name}.csv",
        )


def prepare(
    molecules: Path, folder: Path, names: Sequence[str], *, descriptors: bool = True
) -> None:
    """Write some sets, as far as they are not there: rows, splits, fingerprints, graphs, and
    RDKit's descriptors, which take the better part of an hour for HIV's molecules on one core.
    """
    for name in names:
        path = folder / f"{name}.safetensors"
        if path.exists():
            continue
        file, drawn, kinds = SETS[name]
        raw = load_raw(molecules / file, targets="all", root=folder / "cache")
        raw = with_target(raw, Encoder.fit(raw).task)
        if drawn:
            chosen = np.random.default_rng(0).permutation(raw.num_graphs)[:drawn]
            raw = raw.select(torch.from_numpy(np.sort(chosen)))
        encoder = Encoder.fit(raw)
        assert encoder.task is not None
        parts, splits = _parts(raw, kinds)
        tensors = {
            **encoder.encode(raw, compress=False).tensors(),
            "parts": parts,
            "bits": packed_morgan(raw, BITS),
            "morgan": packed_morgan(raw),
        }
        if descriptors:
            tensors["rdkit2d"] = GraphFeatures.fit(raw, ("rdkit2d",)).encode(raw).half()
        about = {"task": json.dumps(encoder.task.to_json()), "splits": json.dumps(splits)}
        with (folder / f"{name}.csv").open("w", newline="") as table:
            _write(table, raw)
        save_tensors(path, tensors, about)


def _parts(raw: RawGraphs, kinds: Sequence[str]) -> tuple[Tensor, list[tuple[str, int]]]:
    assert raw.ids is not None
    rings = scaffolds(raw.ids)
    parts, splits = [], []
    for kind in kinds:
        for seed in SEEDS if kind != "ogb" else (0,):
            if kind == "random":
                part = random_parts(raw.num_graphs, seed)
            elif kind == "scaffold":
                part = balanced_parts(rings, seed)
            else:
                part = ogb_parts(rings, raw.rows, [row for row, _ in raw.errors])
            parts.append(part)
            splits.append((kind, seed))
    return torch.stack(parts), splits


def random_parts(count: int, seed: int) -> Tensor:
    """Ten percent of test, ten of validation, the rest to train, drawn at random ``[n]``.

    Example:
        >>> random_parts(20, 0).bincount().tolist()
        [16, 2, 2]
    """
    place = torch.from_numpy(np.random.default_rng(seed).permutation(count))
    return torch.where(place < count // 10, TEST, (place < 2 * (count // 10)).long())


def balanced_parts(groups: Sequence[str], seed: int) -> Tensor:
    """Parts of 80, 10 and 10 percent that share no group, by the rule of chemprop's
    ``scaffold_balanced``: groups larger than half a part first, then the others, each in a random
    order and into the first part with room. Molecules without rings are one group.

    Example:
        >>> balanced_parts(["a"] * 6 + ["b", "c", "d", "e"], 0).bincount().tolist()
        [8, 1, 1]
    """
    members: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    room = [int(0.8 * len(groups)), int(0.1 * len(groups))]
    large = [rows for rows in members.values() if len(rows) > room[1] / 2]
    small = [rows for rows in members.values() if len(rows) <= room[1] / 2]
    draw = random.Random(seed)
    draw.shuffle(large)
    draw.shuffle(small)
    part = torch.full((len(groups),), TEST)
    for rows in (*large, *small):
        into = next((i for i in (TRAIN, VALIDATION) if len(rows) <= room[i]), None)
        if into is not None:
            room[into] -= len(rows)
            part[rows] = into
    return part


def ogb_parts(groups: Sequence[str], rows: Tensor, unread: Sequence[int]) -> Tensor:
    """The split of ogbg-molhiv: scaffolds from the largest to the smallest, among equal ones that
    with the latest first row before, the first 80 percent to train and the next 10 to validate.

    Args:
        groups: The scaffold of every molecule.
        rows: Its row in the file.
        unread: Rows that no molecule can be read from: they take room, each a group of its own.
    """
    members: dict[str, list[int]] = {}
    for group, row in zip(groups, rows.tolist(), strict=True):
        members.setdefault(group, []).append(row)
    members |= {f"unreadable {row}": [row] for row in unread}
    count = len(groups) + len(unread)
    filled, part_of = [0, 0], {}
    for own in sorted(members.values(), key=lambda own: (len(own), own[0]), reverse=True):
        if filled[0] + len(own) <= 0.8 * count:
            part = TRAIN
        else:
            part = VALIDATION if sum(filled) + len(own) <= 0.9 * count else TEST
        if part != TEST:
            filled[part] += len(own)
        part_of.update(dict.fromkeys(own, part))
    return torch.tensor([part_of[row] for row in rows.tolist()])


def packed_morgan(raw: RawGraphs, bits: int = 1024) -> Tensor:
    """Morgan fingerprints, eight bits to a byte ``[G, bits / 8]``."""
    return torch.from_numpy(np.packbits(morgan(raw, radius=RADIUS, bits=bits), axis=1))


def _write(file: object, raw: RawGraphs) -> None:
    """The rows as a CSV: the structure as it was given, then the targets."""
    writer = csv.writer(file)  # type: ignore[arg-type]
    writer.writerow(["smiles", *raw.targets])
    writer.writerows(zip(raw.structures or (), *raw.targets.values(), strict=True))
