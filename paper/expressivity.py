"""BREC: pairs told apart by our refinements and networks, beside the published counts."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from lgan.data import EgoLineGraph
from lgan.data.pairs import BREC
from lgan.nn import LGAN
from lgan.wl import check
from lgan.wl.hierarchy import brec_rows
from paper.json_records import read_record, write_record
from paper.published import BREC_COUNTS
from paper.reliability import OUT_CHANNELS, ProtocolConfig, trained_verdicts
from paper.render import Grid

KINDS = {
    "refinement": "the colour refinement that the model stands for (docs/expressivity.md)",
    "random": "a network with random weights, in float64, permuted copies as control",
    "trained": "the protocol of the benchmark: trained on each pair, with its reliability test",
}
# The refinements of docs/expressivity.md, by the row they stand in.
REFINEMENTS = {
    "lgan": "lgan",
    "lgan-res": "lgan-res",
    "lgan-res + triangles": "edge-t",
    "lgan-res + cycles": "edge-tq",
    "lgan-res + full": "code",
    "lgan-res + claws": "code-claws",
    "lgan-res + rings": "code-rings",
    "lgan-res + local": "code-local",
    "lgan-res + folklore": "code-folklore",
    "1-WL": "1-wl",
    "3-WL (2-FWL)": "2-fwl",
}
# Options of the networks with random weights.
NETWORKS: dict[str, dict[str, Any]] = {
    "lgan": {},
    "lgan-res": {"residual": True},
    **{
        f"lgan-res + {level}": {"residual": True, "pair_code": level}
        for level in ("triangles", "cycles", "full", "claws", "rings", "local", "folklore")
    },
}
WIDTH, LAYERS, SEED = 16, 5, 0


@dataclass(frozen=True)
class Count:
    """A cell: pairs of BREC that something tells apart.

    Attributes:
        row: Name of the model, as :data:`REFINEMENTS` and :data:`NETWORKS` have it.
        kind: ``refinement``, ``random`` or ``trained``.
        separated: Pairs told apart by category.
        seconds: Time of the whole, the control included.
        prepare: Seconds to prepare the 800 graphs; networks only.
        forward: Seconds of one forward pass over them; networks only.
        detail: Further numbers: controls, smallest separation, settings.
    """

    row: str
    kind: str
    separated: dict[str, int]
    seconds: float
    prepare: float | None = None
    forward: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Pairs of all categories."""
        return sum(self.separated.values())


def measure_refinement(row: str, pairs: Mapping[str, Sequence[tuple[Any, Any]]]) -> Count:
    """Pairs that the refinement of a row separates."""
    [found] = brec_rows(pairs, tests=[REFINEMENTS[row]])
    test = {"test": REFINEMENTS[row]}
    return Count(row, "refinement", found.separated, found.seconds, detail=test)


