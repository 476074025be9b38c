"""What a million and more molecules would take: measured costs, and what follows from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import Record, Row
from paper.render import Grid

SETS = {"PCQM4Mv2": 3_700_000, "screening library": 100_000_000}
DEVICES = (1, 8, 64)
COLUMNS = ["", "measured", "time", "a graph", "a shard", "a byte"]
# Of links between GPUs, which one GPU cannot measure.
LINK_BYTES, LINK_SECONDS = 50e9, 50e-6
CORES_PER_GPU = 16
UNITS = (
    (86_400, "d"),
    (3600, "h"),
    (60, "min"),
    (1, "s"),
    (1e-3, "ms"),
    (1e-6, "µs"),
    (1e-9, "ns"),
    (1e-12, "ps"),
)


@dataclass(frozen=True)
class Costs:
    """What a machine takes, of its record of `lgan bench scale`.

    Attributes:
        prepare: Seconds of one core for a graph that is prepared.
        efficiency: Share of its speed that a core keeps beside others that prepare.
        epoch: Seconds of one device for a graph of an epoch.
        predict: Seconds of one device for a row that is read and predicted.
        batch: Graphs in a batch of one device.
        parameters: Bytes of the gradients that are exchanged after a batch.
        byte: Seconds for a byte that is exchanged.
        latency: Seconds for an exchange of no bytes.
        cores: Cores that belong to a device.
    """

    prepare: float
    efficiency: float
    epoch: float
    predict: float
    batch: int
    parameters: int
    byte: float
    latency: float
    cores: int

    @staticmethod
    def of(record: Record) -> "Costs":
        """The costs at the largest size that was measured."""
        largest = {row.name: row for row in sorted(record.rows, key=lambda row: row.size or 0)}
        per = {
            name: _seconds(largest[f"cost, {name}"]) / (largest[f"cost, {name}"].size or 1)
            for name in ("prepare", "epoch", "predict")
        }
        more = next(row for row in record.rows if "processes" in row.detail)
        epoch, exchanges = largest["cost, epoch"], _named(record, "exchange")
        byte, latency, cores = 1 / LINK_BYTES, LINK_SECONDS, CORES_PER_GPU
        if exchanges:
            byte = _seconds(exchanges[-1]) / exchanges[-1].detail["bytes"]
            latency, cores = _seconds(exchanges[0]), 1
        return Costs(
            prepare=per["prepare"],
            efficiency=1 / (more.ratio or 1) / more.detail["processes"],
            epoch=per["epoch"],
            predict=per["predict"],
            batch=int(epoch.detail["batch"]),
            parameters=4 * int(epoch.detail["parameters"]),
            byte=byte,
            latency=latency,
            cores=cores,
        )

    def preparing(self, graphs: int, devices: int) -> float:
        """Seconds to prepare a table on all cores of some devices."""
        cores = devices * self.cores
        return graphs * self.prepare / (cores * (self.efficiency if cores > 1 else 1))

    def training(self, graphs: int, devices: int) -> float:
        """Seconds of an epoch on some devices, which share batches that grow with them."""
        computing = graphs * self.epoch / devices
        if devices == 1:
            return computing
        steps = graphs / (self.batch * devices)
        # A ring of n sends what is summed and then the sums, each less the part that is its own.
        sent = 2 * (devices - 1) / devices * self.parameters
        return computing + steps * (self.latency + sent * self.byte)

    def predicting(self, graphs: int, devices: int) -> float:
        """Seconds to read and predict a table on some devices."""
        return graphs * self.predict / devices


def scale_grids(records: Sequence[Record], kills: dict[str, Any] | None = None) -> list[Grid]:
    """Costs and predictions of every machine, how well epochs are shuffled, and kills."""
    grids = [grid for record in records for grid in (_costs(record), _predicted(record))]
    if records:
        grids.append(_shuffled(records[0]))
    else:
        grids.append(
            Grid("Costs", COLUMNS, [], ["No record yet: measure with `lgan bench scale`."])
        )
    return [*grids, *([] if kills is None else [_killed(kills)])]


def duration(seconds: float) -> str:
    """A time in the unit that suits it.

    Example:
        >>> [duration(value) for value in (7e-10, 2.5e-5, 0.31, 90, 5400, 400_000)]
        ['700 ps', '25 µs', '310 ms', '1.5 min', '1.5 h', '4.6 d']
    """
    for size, unit in UNITS:
        if seconds >= size:
            number = seconds / size
            return f"{number:.2g} {unit}" if number < 100 else f"{number:,.0f} {unit}"
    return "0 s"


def _costs(record: Record) -> Grid:
    rows = []
    for name in ("prepare", "read", "epoch", "predict", "exchange"):
        for row in _named(record, name):
            each = {key: _seconds(row) / row.detail[key] for key in row.detail if row.detail[key]}
            per = [duration(each[k]) if k in each else "" for k in ("graphs", "shards", "bytes")]
            per[2] = per[2] if name in ("read", "exchange") else ""
            rows.append([name, row.what, duration(_seconds(row)), *per])
    return Grid(f"Costs on {record.environment['device']}", COLUMNS, rows)


def _predicted(record: Record) -> Grid:
    costs, rows = Costs.of(record), []
    gpu = not _named(record, "exchange")
    device = "GPU" if gpu else "core"
    for name, graphs in SETS.items():
        tasks = {"prepare": costs.preparing, "an epoch": costs.training,
                 "predict": costs.predicting}  # fmt: skip
        for task, seconds in tasks.items():
            times = [duration(seconds(graphs, devices)) for devices in DEVICES]
            rows.append([f"{name}, {graphs:,}", task, *times])
    columns = ["molecules", "", *(f"{n} {device}{'s' * (n > 1)}" for n in DEVICES)]
    link = (
        f"{LINK_BYTES / 1e9:.0f} GB/s and {duration(LINK_SECONDS)} an exchange, which is assumed"
        if gpu
        else "as between two processes of one machine, which a network may miss"
    )
    return Grid(
        f"Predicted for {record.environment['device']}",
        columns,
        rows,
        [
            "Computed from the costs at the largest size, nothing of it measured: molecules like "
            "those of HIV, costs in proportion to their number.",
            f"prepare: {f'{costs.cores} cores a GPU; ' if gpu else ''}a core beside others keeps "
            f"{costs.efficiency:.0%} of its speed, as with the processes of the record; reading "
            "the table is not the limit.",
            f"an epoch: one model, {costs.batch:,} graphs a {device} in a batch, so that batches "
            f"grow with their number; {costs.parameters / 2**20:.2g} MiB of gradients after each, "
            f"exchanged by a ring, {link}; nothing is computed meanwhile, but shards are read.",
            f"predict: one member; one process a {device} reads the molecules and predicts them.",
        ],
    )


def _shuffled(record: Record) -> Grid:
    found: dict[int, dict[str, dict[str, float]]] = {}
    for row in record.rows:
        if row.name.startswith("shuffle, "):
            found.setdefault(row.size or 0, {})[row.name.partition(", ")[2]] = row.detail
    orders = list(next(iter(found.values())))
    columns = ["window", *(f"{kind}, {order}" for order in orders for kind in ("labels", "places"))]
    rows = [
        [str(window), *(f"{by[o][kind]:.3f}" for o in orders for kind in ("labels", "places"))]
        for window, by in found.items()
    ]
    return Grid(
        "Correlation of neighbours in an epoch over 64 shards",
        columns,
        rows,
        ["Labels of a graph and of the next that is trained on, and their places in the table; "
         "the mean of five epochs. All 64 at once is a full shuffle."],
    )  # fmt: skip


def _killed(kills: dict[str, Any]) -> Grid:
    names = dict.fromkeys(run["case"] for run in kills["runs"])
    rows = []
    for name in names:
        runs = [run for run in kills["runs"] if run["case"] == name]
        right = sum(run["right"] and run["killed"] for run in runs)
        rows.append([name, str(len(runs)), str(right)])
    rows.append(["in all", str(len(kills["runs"])), str(kills["right"])])
    return Grid("Killed at a random moment", ["", "kills", "right results"], rows)


def _named(record: Record, name: str) -> list[Row]:
    """The rows of a cost, the smallest size first."""
    rows = [row for row in record.rows if row.name == f"cost, {name}"]
    return sorted(rows, key=lambda row: row.size or 0)


def _seconds(row: Row) -> float:
    assert row.seconds is not None
    return row.seconds
