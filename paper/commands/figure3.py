"""`lgan table figure3`: the paper's Figure 3 from the data."""

from pathlib import Path
from typing import Annotated

import typer

from lgan.cli import options
from lgan.cli.screen import epoch_progress, log, print_json, table
from lgan.cli.setup import choose_device


def figure3(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="NAME of NAME.svg, NAME.png and NAME.json.")
    ] = Path("results/explain/figure3.svg"),
    epochs: Annotated[
        int, typer.Option(min=1, help="Epochs on Mutagenicity; half as many on the triangles.")
    ] = 60,
    seed: options.Seed = 0,
    device: options.Device = "cpu",
    root: options.Root = Path("data"),
    mirror: options.Mirror = None,
    as_json: options.Json = False,
) -> None:
    """Train the two models of the paper's Figure 3, explain its four graphs and draw them.

    Example: lgan table figure3 --mirror FOLDER -o figure3.svg
    """
    # RDKit and the training load only where this is asked for.
    from paper.figure3 import figure3 as make

    if output.is_dir():
        raise typer.BadParameter(f"`--output` must be a file, but {output} is a folder.")
    made = make(
        root=root, mirror=mirror, seed=seed, epochs=(max(epochs // 2, 1), epochs),
        device=choose_device(device), bar=epoch_progress,
    )  # fmt: skip
    paths = made.save(output)
    written = ", ".join(str(path) for path in paths)
    log.print(f"written: {written}", soft_wrap=True, markup=False, highlight=False)
    if as_json:
        print_json(made.record)
        return
    rows = []
    for panel in made.record["panels"]:
        classes, sure = panel["classes"], max(panel["prediction"])
        truth = "not in the set" if panel["class"] is None else classes[panel["class"]]
        rows.append([panel["name"], truth, f"{classes[panel['predicted']]} ({sure:.1%})",
                     f"{panel['relative_gap']:.2%}"])  # fmt: skip
    notes = [
        f"{model['dataset']}: {model['held_out_accuracy']:.1%} right of "
        f"{model['held_out_graphs']} held-out graphs"
        for model in made.record["models"]
    ]
    table("Figure 3", ["panel", "class", "predicted", "gap"], rows, "\n".join(notes))
