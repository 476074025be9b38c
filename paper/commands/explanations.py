"""`lgan table explanations`: how well explanations find what is known to matter."""

from pathlib import Path
from typing import Annotated

import typer

from lgan.cli import options
from lgan.cli.screen import activity
from lgan.cli.setup import choose_device
from paper.commands.tabular import Format, show
from paper.explanations import explanation_grids, read_explanations
from paper.json_records import write_record

CASES = ("triangles", "motifs-ba", "motifs-tree", "mutagenicity")


def explanations(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"Cases: {', '.join(CASES)}.", show_default="all", **options.one_of(CASES, "case")
        ),
    ] = None,
    form: Format = None,
    as_json: options.Json = False,
    seeds: Annotated[int, typer.Option(min=1, help="Models, each with a seed of its own.")] = 5,
    limit: Annotated[int, typer.Option(min=1, help="Graphs explained for each model.")] = 30,
    methods: Annotated[
        list[str] | None, typer.Option("--method", help="Methods to compare.", show_default="all")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of every model.", show_default="by case")
    ] = None,
    only_show: Annotated[
        bool, typer.Option("--show", help="Measure nothing, show the records there are.")
    ] = False,
    device: options.Device = "cpu",
    root: options.Root = Path("data"),
    mirror: options.Mirror = None,
    output: Annotated[Path, typer.Option(help="Folder for NAME.json.")] = Path("results/explain"),
) -> None:
    """Train models on sets with a known truth, explain them by every method, and score that.

    Examples: lgan table explanations triangles motifs-ba --seeds 5, lgan table explanations --show
    """
    if not only_show:
        from lgan.explain.methods import METHODS
        from paper.explanation_scores import score_explanations  # the training loads only here

        given = {} if epochs is None else {"epochs": epochs}
        for name in names or CASES:
            with activity() as tell:
                record = score_explanations(
                    name, seeds=range(seeds), limit=limit, methods=methods or METHODS, root=root,
                    mirror=mirror, device=choose_device(device), given=given, progress=tell,
                )  # fmt: skip
            write_record(output / f"{name}.json", record)
    found = read_explanations(output)
    found = [record for record in found if names is None or record["case"] in names]
    if not found:
        raise ValueError(
            f"There is no record of scored explanations in {output}. Make one with "
            "`lgan table explanations triangles`, or name another `--output`."
        )
    show(explanation_grids(found), form, as_json=as_json)
