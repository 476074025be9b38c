"""`lgan table scale`: what more molecules, machines and kills cost, from the records."""

import json
from pathlib import Path

from benchmarks import Record
from lgan.cli import options
from paper.commands.tabular import Format, Records, show
from paper.scale import scale_grids


def scale(
    form: Format = None,
    as_json: options.Json = False,
    records: Records = Path("results"),
) -> None:
    """What shards and processes cost and would cost; `lgan bench scale`, `benchmarks.kills`.

    Example: lgan table scale --format md
    """
    found = [Record.load(path) for path in sorted((records / "bench").glob("scale*.json"))
             if path.stem in ("scale", "scale-cuda")]  # fmt: skip
    path = records / "scale" / "kills.json"
    kills = json.loads(path.read_text()) if path.is_file() else None
    show(scale_grids(found, kills), form, as_json=as_json)
