"""`lgan sweep`: search for settings."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live
from rich.table import Table

from lgan._optional import require
from lgan.cli import options
from lgan.cli.groups import SourceOptions, grouped
from lgan.cli.screen import console, log, note, print_json, table
from lgan.cli.setup import (
    check_fold_count,
    check_folder,
    checked_folds,
    choose_device,
    choose_split,
    metric_name,
    read_options,
    read_source,
    tell_undefined,
)
from lgan.data import locked
from lgan.experiment import LARGER, UNEVEN, UNLABELLED, network_spec, settings_for
from lgan.sweep import (
    SPACES,
    Batch,
    Head,
    Here,
    Processes,
    RayCluster,
    Study,
    SweepRecord,
    Trial,
    Workers,
    all_fixed,
    check_space,
    read_space,
    tune,
)
from lgan.sweep.study import SAMPLERS, optuna_study
from lgan.sweep.trial import OBJECTIVES
from lgan.task import METRICS
from lgan.train.environment import environment
from lgan.train.tensor_file import checksum

SHOWN = 10


@grouped
def sweep(
    source: options.Source,
    data: SourceOptions,
    *,
    model: options.Model = "lgan",
    metric: options.Metric = None,
    trials: Annotated[int, typer.Option(min=1, help="Trials the study shall have.")] = 64,
    batch: Annotated[
        int, typer.Option(min=1, help="Trials of one shape that train side by side.")
    ] = 8,
    sampler: Annotated[
        str,
        typer.Option(
            help=f"Who proposes: {', '.join(SAMPLERS)}.", **options.one_of(SAMPLERS, "sampler")
        ),
    ] = "tpe",
    objective: Annotated[
        str,
        typer.Option(
            help="Rule to search by: gin, or fair, which uses the inner hold-out alone.",
            **options.one_of(OBJECTIVES, "objective"),
        ),
    ] = "gin",
    space: Annotated[
        Path | None,
        typer.Option(
            help='JSON file {"lr": [0.01, 0.001], …}.',
            show_default="by model",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    epochs: options.Epochs = None,
    split: options.Split = None,
    folds: options.Folds = None,
    more: options.Option = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes (with --ray: batches at once).")
    ] = 1,
    ray: options.Ray = None,
    storage: Annotated[
        str | None,
        typer.Option(help="Database URL to hand the study to as well, for Optuna's dashboard."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the study.", show_default="DATASET-MODEL")
    ] = None,
    output: options.Output = None,
    prune: Annotated[
        bool, typer.Option(help="Stop batches all of whose trials are below the median.")
    ] = True,
    plot: Annotated[bool, typer.Option("--plot", help="Draw history and importance.")] = False,
    seed: options.Seed = 0,
    seeds: options.Seeds = 1,
    device: options.Device = "auto",
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
    splits: options.Splits = None,
    as_json: options.Json = False,
) -> None:
    """Search for the settings of a network on a source.

    It can be stopped at any time and goes on with --resume. Trials that differ in nothing that
    changes shapes (lr, lr_halving, weight_decay, average, dropout) train side by side. What is
    not to be searched for is fixed, as in `--set pair_code=full`.

    \b
    Examples:
      lgan sweep MUTAG --model lgan --trials 64
      lgan sweep molecules.csv --target active --split scaffold --objective fair
      lgan sweep PROTEINS --ray auto --workers 4 --plot
    """
    data.check(source)
    for package in ("optuna", *(["ray"] if ray else []), *(["matplotlib"] if plot else [])):
        require(package)
    network_spec(model)
    dataset = Path(source).name
    place, stem = choose_device(device), name or f"{dataset}-{model}"
    how = choose_split(split, splits, folds)
    check_fold_count(folds, fair="--objective fair" if objective == "fair" else None)
    fixed = read_options(more) | ({} if epochs is None else {"epochs": epochs})
    choices = SPACES.get(model, {}) if space is None else read_space(space)
    choices = {key: some for key, some in choices.items() if key not in fixed}
    check_space(choices, model, dataset, fixed)
    given, fixed = fixed, all_fixed(choices, model, dataset, fixed)
    folder = output or Path("runs") / "sweep"
    check_folder(folder)
    record = folder / f"{stem}.json"
    _look(record, resume=resume, overwrite=overwrite)
    if storage is not None:
        _check_storage(storage)
    reading = data.reading(seed=seed, columns=how.columns)
    found = read_source(settings_for(model, dataset, **fixed), source, reading)
    if fixed.get("graph_features") == "auto":  # what it became, and what goes with it
        graphs = found.encoder.graphs
        given |= {"graph_features": "none" if graphs is None else ",".join(graphs.asked)}
        fixed = all_fixed(choices, model, dataset, given)
    fold = checked_folds(how, found, folds, seed)
    measured = metric_name(found.union, metric)
    tell_undefined(found.union, fold, measured)
    published = how.word == "published"
    head = Head(
        model=model, dataset=dataset, objective=objective, fixed=fixed, seed=seed, sampler=sampler,
        seeds=seeds,
        space={key: list(some) for key, some in choices.items()},
        folds=Path(how.of).name if published else str(int(fold.max()) + 1),
        split=f"published:{Path(how.of).name}" if published else str(how),
        metric=measured, asked=data.asked(),
        data=checksum({"graphs": found.keys(), "y": found.union.y, "fold": fold})[:12],
    )  # fmt: skip
    # Paths that other processes find too; a name stays as it is.
    reading = replace(reading, root=str(Path(data.root).absolute()))
    whole = str(Path(source).absolute()) if Path(source).exists() else source
    shared = Batch(head, whole, [], fold.tolist(), str(place), reading)
    with locked(record, wait=False) as mine, _watched(head, trials) as watch:
        if not mine:
            raise ValueError(
                f"Another `lgan sweep` is at work on {record}. Wait for it, or choose another "
                "`--name`."
            )
        if overwrite:
            record.unlink(missing_ok=True)
        study = Study(record, head, environment(place))
        pool = _workers(workers, ray, gpus=int(place.type == "cuda"))
        try:
            tune(study, pool, shared, trials=trials, size=batch, prune=prune, on_trials=watch)
        except KeyboardInterrupt:
            note(f"Stopped. {record} holds what was done: add `--resume` to go on.")
            raise typer.Exit(130) from None
        finally:
            pool.close()
        if storage is not None:
            optuna_study(head, study.trials(), storage=storage, name=stem)
    _finish(study.record(), record, source, plot=plot, as_json=as_json)


def _look(record: Path, *, resume: bool, overwrite: bool) -> None:
    """Look for an earlier study of that name, which must be expected."""
    if resume and overwrite:
        raise typer.BadParameter("`--resume` and `--overwrite` exclude each other. Choose one.")
    if record.exists() and not (resume or overwrite):
        raise typer.BadParameter(
            f"{record} already holds a study. Add `--resume` to go on, `--overwrite` to start "
            "anew, or choose another `--name`."
        )
    if resume and not record.exists():
        note(f"There is no study {record.stem} in {record.parent} to resume: a new one begins.")


def _check_storage(address: str) -> None:
    """Refuse a database that cannot be reached before hours of trials are to go there."""
    optuna, sqlalchemy = require("optuna"), require("sqlalchemy.exc")
    try:
        optuna.get_all_study_names(address)
    except (ValueError, sqlalchemy.SQLAlchemyError, optuna.exceptions.OptunaError) as error:
        raise typer.BadParameter(
            f"`--storage` must be the URL of a database, such as sqlite:///study.db, got "
            f"{address!r}: {error}"
        ) from error


def _workers(number: int, ray: str | None, *, gpus: int) -> Workers:
    if ray is not None:
        return RayCluster(ray, number if number > 1 else None, gpus)
    return Here() if number == 1 else Processes(number)


@contextmanager
def _watched(head: Head, trials: int) -> Iterator[Any]:
    """A live table of the best trials on a terminal; elsewhere a line where something changed."""
    if not log.is_terminal:
        yield lambda now: note(_line(now, trials, head.metric))
        return
    with Live(console=log, transient=True) as live:
        yield lambda now: live.update(_live_table(head, now, trials))


def _ranked(trials: list[Trial]) -> list[Trial]:
    done = [trial for trial in trials if trial.value is not None]
    return sorted(done, key=lambda trial: -trial.score)


def _line(trials: list[Trial], wanted: int, metric: str) -> str:
    finished = [trial for trial in trials if trial.outcome is not None]
    best = _ranked(trials)[:1]
    told = "".join(f", best {_value(trial, metric)} (trial {trial.number})" for trial in best)
    done, of = len(finished), max(wanted, len(trials))
    return f"{done} of {of} trials, {len(trials) - done} running{told}"


def _live_table(head: Head, trials: list[Trial], wanted: int) -> Table:
    shown = Table(title=f"{head.dataset}, {head.model}: {_line(trials, wanted, head.metric)}",
                  title_justify="left")  # fmt: skip
    for column in ("trial", head.objective, *head.space):
        shown.add_column(column)
    for trial in _ranked(trials)[:SHOWN]:
        shown.add_row(*_cells(trial, head))
    return shown


def _cells(trial: Trial, head: Head) -> list[str]:
    return [
        str(trial.number),
        _value(trial, head.metric),
        *(str(trial.params[name]) for name in head.space),
    ]


def _value(trial: Trial, metric: str) -> str:
    """The objective in the units of its metric."""
    value = (trial.value or 0.0) * (1 if METRICS[metric].higher_is_better else -1)
    return f"{value:.2%}" if "accuracy" in metric else f"{value:.4g}"


def _finish(found: SweepRecord, path: Path, source: str, *, plot: bool, as_json: bool) -> None:
    found.save(path)
    failed = {t.outcome.message for t in found.trials if t.outcome and t.outcome.state == "failed"}
    if found.winner is None:
        raise ValueError(f"No trial finished: {'; '.join(sorted(failed)) or 'all were pruned'}.")
    if plot:
        from lgan.sweep.plot import draw

        for picture in draw(found, path.parent, path.stem):
            note(f"picture: {picture}")
    if as_json:
        plain = found.to_json()
        print_json({**{k: v for k, v in plain.items() if k != "trials"}, "record": str(path)})
        return
    states = found.to_json()["states"]
    notes = [f"{found.head.objective} by {found.head.metric}: {OBJECTIVES[found.head.objective]}"]
    notes += [f"trials: {', '.join(f'{n} {state}' for state, n in states.items())}"]
    notes += [f"failed: {message}" for message in sorted(failed)]
    notes += [f"record: {path}"]
    table(
        f"{found.head.dataset}, {found.head.model}: best of {len(found.trials)} trials",
        ["trial", found.head.objective, *found.head.space],
        [_cells(trial, found.head) for trial in _ranked(found.trials)[:SHOWN]],
        "\n".join(notes),
    )
    console.print(f"the winner: {_command(found, source)}", soft_wrap=True, highlight=False)


def _command(found: SweepRecord, source: str) -> str:
    """The command that runs the winner again."""
    assert found.winner is not None
    head = found.head
    settings = {**head.fixed, **found.winner.params}
    usual = settings_for(head.model, head.dataset).flat()
    if usual.get("recipe") == "default":  # by which the data decide on some, unless they are given
        usual = {
            k: v
            for k, v in usual.items()
            if k not in {*LARGER, *UNLABELLED, *UNEVEN, "graph_dropout"}
        }
    texts = [f"lgan cv {shlex.quote(source)} --model {head.model} --metric {head.metric}"]
    texts += [
        f"--{option}" if word is True else f"--{option} {shlex.quote(str(word))}"
        for option, value in head.asked.items()
        for word in (value if isinstance(value, list) else [value])
    ]
    texts += [
        f"--set {name}={json.dumps(value)}"
        for name, value in settings.items()
        if value != usual.get(name)
    ]
    if head.split.startswith("published:"):
        texts.append(f"--split published:FOLDER/{head.folds}")
    else:
        texts.append(f"--split {shlex.quote(head.split)} --folds {head.folds}")
    texts.append(f"--seed {head.seed} --seeds {head.seeds}")
    return " ".join(texts) + (" --fair" if head.objective == "fair" else "")
