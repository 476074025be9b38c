"""The picture of the runtime table: every model's epoch on every set, LGAN marked."""

from pathlib import Path

from lgan._optional import require
from paper.runtime import RuntimeRecord


def panels(record: RuntimeRecord) -> dict[str, list[tuple[str, float]]]:
    """By set, the models and the seconds of an epoch, the fastest first."""
    found: dict[str, list[tuple[str, float]]] = {}
    for cell in record.cells:
        if cell.epoch is not None:
            found.setdefault(cell.dataset, []).append((cell.model, cell.epoch))
    return {name: sorted(rows, key=lambda row: row[1]) for name, rows in found.items()}


def draw(record: RuntimeRecord, path: Path | str) -> None:
    """Draw a record as PNG."""
    canvas = require("matplotlib.backends.backend_agg").FigureCanvasAgg
    content = panels(record)
    if not content:
        raise ValueError("There is no epoch to draw: every model refused every set.")
    columns = min(3, len(content))
    lines = -(-len(content) // columns)
    longest = max(len(rows) for rows in content.values())
    figure = require("matplotlib.figure").Figure(
        figsize=(4.2 * columns, lines * (1.2 + 0.22 * longest)), layout="constrained"
    )
    for number, (dataset, rows) in enumerate(content.items(), 1):
        axes = figure.add_subplot(lines, columns, number)
        colours = ["#1f77b4" if name.startswith("lgan") else "#c7c7c7" for name, _ in rows]
        axes.barh(range(len(rows)), [seconds for _, seconds in rows], color=colours)
        axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(require("matplotlib.ticker").NullFormatter())
        axes.set_xlabel("seconds of an epoch", fontsize=8)
        axes.set_title(dataset, fontsize=9)
    where = record.environment
    figure.suptitle(f"{where.get('device')}, {where.get('threads')} threads", fontsize=10)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    canvas(figure).print_png(str(path))
