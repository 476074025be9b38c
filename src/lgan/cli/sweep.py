"""`lgan sweep`: search for settings."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live
from rich.table import Table

from lgan._optional import require
from lgan.cli import options
from lgan.cli.screen import console, log, print_json, table
from lgan.cli.setup import choose_device, fold_count, read_options
from lgan.experiment import network_spec, settings_for
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
from lgan.train.environment import environment

__all__ = ["sweep"]

SHOWN = 10


def _one_of(names: dict[str, str], value: str) -> str:
    if value not in names:
        raise typer.BadParameter(f"must be one of {', '.join(names)}, got {value!r}.")
    return value


def sweep(
    dataset: options.Dataset,
    model: options.Model = "lgan",
    trials: Annotated[int, typer.Option(min=1, help="Trials the study shall have.")] = 64,
    batch: Annotated[
        int, typer.Option(min=1, help="Trials of one shape that train side by side.")
    ] = 8,
    sampler: Annotated[
        str,
        typer.Option(
            help=f"Who proposes: {', '.join(SAMPLERS)}.", callback=lambda v: _one_of(SAMPLERS, v)
        ),
    ] = "tpe",
    objective: Annotated[
        str,
        typer.Option(
            help="Rule to search by: gin, or fair, which uses the inner hold-out alone.",
            callback=lambda v: _one_of(OBJECTIVES, v),
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
    folds: options.Folds = None,
    splits: options.Splits = None,
    more: options.Option = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes (with --ray: batches at once).")
    ] = 1,
    ray: Annotated[
        str | None, typer.Option(help="Address of an existing Ray cluster to run on.")
    ] = None,
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
    root: options.Root = Path("data"),
    mirror: options.Mirror = None,
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Search for the settings of a network on a data set.

    It can be stopped at any time and goes on with --resume. Trials that differ in nothing that
    changes shapes (lr, lr_halving, weight_decay, average, dropout) train side by side. What is
    not to be searched for is fixed, as in `--set pair_code=full`.

    Examples: lgan sweep MUTAG --model lgan --trials 64, lgan sweep triangles --sampler random
    --trials 8 --epochs 5 --folds 3, lgan sweep PROTEINS --ray auto --workers 4 --plot
    """
    for package in ("optuna", *(["ray"] if ray else []), *(["matplotlib"] if plot else [])):
        require(package)
    network_spec(model)
    place, stem = choose_device(device), name or f"{dataset}-{model}"
    num_folds = fold_count(folds, splits, fair="--objective fair" if objective == "fair" else None)
    fixed = read_options(more) | ({} if epochs is None else {"epochs": epochs})
    choices = SPACES.get(model, {}) if space is None else read_space(space)
    choices = {key: some for key, some in choices.items() if key not in fixed}
    check_space(choices, model, dataset, fixed)
    fixed = all_fixed(choices, model, dataset, fixed)
    head = Head(
        model=model, dataset=dataset, objective=objective, fixed=fixed, seed=seed, sampler=sampler,
        seeds=seeds,
        space={key: list(some) for key, some in choices.items()},
        folds=str(num_folds) if splits is None else splits.name,
    )  # fmt: skip
    folder = output or Path("runs") / "sweep"
    record = folder / f"{stem}.json"
    _look(record, resume=resume, overwrite=overwrite)
    shared = Batch(
        model=model, dataset=dataset, params=[], fixed=fixed, objective=objective,
        folds=num_folds,
        splits=None if splits is None else str(splits.absolute()), seed=seed, seeds=seeds,
        device=str(place),
        root=str(root.absolute()), mirror=mirror,
    )  # fmt: skip
    with _alone(record), _watched(head, trials) as watch:
        if overwrite:
            record.unlink(missing_ok=True)
        study = Study(record, head, environment(place))
        pool = _workers(workers, ray, gpus=int(place.type == "cuda"))
        try:
            tune(study, pool, shared, trials=trials, size=batch, prune=prune, on_trials=watch)
        except KeyboardInterrupt:
            log.print(f"Stopped. {record} holds what was done: add `--resume` to go on.",
                      soft_wrap=True, markup=False, highlight=False)  # fmt: skip
            raise typer.Exit(130) from None
        finally:
            pool.close()
        if storage is not None:
            optuna_study(head, study.trials(), storage=storage, name=stem)
    _finish(study.record(), record, plot=plot, as_json=as_json)


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
        note = f"There is no study {record.stem} in {record.parent} to resume: a new one begins."
        log.print(note, soft_wrap=True, markup=False, highlight=False)


