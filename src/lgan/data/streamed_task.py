"""The task of a table of any size."""

from collections.abc import Sequence

from lgan.data.tables import Table
from lgan.task import Task
from lgan.task.cells import TargetColumn

# Different cells of a target beyond which numbers are no classes, and text is none either.
MOST_CELLS = 100_000


def streamed_task(table: Table, names: Sequence[str], kind: str | None) -> tuple[Task, int]:
    """The task of target columns, and the number of rows, in one pass and bounded memory.

    Different cells say all there is to know, and whether any of them occurs twice.
    """
    cells: dict[str, dict[str, None]] = {name: {} for name in names}
    twice: dict[str, str] = {}
    rows = 0
    for block in table.blocks():
        rows += len(block)
        for name, known in cells.items():
            column = TargetColumn.read(name, block.columns[name], block.first)
            for text, number in zip(column.texts, column.numbers.tolist(), strict=True):
                if text in known:
                    twice[name] = text
                elif text is not None and (len(known) < MOST_CELLS or number != number):
                    known[text] = None
            if len(known) > MOST_CELLS:
                raise ValueError(
                    f"The target {name!r} must be a number or a class, got more than "
                    f"{MOST_CELLS:,} different texts. Choose another target."
                )
    if not rows:
        raise ValueError(f"{table.path} must have a row, got none below its columns.")
    columns = {name: [*known, *filter(None, [twice.get(name)])] for name, known in cells.items()}
    return Task.infer({n: column or [None] * rows for n, column in columns.items()}, kind), rows
