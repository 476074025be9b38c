"""The predictions of a dropped file as one HTML page that needs nothing else."""

from html import escape
from itertools import zip_longest

from lgan.app.answers import plain_pictures
from lgan.app.batches import Batch
from lgan.explain.report import head_html, image_html, page_html, tiles_html
from lgan.predictor import Predictor

# Rows that have a picture: more would make a file that browsers open slowly, and the places of the
# nodes of a graph take a while to find.
MOLECULES, GRAPHS = 300, 40


def batch_report(predictor: Predictor, batch: Batch, *, edges: int) -> str:
    """The table of a file, as far as it is predicted, with pictures of its molecules or graphs; of
    those with more edges than that there is none.
    """
    rows, task = list(batch.rows), predictor.task
    most = MOLECULES if batch.structures else GRAPHS
    drawn: list[str | None] = []
    if some := rows[:most]:
        if batch.graphs is not None:
            raw = batch.graphs.rows_between(0, len(some))
        else:
            raw = predictor.read([str(row[batch.structures]) for row in some])
        drawn = plain_pictures(raw, edges)
    # Mol blocks are pages long, and there is the picture.
    names = [name for name in batch.columns if not any("\n" in str(r.get(name)) for r in rows[:9])]
    body = []
    for number, (row, svg) in enumerate(zip_longest(rows, drawn), 1):
        picture = "" if svg is None else image_html(svg, "")
        cells = "".join(f"<td>{escape(str(row.get(name, '')))}</td>" for name in names)
        body.append(f'<tr><th scope="row">{number}</th><td>{picture}</td>{cells}</tr>')
    failed = sum(bool(row["error"]) for row in rows)
    tiles = [
        ("rows", f"{len(rows):,}", "" if batch.state == "done" else f"of {batch.total:,}"),
        ("predicted", f"{len(rows) - failed:,}", f"{failed:,} could not be read"),
    ]
    said = f"Predictions of {', '.join(task.targets)} by {predictor.checkpoint.model}"
    first = f" The first {most} rows have a picture." if len(rows) > most else ""
    return page_html(
        "lgan.app",
        "batch_report.html",
        title=escape(said),
        lead=escape(f"{task}. Trained on {predictor.checkpoint.dataset}.{first}"),
        tiles=tiles_html(tiles),
        head=head_html(("row", "picture", *names)),
        rows="\n".join(body),
    )
