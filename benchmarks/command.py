"""`lgan bench`: speed and memory beside the peers."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import torch
import typer

from benchmarks import BENCHMARKS, BenchConfig, Record, Row
from benchmarks.row import memory_text, seconds_text
from lgan.cli import options
from lgan.cli.screen import activity, log, print_json, table
from lgan.cli.setup import check_folder, choose_device
from lgan.train.environment import environment

app = typer.Typer(add_completion=False)


@app.command()
def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"Which to run: {', '.join(BENCHMARKS)}.",
            show_default="all that fit the device",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Tiny inputs: see that it runs; figures mean nothing.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="The largest sizes and the slowest peers too (hours).")
    ] = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads of both sides on the CPU.")] = 2,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    root: options.Root = Path("data"),
    mirror: options.Mirror = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for NAME.json and NAME.png.", show_default="results/bench"),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Measure speed and memory beside the peers, in one run, and write records and plots.

    Example: lgan bench triangles cv --mirror FOLDER
    """
    if quick and full:
        raise typer.BadParameter("`--quick` and `--full` exclude each other. Choose one.")
    place = choose_device(device)
    chosen = _chosen(names, place)
    folder = output or (Path("runs") / "bench" if quick else Path("results") / "bench")
    check_folder(folder)
    mode = "quick" if quick else "full" if full else "default"
    records, failed = {}, []
    for number, name in enumerate(chosen, 1):
        with _threads(threads), activity() as tell:
            title = f"{name} ({number} of {len(chosen)})"
            config = BenchConfig(
                device=place, quick=quick, full=full, root=root, mirror=mirror, seed=seed,
                progress=lambda text, title=title: tell(f"{title}: {text}"),  # type: ignore[misc]
            )  # fmt: skip
            config.progress("starting")
            rows: list[Row] = []
            try:
                rows.extend(BENCHMARKS[name].run(config))
            except (ValueError, OSError, MemoryError) as error:
                # What was measured before, and the others, may well stand: it took hours.
                log.print(f"{name}: {error}", style="bold red", soft_wrap=True)
                failed.append(name)
                if not rows:
                    continue
            record = Record(name, rows, environment(place), mode)
        stem = name if place.type == "cpu" else f"{name}-{place.type}"
        stem += "-partial" if name in failed else ""  # a whole record stays
        records[name] = record
        _write(record, folder / f"{stem}.json")
        if not as_json:
            show(record)
    if as_json:
        print_json({name: record.to_json() for name, record in records.items()})
    if failed:
        log.print(f"Failed: {', '.join(failed)}. What was measured: {folder}", style="bold red")
        raise typer.Exit(1)


def show(record: Record) -> None:
    """Print a record as a table: both sides, the figure the bar judges, and whether it holds."""
    cases = [(row.name, row.peer) for row in record.rows]
    notes = ["N× is the peer's time over ours, a bare number ours over the peer's."]
    shown = []
    for row, case in zip(record.rows, cases, strict=True):
        label = row.name
        if cases.count(case) > 1 and row.size is not None:
            label += f", {row.size:.1e}"
        if row.note:
            label += f" [{len(notes)}]"
            notes.append(f"[{len(notes)}] {row.note}")
        shown.append({"case": label, **cells(row)})
    columns = [name for name in shown[0] if any(row[name] for row in shown)]
    where = record.environment
    table(
        f"{record.benchmark}: {BENCHMARKS[record.benchmark].description} "
        f"({where['device']}, {where['threads']} threads, {record.mode})",
        columns,
        [[row[name] for name in columns] for row in shown],
        "\n".join(notes),
    )


def cells(row: Row) -> dict[str, str]:
    """The figures of a row as text, by column."""
    return {
        "lgan": _spent(row.seconds, row.memory),
        "peer": row.peer or "",
        "its time": _spent(row.peer_seconds, row.peer_memory),
        "result": _result(row),
        "bar": str(row.bar or ""),
        "holds": "" if row.holds is None else "yes" if row.holds else "NO",
    }


def _spent(seconds: float | None, memory: float | None) -> str:
    """Time and, where it was watched, memory, a line each: a screen has no room for both beside
    each other.
    """
    return "\n".join(filter(None, (seconds_text(seconds), memory_text(memory))))


def _chosen(names: list[str] | None, place: torch.device) -> list[str]:
    fitting = [name for name, spec in BENCHMARKS.items() if spec.fits(place)]
    for name in names or []:
        if name not in BENCHMARKS:
            raise typer.BadParameter(
                f"unknown benchmark {name!r}. Choose one of: {', '.join(BENCHMARKS)}."
            )
        if name not in fitting:
            needed = BENCHMARKS[name].device
            raise typer.BadParameter(
                f"the benchmark {name!r} is measured on {needed}, got {place.type}. "
                f"Add `--device {needed}`."
            )
    return list(dict.fromkeys(names)) if names else fitting


@contextmanager
def _threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _write(record: Record, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    record.save(path)
    if find_spec("matplotlib") is None:
        log.print("No plot: matplotlib is not installed (pip install 'lgan[plot]').")
        return
    from benchmarks.plot import draw

    draw(record, path.with_suffix(".png"))
    log.print(f"record: {path}, plot: {path.with_suffix('.png')}", soft_wrap=True, highlight=False)


def _result(row: Row) -> str:
    if row.bar is not None and row.figure is not None:
        return row.bar.text(row.figure)
    return f"{row.ratio:.3g}" if row.ratio is not None else ""
