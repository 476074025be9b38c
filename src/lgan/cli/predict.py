"""`lgan predict`."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lgan.catalogue import shown
from lgan.cli import options
from lgan.cli.groups import SourceOptions
from lgan.cli.screen import console, note, print_json, reading_progress, row_progress, table
from lgan.cli.setup import choose_device

if TYPE_CHECKING:
    from lgan.predictor import Predictor
    from lgan.predictor.prediction_rows import PredictionRows

# Rows and columns of a prediction that are shown on the screen.
SHOWN_ROWS = 20
SHOWN_COLUMNS = 6
# Endings that would lie about what is written.
OTHER_FORMATS = {".feather", ".json", ".jsonl", ".parquet", ".tsv", ".xls", ".xlsx"}


def predict(
    checkpoint: options.ModelFile,
    source: Annotated[
        str | None,
        typer.Argument(metavar="[SOURCE]", help="What to predict, as in `lgan train`."),
    ] = None,
    smiles: Annotated[
        list[str] | None,
        typer.Option("--smiles", metavar="SMILES", help="A molecule to predict; repeatable."),
    ] = None,
    smiles_column: options.SmilesColumn = None,
    symmetrise: options.Symmetrise = False,
    on_error: Annotated[
        str,
        options.word(
            help="Rows that cannot be read: skip keeps them without a prediction, raise stops.",
            **options.one_of(("skip", "raise"), "word"),
        ),
    ] = "skip",
    calibrated: Annotated[
        bool,
        typer.Option("--calibrated", help="Probabilities scaled by out-of-fold predictions."),
    ] = False,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|METRIC",
            help="From which probability on the second class is said, or the metric by which it "
            "is chosen on out-of-fold predictions: accuracy, balanced-accuracy.",
        ),
    ] = None,
    nearest: Annotated[
        int,
        options.number(
            min=0,
            help="Tell the N training molecules that a molecule is most like, and whether it is "
            "unlike all.",
        ),
    ] = 0,
    embed: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what the last layer reads of every row: .npy, or a CSV with a row per row.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="CSV file, one row per row; with `--shards` a folder of such files.",
        ),
    ] = None,
    shards: Annotated[
        int | None,
        options.number(
            min=1,
            help="Predict a table of any size in so many parts, each whole or "
            "absent; the same command goes on after an interruption.",
        ),
    ] = None,
    ray: options.Ray = None,
    device: options.Device = "auto",
    root: options.Root = Path("data"),
    mirror: options.Mirror = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Predict a source, row by row and in its order: its columns, then what the model says.

    \b
    Examples:
      lgan predict runs/active/model.safetensors new.csv --output predicted.csv
      lgan predict runs/active/model.safetensors --smiles "c1ccccc1O"
      lgan predict runs/proteins/model.safetensors PROTEINS -o predictions.csv
      lgan predict runs/active/model.safetensors big.parquet --shards 64 -o out
    """
    if (source is None) == (not smiles):
        raise typer.BadParameter("Give a SOURCE or `--smiles`, one of them.")
    if source is not None:
        SourceOptions(root=root, mirror=mirror).check(source)
    if shards is not None and (source is None or output is None or output.is_file()):
        raise typer.BadParameter("`--shards` needs a table and `--output` with a folder.")
    if shards is None and output is not None and output.is_dir():
        raise typer.BadParameter(f"`--output` must be a CSV file, but {output} is a folder.")
    if embed is not None and embed.is_dir():
        raise typer.BadParameter(f"`--embed` must be a file, but {embed} is a folder.")
    for option, file, written in (("--output", output, "CSV"), ("--embed", embed, "CSV or .npy")):
        if file is not None and shards is None and file.suffix.lower() in OTHER_FORMATS:
            raise typer.BadParameter(
                f"`{option}` writes {written}, got {file.name}. Choose a name that ends in .csv."
            )
        if file is not None and source is not None and _is_same(file, Path(source)):
            raise typer.BadParameter(
                f"`{option}` must be another file than the source, which it would replace, got "
                f"{file}. Choose another name."
            )
    if shards is not None and (nearest or embed):
        raise typer.BadParameter("`--nearest` and `--embed` do not go with `--shards`.")
    if ray is not None and shards is None:
        raise typer.BadParameter("`--ray` predicts in parts: add `--shards`.")
    place = choose_device(device)

    from lgan.predictor import load_model
    from lgan.predictor.prediction_rows import PredictionRows

    predictor = load_model(checkpoint).to(place)
    if calibrated:
        predictor = predictor.calibrated()
    if threshold is not None:
        predictor = predictor.deciding(_number_or_word(threshold))
    if shards is not None:
        assert source is not None
        assert output is not None
        how = {"smiles_column": smiles_column, "on_error": on_error, "ray": ray}
        _in_parts(predictor, Path(source), output, shards, how, as_json)
        return
    what = "molecules" if source is None else Path(source).name
    with reading_progress(what, doing="predicting") as progress:
        found = PredictionRows.of(
            predictor, source or smiles, smiles_column=smiles_column, on_error=on_error,
            progress=progress, root=root, mirror=mirror, seed=seed,
            symmetrise=symmetrise, nearest=nearest,
        )  # fmt: skip
        rows = _written(found, output, keep_all=as_json)
    metrics = found.metrics()
    if embed is not None:
        column = {} if smiles_column is None else {"smiles_column": smiles_column}
        reading = {"root": root, "mirror": mirror, "seed": seed, "symmetrise": symmetrise}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rows that cannot be read, which are told below
            embedded = predictor.embed(source or smiles, **reading, **column)
        _embedded(embedded, embed)
    if as_json:
        told = {"seen": found.known, "failed": found.failed, "unseen": found.unseen}
        told |= {"not_compared": found.no_score} if found.no_score else {}
        print_json({"rows": rows, "metrics": metrics, **told})
        return
    _show(found, rows, metrics, what, output)