def _workers(number: int, ray: str | None, *, gpus: int) -> Workers:
    if ray is not None:
        return RayCluster(ray, number if number > 1 else None, gpus)
    return Here() if number == 1 else Processes(number)


@contextmanager
def _alone(record: Path) -> Iterator[None]:
    """One search leads a study at a time; further machines join it through Ray."""
    from filelock import FileLock, Timeout

    record.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(record.with_name(f".{record.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(
            f"Another `lgan sweep` is at work on {record}. Wait for it, or choose another `--name`."
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _watched(head: Head, trials: int) -> Iterator[Any]:
    """A live table of the best trials on a terminal; elsewhere a line where something changed."""
    if not log.is_terminal:
        yield lambda now: log.print(_line(now, trials), highlight=False, soft_wrap=True)
        return
    with Live(console=log, transient=True) as live:
        yield lambda now: live.update(_live_table(head, now, trials))


def _ranked(trials: list[Trial]) -> list[Trial]:
    done = [trial for trial in trials if trial.value is not None]
    return sorted(done, key=lambda trial: -trial.score)


def _line(trials: list[Trial], wanted: int) -> str:
    finished = [trial for trial in trials if trial.outcome is not None]
    best = _ranked(trials)[:1]
    told = "".join(f", best {trial.value:.2%} (trial {trial.number})" for trial in best)
    return f"{len(finished)} of {wanted} trials, {len(trials) - len(finished)} running{told}"


def _live_table(head: Head, trials: list[Trial], wanted: int) -> Table:
    shown = Table(title=f"{head.dataset}, {head.model}: {_line(trials, wanted)}",
                  title_justify="left")  # fmt: skip
    for column in ("trial", head.objective, *head.space):
        shown.add_column(column)
    for trial in _ranked(trials)[:SHOWN]:
        shown.add_row(*_cells(trial, head))
    return shown


def _cells(trial: Trial, head: Head) -> list[str]:
    value = f"{trial.value:.2%}"
    return [str(trial.number), value, *(str(trial.params[name]) for name in head.space)]


def _finish(found: SweepRecord, path: Path, *, plot: bool, as_json: bool) -> None:
    found.save(path)
    failed = {t.outcome.message for t in found.trials if t.outcome and t.outcome.state == "failed"}
    if found.winner is None:
        raise ValueError(f"No trial finished: {'; '.join(sorted(failed)) or 'all were pruned'}.")
    if plot:
        from lgan.sweep.plot import draw

        for picture in draw(found, path.parent, path.stem):
            log.print(f"picture: {picture}", soft_wrap=True, highlight=False)
    if as_json:
        plain = found.to_json()
        print_json({**{k: v for k, v in plain.items() if k != "trials"}, "record": str(path)})
        return
    states = found.to_json()["states"]
    notes = [f"{found.head.objective}: {OBJECTIVES[found.head.objective]}"]
    notes += [f"trials: {', '.join(f'{n} {state}' for state, n in states.items())}"]
    notes += [f"failed: {message}" for message in sorted(failed)]
    notes += [f"record: {path}"]
    table(
        f"{found.head.dataset}, {found.head.model}: best of {len(found.trials)} trials",
        ["trial", found.head.objective, *found.head.space],
        [_cells(trial, found.head) for trial in _ranked(found.trials)[:SHOWN]],
        "\n".join(notes),
    )
    console.print(f"the winner: {_command(found)}", soft_wrap=True, highlight=False)


def _command(found: SweepRecord) -> str:
    """The command that runs the winner again."""
    assert found.winner is not None
    head = found.head
    settings = {**head.fixed, **found.winner.params}
    usual = settings_for(head.model, head.dataset).flat()
    texts = [f"lgan cv {head.dataset} --model {head.model}"]
    texts += [
        f"--set {name}={json.dumps(value)}"
        for name, value in settings.items()
        if value != usual.get(name)
    ]
    texts.append(
        f"--folds {head.folds}" if head.folds.isdigit() else f"--splits FOLDER/{head.folds}"
    )
    texts.append(f"--seed {head.seed} --seeds {head.seeds}")
    return " ".join(texts) + (" --fair" if head.objective == "fair" else "")
