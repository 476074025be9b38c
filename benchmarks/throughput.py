"""Molecules a second: one model on HIV.csv beside PyG's GINE with its stock loader."""

from collections import Counter
from functools import partial
from statistics import median

import torch
from torch_geometric.data import Data

from benchmarks.config import BenchConfig
from benchmarks.measure import OURS, comparison, synchronize
from benchmarks.molecules import molecule_file
from benchmarks.peers import PeerTraining
from benchmarks.row import Bar, Row
from benchmarks.training import PEER, Training, train_beside
from lgan.data import Encoder, load_raw
from lgan.graph import GraphUnion
from lgan.nn import LGAN
from lgan.nn.edge_vectors import edge_vectors
from lgan.train.curves import Curves

WIDTH, WORKERS = 128, 8
BATCHES = (128, 1024)
ON_GPU = 10.0
GINE = f"PyG GINE, DataLoader, {WORKERS} workers"
MARK = "spin_kernel"  # of `torch.cuda._sleep`
LONGEST = 10  # kinds of kernels that a record names
BETWEEN = 10.0  # microseconds; kernels of one captured step follow each other faster than that


def throughput(config: BenchConfig) -> list[Row]:
    """Train on every molecule once: LGAN-res of 4 layers of width 128, with bonds.

    The peer has GINE's layers of the same number and width, the same features, and PyG's loader
    with 8 workers that stay. On a GPU also which share of an epoch it has nothing to do.
    """
    union, graphs = _both(config)
    return [
        _row(batch, union, graphs, config) for batch in (BATCHES[:1] if config.quick else BATCHES)
    ]


def _row(batch: int, union: GraphUnion, graphs: list[Data], config: BenchConfig) -> Row:
    training = _training(union.to(config.device), batch, config)
    peer = PeerTraining(
        graphs, [], hidden_channels=WIDTH, num_classes=union.num_classes, edges=True,
        device=config.device, batch_size=batch, workers=0 if config.quick else WORKERS,
    )  # fmt: skip
    samples = train_beside(
        training, lambda _: peer.epoch(), repeats=1 if config.quick else 5,
        progress=lambda text: config.progress(f"batches of {batch}: {text}"),
    )  # fmt: skip
    on_gpu = config.device.type == "cuda"
    samples[GINE] = samples.pop(PEER)
    return comparison(
        f"epoch, batches of {batch}",
        f"one epoch of {union.num_graphs:,} molecules, 4 layers of width {WIDTH}, bonds",
        samples, peer=GINE, bar=Bar("speedup", ON_GPU) if on_gpu else None, size=batch,
        detail={
            "molecules a second": union.num_graphs / median(samples[OURS]),
            **(_idle(training) if on_gpu else {}),
        },
    )  # fmt: skip


def _both(config: BenchConfig) -> tuple[GraphUnion, list[Data]]:
    config.progress("reading the molecules")
    if config.quick:
        smiles = ["C" * (1 + i % 9) + ("O" if i % 2 else "N") for i in range(40)]
        raw = load_raw(smiles, targets={"y": [i % 2 for i in range(40)]})
    else:
        raw = load_raw(molecule_file(config, "HIV"), targets=["HIV_active"])
    encoder = Encoder.fit(raw)
    return encoder.encode(raw), pyg_data(encoder.encode(raw, compress=False))


def pyg_data(union: GraphUnion) -> list[Data]:
    """The graphs of a union whose twins are apart, with all their features, as PyG has them."""
    lines = union.lines
    assert lines.pair_rows is not None
    table = edge_vectors(lines, union.num_edge_features)
    x, bonds = union.features.float(), table[lines.pair_rows.long()].float()
    nodes, pairs = union.node_ptr.tolist(), union.pair_ptr.tolist()
    graphs = []
    for g in range(union.num_graphs):
        own = slice(pairs[g], pairs[g + 1])
        ends = lines.pair_index[:, own].long() - nodes[g]
        graphs.append(
            Data(
                x=x[nodes[g] : nodes[g + 1]],
                edge_index=torch.cat([ends, ends.flip(0)], 1),
                edge_attr=bonds[own].repeat(2, 1),
                y=union.y[g : g + 1].long(),
            )
        )
    return graphs


def _training(union: GraphUnion, batch: int, config: BenchConfig) -> Training:
    build = partial(
        LGAN, union.num_features, WIDTH, union.num_classes, residual=True,
        edge_dim=union.num_edge_features,
    )  # fmt: skip
    return Training.on_all(union, build, seed=config.seed, batch_size=batch)


def _idle(training: Training) -> dict[str, float]:
    """Of the second epoch: the share in which no kernel runs, by the profiler's clock."""
    from torch.profiler import ProfilerActivity, profile

    def mark(_: int, __: Curves) -> None:
        torch.cuda._sleep(1)
        synchronize(training.union.device)

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        training.run(2, on_epoch=mark)
    ran = [event for event in profiler.events() if event.device_type.name == "CUDA"]
    first, last = (e.time_range.end for e in ran if MARK in e.name)
    spans = [(e.time_range.start, e.time_range.end) for e in ran]
    of_epoch = [e for e in ran if first < e.time_range.start < last]
    longest = Counter[str]()
    for event in of_epoch:
        longest[event.name.split("<")[0][:60]] += event.time_range.elapsed_us() / (last - first)
    return {
        "share of an epoch without a kernel": idle_share(spans, first, last),
        "share in gaps above 10 us": idle_share(spans, first, last, shortest=BETWEEN),
        "kernels of an epoch": len(of_epoch),
        **{f"share of {name}": share for name, share in longest.most_common(LONGEST)},
    }


def idle_share(
    spans: list[tuple[float, float]], first: float, last: float, *, shortest: float = 0.0
) -> float:
    """The share of the time from ``first`` to ``last`` in gaps between spans, of which those count
    that are at least as long as the ``shortest``.
    """
    idle, reached = 0.0, first
    for begin, end in sorted([*spans, (last, last)]):
        gap = min(begin, last) - reached
        idle += gap if gap > shortest else 0.0
        reached = max(reached, end)
    return idle / (last - first)