def _is_same(file: Path, other: Path) -> bool:
    """Whether two paths lead to one file, also by links."""
    return file.exists() and other.exists() and file.samefile(other)


def _embedded(rows: Any, path: Path) -> None:
    """Write embeddings, a row for every row of the source; empty where one cannot be read."""
    import numpy as np

    from lgan.data import replaced

    with replaced(path) as temporary, temporary.open("wb") as file:
        if path.suffix == ".npy":
            np.save(file, rows.astype(np.float32))
        else:
            names = ",".join(["row", *(f"e{k + 1}" for k in range(rows.shape[1]))])
            file.write(f"{names}\n".encode())
            for number, row in enumerate(rows.tolist()):
                cells = ("" if value != value else f"{value:.6g}" for value in row)
                file.write(f"{number},{','.join(cells)}\n".encode())
    note(f"{len(rows):,} embeddings of {rows.shape[1]:,} numbers: {path}")


def _in_parts(
    predictor: "Predictor",
    source: Path,
    folder: Path,
    parts: int,
    how: dict[str, Any],
    as_json: bool,
) -> None:
    """Predict a table of any size part by part."""
    from lgan.predictor.prediction_parts import predict_in_parts
    from lgan.predictor.prediction_rows import PredictionRows

    with row_progress(f"predicting {source.name}") as progress:
        done = predict_in_parts(predictor, source, folder, parts=parts, progress=progress, **how)
    told: dict[str, Any] = {"rows": done.rows, "parts": [str(path) for path in done.paths]}
    found = None
    if {*done.given} & {*predictor.task.targets}:  # the files are read for nothing else
        found = PredictionRows.of_written(predictor, done.given, done.paths)
        told |= {"metrics": found.metrics(), "seen": found.known, "failed": found.failed}
        told |= {"not_compared": found.no_score} if found.no_score else {}
    if as_json:
        print_json(told)
        return
    if found is not None:
        _show_score(found, told["metrics"])
    note(f"{done.rows:,} rows: {len(done.paths)} files in {folder}")


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _written(found: "PredictionRows", output: Path | None, *, keep_all: bool) -> list[Any]:
    """Write the rows as they come; give back all of them, or those that are shown."""
    kept: list[Any] = []
    for row in found.rows if output is None else found.written(output):
        if keep_all or len(kept) < SHOWN_ROWS:
            kept.append(row)
    return kept


def _show(
    found: "PredictionRows",
    rows: list[Any],
    metrics: dict[str, float],
    what: str,
    output: Path | None,
) -> None:
    task = found.predictor.task
    if output is None:
        given = [name for name in found.columns if name in rows[0]][:2] if rows else []
        given = [name for name in given if not name.startswith(f"{task.targets[0]}_")]
        said = [name for name in found.columns if name.endswith("_predicted")]
        said += [f"{task.targets[0]}_probability_{task.classes[-1]}"] if task.classes else []
        names = [*given, *said][:SHOWN_COLUMNS]
        names += [name for name in ("seen", "error") if any(row[name] for row in rows)]
        table(
            f"{what}: {task}", names,
            [[_short(row[name]) for name in names] for row in rows],
            "" if found.count <= len(rows) else f"{found.count - len(rows)} more rows: --output",
        )  # fmt: skip
    if found.predictor.threshold is not None:
        begins = ", ".join(f"{value:.3g}" for value in found.predictor.threshold.tolist())
        note(f"{task.classes[1]} is said from a probability of {begins} on")
    _show_score(found, metrics)
    if found.unseen:
        from lgan.data.encoder import unseen_words

        note(unseen_words(found.unseen))
    if output is not None:
        note(f"{found.count:,} rows: {output}")


def _show_score(found: "PredictionRows", metrics: dict[str, float]) -> None:
    """Say how good the predictions are, and how many rows have none."""
    if metrics:
        of = "" if not found.known else f", {found.known:,} of them trained on: no fair measure"
        new = found.known and bool(found.fresh.any())
        where = "the rows it was not trained on" if new else f"all rows{of}"
        measured = ", ".join(f"{name} {shown(name, value)}" for name, value in metrics.items())
        console.print(f"on {where}: {measured}", highlight=False, soft_wrap=True)
    if found.no_score:
        note(f"not compared with the targets of the source: {found.no_score}")
    if found.failed:
        note(f"{found.failed:,} of {found.count:,} rows have no prediction; `error` says why.")


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
