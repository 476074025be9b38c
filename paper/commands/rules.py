"""`lgan table rules`: methods of explanation on rules whose truth is known."""

import json
from pathlib import Path
from typing import Annotated

import typer

from lgan.catalogue import known
from lgan.cli import options
from lgan.cli.screen import activity
from paper.commands.tabular import Format, show


def rules(
    names: Annotated[
        list[str] | None, typer.Argument(help="Rules, see `paper/rules.py`.", show_default="all")
    ] = None,
    form: Format = None,
    as_json: options.Json = False,
    molecules: Annotated[
        list[Path] | None,
        typer.Option(help="Table with a column `smiles` to draw molecules from; several times."),
    ] = None,
    models: Annotated[
        Path, typer.Option(help="Folder that keeps models and scores between runs.")
    ] = Path("runs/rules"),
    seeds: Annotated[int, typer.Option(min=1, help="Ensembles for each rule.")] = 5,
    limit: Annotated[int, typer.Option(min=1, help="Molecules explained for each.")] = 30,
    processes: Annotated[int, typer.Option(min=1, help="Rules at a time.")] = 1,
    only_show: Annotated[
        bool, typer.Option("--show", help="Measure nothing, show the record there is.")
    ] = False,
    output: Annotated[Path, typer.Option(help="The record.")] = Path("results/explain/rules.json"),
) -> None:
    """Train ensembles on rules such as "an acid and a methoxy group", explain, and score that.

    What is done is kept in `--models`: the same command goes on where it was stopped.

    Examples: lgan table rules --molecules HIV.csv --molecules Tox21.csv; lgan table rules --show
    """
    from paper.json_records import write_record
    from paper.rule_scores import score_rules
    from paper.rule_table import rule_grids
    from paper.rules import RULES, draw_molecules

    with options.bad_usage():
        for name in names or ():
            known(name, RULES, "rule")
    if not only_show:
        if not molecules:
            raise typer.BadParameter("say where molecules are from: `--molecules HIV.csv`.")
        with activity() as tell:
            drawn = draw_molecules(names or RULES, molecules)
            record = score_rules(
                drawn, models, seeds=range(seeds), limit=limit, processes=processes, progress=tell
            )
        write_record(output, record)
    if not output.is_file():
        raise ValueError(
            f"There is no record {output}. Make one with `lgan table rules --molecules HIV.csv`."
        )
    try:
        grids = rule_grids(json.loads(output.read_text()))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"Expected a record of `lgan table rules` in {output}, got a file without or with "
            f"another {error}. Make one anew."
        ) from error
    show(grids, form, as_json=as_json)
