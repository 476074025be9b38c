"""`lgan table explanations`: how well explanations find what is known to matter."""

from pathlib import Path
from typing import Annotated

import typer

from lgan.cli import options
from lgan.cli.screen import log, print_json, table
from lgan.cli.setup import choose_device

__all__ = ["explanations"]

COLUMNS = ("auc", "auc_per_graph", "fidelity plus", "fidelity minus", "unfaithfulness", "stability")
CASES = ("triangles", "motifs-ba", "motifs-tree", "mutagenicity")


def explanations(
    names: Annotated[
        list[str] | None,
        typer.Argument(help=f"Cases: {', '.join(CASES)}.", show_default="all"),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Models, each with a seed of its own.")] = 5,
    limit: Annotated[int, typer.Option(min=1, help="Graphs explained for each model.")] = 30,
    methods: Annotated[
        list[str] | None, typer.Option("--method", help="Methods to compare.", show_default="all")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of every model.", show_default="by case")
    ] = None,
    device: options.Device = "cpu",
    root: options.Root = Path("data"),
    mirror: options.Mirror = None,
    output: Annotated[Path, typer.Option(help="Folder for NAME.json.")] = Path("results/explain"),
    as_json: options.Json = False,
) -> None:
    """Train models on sets with a known truth, explain them by every method, and score that.

    Example: lgan table explanations triangles motifs-ba --seeds 5
    """
    from lgan.experiment.explanations import score_explanations  # the training loads only here
    from lgan.explain.methods import METHODS

    records = {}
    given = {} if epochs is None else {"epochs": epochs}
    for name in names or CASES:
        with log.status("") as status:
            record = score_explanations(
                name, seeds=range(seeds), limit=limit, methods=methods or METHODS, root=root,
                mirror=mirror, device=choose_device(device), given=given, progress=status.update,
            )  # fmt: skip
        record.save(output / f"{name}.json")
        records[name] = record.to_json()
        if as_json:
            continue
        rows = [
            [method, *(f"{n[key]:.3f} ± {n[f'{key} deviation']:.3f}" for key in COLUMNS[:2]),
             *(f"{n[key]:.3f}" for key in COLUMNS[2:]), f"{n['seconds']:.2g} s"]
            for method, n in record.summary.items()
        ]  # fmt: skip
        columns = ["method", "AUC", "per graph", "fid+", "fid-", "unfaithful", "stable", "time"]
        bar = "" if record.bar is None else f"; bar for ours: AUC {record.bar}"
        accuracy = sum(record.accuracies) / len(record.accuracies)
        notes = f"truth: {record.truth}; mean ± deviation over {seeds} models, "
        notes += f"held-out accuracy {accuracy:.1%}{bar}"
        table(name, columns, rows, notes)
    if as_json:
        print_json(records)
