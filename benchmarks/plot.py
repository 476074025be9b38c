"""Pictures of benchmark records: what to draw, then drawing it."""

from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.record import Record
from benchmarks.row import Row


class BarPair(NamedTuple):
    """Our figure beside the peer's, and what the bar says of it."""

    label: str
    ours: float
    peer: float | None
    verdict: str


def bars(rows: list[Row]) -> dict[str, list[BarPair]]:
    """What a comparison shows, by unit: seconds, or GiB where memory is judged."""
    found: dict[str, list[BarPair]] = {}
    for row in rows:
        memory = row.bar is not None and row.bar.figure == "memory"
        ours, peer = (row.memory, row.peer_memory) if memory else (row.seconds, row.peer_seconds)
        if ours is None:
            continue
        scale, unit = (2**30, "GiB") if memory else (1, "seconds (median)")
        label = row.name if row.peer is None else f"{row.name}\n{row.peer}"
        pair = BarPair(label, ours / scale, None if peer is None else peer / scale, _verdict(row))
        found.setdefault(unit, []).append(pair)
    return found


def lines(rows: list[Row]) -> dict[str, list[Row]]:
    """What a series shows: the rows of each name that have a size and a time."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.size and row.seconds:
            found.setdefault(row.name, []).append(row)
    return found


def draw(record: Record, path: Path) -> None:
    """Draw a record as PNG: a series as lines, everything else as bars."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    series = lines(record.rows)
    figure = Figure(layout="constrained")
    if any(len(line) > 1 for line in series.values()) and not any(r.peer for r in record.rows):
        figure.set_size_inches(10, 4.2)
        _draw_lines(figure, series, [f"{r.name}: {r.note}" for r in record.rows if r.note])
    else:
        panels = bars(record.rows)
        heights = [1.2 + 0.6 * len(pairs) for pairs in panels.values()]
        figure.set_size_inches(9, sum(heights) or 1.8)
        each = figure.subplots(len(panels) or 1, height_ratios=heights or None, squeeze=False)
        for axes, (unit, pairs) in zip(each[:, 0], panels.items(), strict=False):
            _draw_bars(axes, unit, pairs)
    where = record.environment
    figure.suptitle(
        f"{record.benchmark}: {where.get('device')}, {where.get('threads')} threads, "
        f"lgan {where.get('lgan')}",
        fontsize=10,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    FigureCanvasAgg(figure).print_png(str(path))


def _draw_bars(axes: Any, unit: str, pairs: list[BarPair]) -> None:
    peers = [(p + 0.2, pair.peer) for p, pair in enumerate(pairs) if pair.peer is not None]
    places = [p - 0.2 if peers else p for p in range(len(pairs))]
    axes.barh(places, [pair.ours for pair in pairs], 0.38, label="lgan", color="#1f77b4")
    if peers:
        axes.barh(*zip(*peers, strict=True), 0.38, label="peer", color="#c7c7c7")
        axes.legend(loc="best", fontsize=8)
    for p, pair in enumerate(pairs):
        axes.annotate(
            f" {pair.verdict}", (max(pair.ours, pair.peer or 0), p), va="center", fontsize=7
        )
    axes.set_yticks(range(len(pairs)), [pair.label for pair in pairs], fontsize=8)
    axes.set_ylim(len(pairs) - 0.5, -0.5)
    values = [value for pair in pairs for value in (pair.ours, pair.peer) if value]
    if unit != "GiB" and values and max(values) > 10 * min(values):  # or lengths would deceive
        axes.set_xscale("log")
    axes.margins(x=0.35)
    axes.set_xlabel(unit)


def _draw_lines(figure: Any, series: dict[str, list[Row]], notes: list[str]) -> None:
    panels = figure.subplots(1, 2)
    for axes, what, scale, label in (
        (panels[0], "seconds", 1, "seconds"),
        (panels[1], "memory", 2**20, "MiB"),
    ):
        for name, line in series.items():
            values = [(getattr(row, what) or 0) / scale for row in line]
            axes.plot([row.size for row in line], values, marker="o", label=name)
        axes.set_xscale("log")
        if any(getattr(row, what) for line in series.values() for row in line):
            axes.set_yscale("log")
        axes.set_xlabel("incidence entries of the original graph")
        axes.set_ylabel(label)
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
    panels[0].set_title("\n".join(notes), fontsize=7)


def _verdict(row: Row) -> str:
    if row.bar is not None and row.figure is not None:
        return f"{row.bar.text(row.figure)} (bar {row.bar})"
    return f"{row.ratio:.3g} of the peer" if row.ratio else row.note[:60]
