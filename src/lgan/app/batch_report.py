"""The predictions of a dropped file as one HTML page that needs nothing else."""

from collections.abc import Sequence
from html import escape
from typing import Any

from lgan.app.answers import plain_pictures
from lgan.app.batches import Batch
from lgan.explain.report import head_html, image_html, page_html, tiles_html
from lgan.predictor import Predictor

# Rows that have a picture: more would make a file that browsers open slowly, and the places of the
# nodes of a graph take a while to find.
MOLECULES, GRAPHS = 300, 40


def batch_report(predictor: Predictor, batch: Batch, *, edges: int) -> str:
    """The table of a file with pictures of its molecules or graphs.

    Args:
        predictor: The model.
        batch: The file; what is predicted of it so far.
        edges: Larger graphs have no picture.
    """
    rows, task = list(batch.rows), predictor.task
    most = MOLECULES if batch.structures else GRAPHS
    drawn = _pictures(predictor, batch, rows[:most], edges)
    # Mol blocks are pages long, and there is the picture.
    names = [name for name in batch.columns if not any("\n" in str(r.get(name)) for r in rows[:9])]
    body = []
    for number, row in enumerate(rows):
        picture = ""
        if number < len(drawn) and drawn[number] is not None:
            picture = image_html(str(drawn[number]), "")
        cells = "".join(f"<td>{escape(str(row.get(name, '')))}</td>" for name in names)
        body.append(f'<tr><th scope="row">{number + 1}</th><td>{picture}</td>{cells}</tr>')
    failed = sum(bool(row["error"]) for row in rows)
    tiles = [
        ("rows", f"{len(rows):,}", "" if batch.state == "done" else f"of {batch.total:,}"),
        ("predicted", f"{len(rows) - failed:,}", f"{failed:,} could not be read"),
    ]
    said = f"Predictions of {', '.join(task.targets)} by {predictor.checkpoint.model}"
    some = f" The first {most} rows have a picture." if len(rows) > most else ""
    return page_html(
        "lgan.app",
        "batch_report.html",
        title=escape(said),
        lead=escape(f"{task}. Trained on {predictor.checkpoint.dataset}.{some}"),
        tiles=tiles_html(tiles),
        head=head_html(("row", "picture", *names)),
        rows="\n".join(body),
    )


def _pictures(
    predictor: Predictor, batch: Batch, rows: Sequence[dict[str, Any]], edges: int
) -> list[str | None]:
    if not rows:
        return []
    if batch.graphs is not None:
        raw = batch.graphs.rows_between(0, len(rows))
    else:
        raw = predictor.read([str(row[batch.structures]) for row in rows])
    return plain_pictures(raw, edges)
