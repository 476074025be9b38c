"""`lgan data list`, `lgan data prepare` and `lgan data info`."""

import shlex
import time
from pathlib import Path
from typing import Any

import typer

# The library is read by the functions that use it: a list of names needs no torch.
from lgan.catalogue import DATASETS
from lgan.cli import options
from lgan.cli.groups import SourceOptions, grouped
from lgan.cli.screen import console, note, print_json, reading_progress, row_progress, table

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="List, prepare and inspect data sets."
)
SHOWN = 5  # of unreadable rows on the screen


@app.command("list")
def list_sets(as_json: options.Json = False) -> None:
    """List the data sets that can be loaded by name."""
    if as_json:
        print_json({name: vars(spec) for name, spec in DATASETS.items()})
        return
    rows = [
        [name, str(spec.graphs), str(spec.classes), spec.description]
        for name, spec in DATASETS.items()
    ]
    table("Data sets", ["name", "graphs", "classes", "description"], rows)


@app.command()
@grouped
def prepare(
    source: options.Source,
    data: SourceOptions,
    *,
    features: options.Features = None,
    pair_code: options.PairCode = None,
    compress: options.Compress = True,
    graph_features: options.GraphFeatures = None,
    columns: options.KeptColumns = None,
    shards: options.Shards = None,
    processes: options.Processes = 1,
    ray: options.Ray = None,
    output: options.ShardFolder = None,
    as_json: options.Json = False,
) -> None:
    """Fetch a data set and cache what training reads; or read a table of molecules, of any size,
    into a folder of shards that `lgan train` takes. After an interruption the same command goes on.

    \b
    Examples:
      lgan data prepare MUTAG
      lgan data prepare big.csv --target active --shards 64 --output big
      lgan data prepare big.csv --columns batch --graph-features rdkit2d,pH
      lgan data prepare huge.parquet --shards 2000 --ray auto --output huge
    """
    data.check(source)
    if Path(source).exists():
        if features is not None:
            raise typer.BadParameter(
                "`--features` is for sets with a name: of molecules all features of atoms are kept "
                "that `--atoms` names."
            )
        kept = [] if columns is None else [name.strip() for name in columns.split(",")]
        how = {
            "pair_code": pair_code or "none", "compress": compress,
            "graph_features": graph_features or "auto", "columns": kept,
            "shards": shards, "processes": processes, "ray": ray,
        }  # fmt: skip
        _prepare_table(Path(source), data, how, output, as_json)
        return
    if (output, shards, ray, graph_features, columns, processes) != (*(None,) * 5, 1):
        raise typer.BadParameter(
            "`--shards`, `--processes`, `--ray`, `--output`, `--graph-features`, `--columns` are "
            "for tables of molecules."
        )
    if source not in DATASETS:
        raise typer.BadParameter(f"{source} is read when it is needed: `lgan train {source}`.")
    how = {"features": features, "compress": compress, "pair_code": pair_code or "none"}
    _prepare_named(source, data, how, as_json)


def _prepare_named(dataset: str, data: SourceOptions, how: dict[str, Any], as_json: bool) -> None:
    """Fetch a registered set and cache it."""
    from lgan.data import load, prepared_path
    from lgan.experiment.overview import structure

    begin = time.perf_counter()
    with reading_progress(dataset) as progress:
        union = load(dataset, root=data.root, mirror=data.mirror, progress=progress, **how)
    facts: dict[str, Any] = {
        "graphs": union.num_graphs,
        "classes": union.num_classes,
        **structure(union),
        "seconds": round(time.perf_counter() - begin, 2),
    }
    if DATASETS[dataset].kind != "synthetic":
        facts["cache"] = str(prepared_path(dataset, root=data.root, **how))
    if as_json:
        print_json({"name": dataset, **facts})
        return
    _show(f"{dataset}: {DATASETS[dataset].description}", facts)
    if "cache" in facts:
        coded = "" if how["pair_code"] == "none" else f" --pair-code {how['pair_code']}"
        console.print(f"ready: lgan cv {dataset}{coded}", highlight=False)


def _prepare_table(
    path: Path,
    data: SourceOptions,
    how: dict[str, Any],
    output: Path | None,
    as_json: bool,
) -> None:
    """Read a table of molecules into a folder of shards."""
    from lgan.data import prepare_shards
    from lgan.data.graph_features import feature_list
    from lgan.data.load import columns_not_meant
    from lgan.data.readers.tables import is_table

    if not is_table(path):
        raise typer.BadParameter(f"{path} must be a table of molecules (.csv, .sdf, .parquet, …).")
    if unread := columns_not_meant(path, feature_list(how["graph_features"])):
        note(unread)
    folder = output or data.root / "shards" / path.name
    begin, reading = time.perf_counter(), data.reading()
    with row_progress(f"preparing {path.name}") as progress:
        made = prepare_shards(
            path, folder, targets=reading.targets, task=reading.task, molecules=reading.molecules,
            smiles_column=reading.smiles_column, progress=progress, **how,
        )  # fmt: skip
    facts: dict[str, Any] = {
        **made.counts,
        "task": str(made.task),
        "shards": len(made),
        "bytes": made.nbytes,
        "seconds": round(time.perf_counter() - begin, 2),
        "folder": str(folder),
    }
    if as_json:
        print_json({"name": made.name, **facts})
        return
    _show(made.name, facts)
    if made.counts["unreadable"]:
        row, reason = made.errors()[0]
        note(f"{made.counts['unreadable']:,} rows cannot be read; row {row + 1}: {reason}")
    told = ["--graph-features", ",".join(made.graph_features)] if made.graph_features else []
    ready = shlex.join(["lgan", "train", str(folder), *told])
    console.print(f"ready: {ready}", highlight=False, soft_wrap=True, markup=False)


@app.command()
@grouped
def info(
    source: options.Source,
    data: SourceOptions,
    *,
    features: options.Features = None,
    compress: options.Compress = True,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Say what a source was understood to hold: task, classes, columns, rows, sizes, triangles.

    \b
    Examples:
      lgan data info MUTAG
      lgan data info molecules.csv --target active
    """
    data.check(source)

    from lgan.experiment.overview import overview

    with reading_progress(Path(source).name) as progress:
        facts = overview(
            source, data.reading(seed=seed), features=features, compress=compress, progress=progress
        )
    if as_json:
        print_json(facts)
        return
    name, unreadable = facts.pop("name"), facts.pop("unreadable rows")
    described = f": {DATASETS[source].description}" if source in DATASETS else ""
    _show(f"{name}{described}", facts)
    if unreadable:
        rows = [[str(each["row"]), each["reason"]] for each in unreadable[:SHOWN]]
        more = f"and {len(unreadable) - SHOWN:,} more" if len(unreadable) > SHOWN else ""
        table(f"rows that cannot be read: {len(unreadable):,}", ["row", "reason"], rows, more)


def _show(title: str, facts: dict[str, Any]) -> None:
    table(title, ["", ""], [[key, _said(value)] for key, value in facts.items()])


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, dict):
        nested = any(isinstance(part, dict) for part in value.values())
        form, between = ("{} ({})", "\n") if nested else ("{}: {}", ", ")
        return between.join(form.format(key, _said(v)) for key, v in value.items()) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)
