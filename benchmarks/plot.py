"""Pictures of benchmark records: what to draw, then drawing it."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.record import Record
from benchmarks.row import Row

__all__ = ["Bars", "Lines", "bars", "draw", "lines"]


@dataclass(frozen=True)
class Bars:
    """Times of both sides, one pair of bars a row.

    Attributes:
        labels: What each row compares.
        ours: Our seconds.
        peers: The peers' seconds, ``None`` where there are none.
        verdicts: The figure the bar judges, and the bar.
    """

    labels: list[str]
    ours: list[float]
    peers: list[float | None]
    verdicts: list[str]


@dataclass(frozen=True)
class Lines:
    """Time and memory against size.

    Attributes:
        names: Name of every line.
        sizes: Sizes of its points.
        seconds: Time at each.
        memory: Bytes at each.
    """

    names: list[str]
    sizes: list[list[int]]
    seconds: list[list[float]]
    memory: list[list[float]]


def bars(rows: list[Row]) -> Bars:
    """What a comparison shows: all rows with a time of ours."""
    timed = [row for row in rows if row.seconds is not None]
    return Bars(
        labels=[row.name if row.peer is None else f"{row.name}\n{row.peer}" for row in timed],
        ours=[row.seconds or 0.0 for row in timed],
        peers=[row.peer_seconds for row in timed],
        verdicts=[_verdict(row) for row in timed],
    )


def lines(rows: list[Row]) -> Lines:
    """What a series shows: one line for each name that has several sizes."""
    names = list(dict.fromkeys(row.name for row in rows if row.size is not None and row.seconds))
    grouped = [[r for r in rows if r.name == name and r.size and r.seconds] for name in names]
    return Lines(
        names=names,
        sizes=[[row.size or 0 for row in line] for line in grouped],
        seconds=[[row.seconds or 0.0 for row in line] for line in grouped],
        memory=[[float(row.memory or 0) for row in line] for line in grouped],
    )


def draw(record: Record, path: Path) -> None:
    """Draw a record as PNG: a series as lines, everything else as bars."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    series = lines(record.rows)
    several = any(len(sizes) > 1 for sizes in series.sizes)
    figure = Figure(layout="constrained")
    if several and not any(row.peer for row in record.rows):
        figure.set_size_inches(10, 4.2)
        _draw_lines(figure, series, [f"{r.name}: {r.note}" for r in record.rows if r.note])
    else:
        content = bars(record.rows)
        figure.set_size_inches(9, 1.2 + 0.6 * max(len(content.labels), 1))
        _draw_bars(figure, content)
    where = record.environment
    figure.suptitle(
        f"{record.benchmark}: {where.get('device')}, {where.get('threads')} threads, "
        f"lgan {where.get('lgan')}",
        fontsize=10,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    FigureCanvasAgg(figure).print_png(str(path))


def _draw_bars(figure: object, content: Bars) -> None:
    axes = figure.subplots()  # type: ignore[attr-defined]
    place = range(len(content.labels))
    axes.barh([p - 0.2 for p in place], content.ours, 0.38, label="lgan", color="#1f77b4")
    peers = [(p + 0.2, s) for p, s in zip(place, content.peers, strict=True) if s is not None]
    if peers:
        axes.barh([p for p, _ in peers], [s for _, s in peers], 0.38, label="peer",
                  color="#c7c7c7")  # fmt: skip
        axes.legend(loc="best", fontsize=8)
    for p, ours, peer, text in zip(
        place, content.ours, content.peers, content.verdicts, strict=True
    ):
        axes.annotate(f" {text}", (max(ours, peer or 0), p), va="center", fontsize=7)
    axes.set_yticks(list(place), content.labels, fontsize=8)
    axes.invert_yaxis()
    if content.ours:
        axes.set_xscale("log")
    axes.margins(x=0.35)
    axes.set_xlabel("seconds (median)")


def _draw_lines(figure: object, content: Lines, notes: list[str]) -> None:
    panels = figure.subplots(1, 2)  # type: ignore[attr-defined]
    for axes, values, label in (
        (panels[0], content.seconds, "seconds"),
        (panels[1], [[v / 2**20 for v in line] for line in content.memory], "MiB"),
    ):
        for name, sizes, line in zip(content.names, content.sizes, values, strict=True):
            axes.plot(sizes, line, marker="o", label=name)
        axes.set_xscale("log")
        if any(v > 0 for line in values for v in line):
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
