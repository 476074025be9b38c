"""What features of edges cost: an epoch with them, without them, and beside PyG's GINE."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from benchmarks.config import BenchConfig
from benchmarks.measure import OURS, comparison
from benchmarks.peers import PeerTraining
from benchmarks.row import Bar, Row
from benchmarks.sets import BothSides, load_both
from benchmarks.training import PEER, Training, train_beside
from lgan.data import RawGraphs
from lgan.nn import LGAN

SETS = ("MUTAG", "PTC_MR", "Mutagenicity")
# Ten models take minutes for a few epochs of all of it.
SAMPLE = {"Mutagenicity": 1000}
MODELS = (1, 10)
WIDTH = 32
PLAIN = "the same without"
GINE = "PyG GINE, DataLoader"
BESIDE_GINE = 1.2


def bond_types(raw: RawGraphs) -> Tensor:
    """The labels of edges, one-hot; four made up where the set has none."""
    labels = torch.arange(raw.num_pairs) % 4 if raw.pair_labels is None else raw.pair_labels
    return one_hot(labels).float()


def real_columns(raw: RawGraphs) -> Tensor:
    """Twelve columns of random numbers: as many different rows as edges."""
    return torch.randn(raw.num_pairs, 12, generator=torch.Generator().manual_seed(0))


class _Kind(NamedTuple):
    words: str
    of: Callable[[RawGraphs], Tensor]
    limit: float  # at most this part of the time without


KINDS = (_Kind("bond types", bond_types, 1.1), _Kind("12 columns", real_columns, 1.35))


def edges(config: BenchConfig) -> list[Row]:
    """Train on every graph of a molecule set once: 4 layers of width 32, batches of 32.

    An epoch with features of edges beside the same without, of one model and of ten side by side,
    and one model beside PyG's GINE with the same features.
    """
    rows = []
    for name in SETS[:1] if config.quick else SETS:
        config.progress(f"{name}: reading")
        sample = None if config.full else SAMPLE.get(name)
        plain = load_both(name, config, sample=sample)
        for kind in KINDS:
            both = load_both(name, config, sample=sample, edges=kind.of)
            rows += [_beside_plain(name, kind, both, plain, models, config) for models in MODELS]
            rows.append(_beside_gine(name, kind, both, config))
    return rows


def _beside_plain(
    name: str, kind: _Kind, both: BothSides, plain: BothSides, models: int, config: BenchConfig
) -> Row:
    samples: dict[str, list[float]] = {OURS: [], PLAIN: []}
    # In turn, so that whatever else the machine does falls on both.
    for turn in range(1 if config.quick else 5):
        for side, read in ((OURS, both), (PLAIN, plain)):
            config.progress(f"{name}, {kind.words}, {models}: {side}, {turn + 1}")
            training = _training(read, models, config)
            samples[side] += train_beside(training, None, repeats=2)[OURS]
    return comparison(
        f"{name}, {kind.words}, {'one model' if models == 1 else f'{models} side by side'}",
        f"one epoch of {len(both.graphs)} graphs, 4 layers of width {WIDTH}",
        samples, peer=PLAIN, bar=Bar("ratio", kind.limit), size=models, note=both.note,
    )  # fmt: skip


def _beside_gine(name: str, kind: _Kind, both: BothSides, config: BenchConfig) -> Row:
    peer = PeerTraining(
        both.graphs, both.graphs[:1], hidden_channels=WIDTH, edges=True,
        num_classes=both.union.num_classes, device=config.device,
    )  # fmt: skip
    samples = train_beside(
        _training(both, 1, config), lambda _: peer.epoch(), repeats=2 if config.quick else 9,
        progress=lambda text: config.progress(f"{name}, {kind.words}, {GINE}: {text}"),
    )  # fmt: skip
    samples[GINE] = samples.pop(PEER)
    return comparison(
        f"{name}, {kind.words}, beside GINE",
        f"one epoch of {len(both.graphs)} graphs, 4 layers of width {WIDTH}",
        samples, peer=GINE, bar=Bar("ratio", BESIDE_GINE), size=1, note=both.note,
    )  # fmt: skip


def _training(both: BothSides, models: int, config: BenchConfig) -> Training:
    union = both.union
    build = partial(
        LGAN, union.num_features, WIDTH, union.num_classes, readout=both.readout,
        edge_dim=union.num_edge_features or None,
    )  # fmt: skip
    return Training.on_all(union, build, models=models, seed=config.seed)