def measure_network(row: str, pairs: Mapping[str, Sequence[tuple[Any, Any]]]) -> Count:
    """Pairs that a network with random weights separates, and what it costs; a permuted copy of
    every graph is the control.
    """
    options = NETWORKS[row]
    transform = EgoLineGraph(pair_code=options.get("pair_code", "none"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        model = LGAN(1, WIDTH, WIDTH, num_layers=LAYERS, **options)
    begin = time.perf_counter()
    results = {
        name: check(model, some, transform=transform, copies=1) for name, some in pairs.items()
    }
    seconds = time.perf_counter() - begin
    prepare, forward = _costs(model, [g for some in pairs.values() for p in some for g in p],
                              transform)  # fmt: skip
    apart = [r.smallest_separation for r in results.values() if r.smallest_separation is not None]
    return Count(
        row,
        "random",
        {name: result.num_separated for name, result in results.items()},
        seconds,
        prepare,
        forward,
        {
            "width": WIDTH,
            "layers": LAYERS,
            "seed": SEED,
            "largest control": max(result.largest_control for result in results.values()),
            "smallest separation": min(apart, default=None),
        },
    )


def measure_trained(
    row: str,
    pairs: Mapping[str, Sequence[tuple[Any, Any]]],
    progress: Callable[[float], None] | None = None,
) -> Count:
    """Pairs that networks trained by the protocol of the benchmark separate."""
    options, config = NETWORKS[row], ProtocolConfig()
    build = partial(LGAN, 1, WIDTH, OUT_CHANNELS, num_layers=LAYERS, **options)
    level, total = options.get("pair_code", "none"), sum(len(some) for some in pairs.values())
    begin, done = time.perf_counter(), 0
    separated, unreliable = {}, 0
    for name, some in pairs.items():
        found = 0
        for verdict in trained_verdicts(build, some, pair_code=level, config=config):
            found += verdict.separated
            unreliable += not verdict.reliable
            done += 1
            if progress is not None:
                progress(done / total)
        separated[name] = found
    detail = {"width": WIDTH, "layers": LAYERS, "unreliable": unreliable, **asdict(config)}
    return Count(row, "trained", separated, time.perf_counter() - begin, detail=detail)


def _costs(
    model: LGAN, graphs: Sequence[Any], transform: Callable[[Any], Any]
) -> tuple[float, float]:
    """Seconds to prepare graphs, and of one forward pass over all of them, after a first one."""
    from torch_geometric.data import Batch
    from torch_geometric.utils import from_networkx

    data = [from_networkx(graph) for graph in graphs]
    for one in data:
        one.x = torch.ones(one.num_nodes, 1)
    transform(data[0].clone())
    begin = time.perf_counter()
    prepared = [transform(one) for one in data]
    seconds = time.perf_counter() - begin
    batch = Batch.from_data_list(prepared)
    with torch.no_grad():
        model.float().eval()(batch)
        begin = time.perf_counter()
        model(batch)
    return seconds, time.perf_counter() - begin


@dataclass(frozen=True)
class ExpressivityRecord:
    """Counts on disk.

    Attributes:
        counts: The cells.
        environment: Versions, machine, time.
    """

    counts: list[Count]
    environment: dict[str, Any]

    def save(self, path: Path | str) -> None:
        """Write as JSON, whole or not at all."""
        write_record(path, asdict(self))

    @staticmethod
    def load(path: Path | str) -> "ExpressivityRecord":
        """Read a record."""
        plain = read_record(path, "an expressivity record")
        return ExpressivityRecord([Count(**c) for c in plain["counts"]], plain["environment"])


def brec_grids(counts: Iterable[Count]) -> list[Grid]:
    """Totals of every row by kind beside the published ones, and the counts by category."""
    by_key = {(count.row, count.kind): count for count in counts}
    names = [*REFINEMENTS, *sorted({row for row, _ in by_key} - set(REFINEMENTS))]
    rows = [
        [name, *(_total(by_key.get((name, kind))) for kind in KINDS), *_times(by_key, name)]
        for name in names
        if any((name, kind) in by_key for kind in KINDS)
    ]
    total = Grid(
        "BREC: pairs told apart, of 400",
        ["ours", *KINDS, "preparation", "one forward pass", "refinement takes"],
        rows,
        [f"{kind}: {meaning}." for kind, meaning in KINDS.items()]
        + ["Preparation and forward pass are over the 800 graphs, after a first call."],
    )
    told = Grid(
        "BREC as published",
        ["published", "pairs"],
        [[name, str(count)] for name, count in BREC_COUNTS.items()],
        ["Wang and Zhang, ICML 2024; most figures from memory of its table."],
    )
    detailed = [
        [c.row, c.kind, *(str(c.separated.get(name, "")) for name in BREC), str(c.total)]
        for c in by_key.values()
    ]
    columns = ["row", "kind", *(f"{name} {size}" for name, size in BREC.items()), "total"]
    return [total, told, Grid("BREC by category", columns, detailed)]


def _total(count: Count | None) -> str:
    return "not run" if count is None else str(count.total)


def _times(by_key: Mapping[tuple[str, str], Count], row: str) -> list[str]:
    network, refinement = by_key.get((row, "random")), by_key.get((row, "refinement"))
    values = [
        None if network is None else network.prepare,
        None if network is None else network.forward,
        None if refinement is None else refinement.seconds,
    ]
    return ["" if value is None else f"{value:.2f} s" for value in values]
