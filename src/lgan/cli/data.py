"""`lgan data list`, `lgan data prepare` and `lgan data info`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lgan.catalogue import DATASETS
from lgan.cli import options
from lgan.cli.screen import console, print_json, reading_progress, table

# The library is read by the functions that use it: a list of names needs no torch.
if TYPE_CHECKING:
    from lgan.graph import GraphUnion

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="List, prepare and inspect data sets."
)


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
def prepare(
    dataset: options.Dataset,
    root: options.Root = Path("data"),
    mirror: options.Mirror = None,
    features: options.Features = None,
    compress: options.Compress = True,
    as_json: options.Json = False,
) -> None:
    """Fetch a data set and cache what training reads."""
    from lgan.data import load, prepared_path

    begin = time.perf_counter()
    with reading_progress(dataset) as progress:
        union = load(
            dataset, root=root, mirror=mirror, features=features, compress=compress,
            progress=progress,
        )  # fmt: skip
    seconds = time.perf_counter() - begin
    path = prepared_path(dataset, root=root, features=features, compress=compress)
    facts = {**_facts(union), "seconds": round(seconds, 2)}
    if DATASETS[dataset].kind != "synthetic":
        facts["cache"] = str(path)
    _report(dataset, facts, as_json=as_json)


@app.command()
def info(
    dataset: options.Dataset,
    root: options.Root = Path("data"),
    mirror: options.Mirror = None,
    features: options.Features = None,
    compress: options.Compress = True,
    as_json: options.Json = False,
) -> None:
    """Say what a data set holds: graphs, classes, edges, triangles."""
    from lgan.data import load

    with reading_progress(dataset) as progress:
        union = load(
            dataset, root=root, mirror=mirror, features=features, compress=compress,
            progress=progress,
        )  # fmt: skip
    _report(dataset, _facts(union), as_json=as_json)


def _facts(union: "GraphUnion") -> dict[str, Any]:
    lines = union.lines
    edges = lines.weights()[4]  # edges of the original graph that a pair stands for
    triangles = int((edges * lines.pair_triangles.long()).sum()) // 3
    own = int((lines.pair_index[0] == lines.pair_index[1]).sum())
    return {
        "graphs": union.num_graphs,
        "classes": union.num_classes,
        "graphs per class": union.y.bincount().tolist(),
        "node features": union.num_features,
        "nodes": union.original_nodes,
        "nodes after merging twins": lines.num_nodes,
        "edges": int(edges.sum()),
        "edges after merging twins": lines.num_pairs - own,
        "triangles": triangles,
        "triangle entries stored": lines.opposite_index.numel(),
        "bytes": sum(t.numel() * t.element_size() for t in union.tensors().values()),
    }


def _report(dataset: str, facts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json({"name": dataset, **facts})
        return
    rows = [[key, f"{v:,}" if isinstance(v, int) else str(v)] for key, v in facts.items()]
    table(f"{dataset}: {DATASETS[dataset].description}", ["", ""], rows)
    if "cache" in facts:
        console.print(f"ready: lgan cv {dataset}", highlight=False)
