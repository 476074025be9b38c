"""The table of molecules: figures, significance, time and memory of every cell, from records."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from lgan._optional import require
from paper.molecule_sets import SETS
from paper.render import Grid
from paper.significance import TEST, mark

CSV_COLUMNS = [
    "dataset", "split", "metric", "model", "members", "mean", "std", "train_seconds",
    "predict_seconds", "peak_memory", "record",
]  # fmt: skip
OURS = "lgan"
# Whole sets that are too large for chemprop on a CPU; it has a draw of their rows.
OURS_ALONE = ("Tox21", "HIV")
WANTED = {
    "lgan": (1, 5, 10), "lgan+none": (1, 5, 10), "chemprop": (1, 5),
    "rf": (1,), "gb": (1,), "gine": (1, 5), "attentivefp": (1,),
}  # fmt: skip
# Where the default reads nothing but the graphs, as this model does.
NONE, ALIKE = "lgan+none", "HIV"
NOTES = [
    "Mean ± deviation over three splits of 80/10/10 (`ogb`: the split of ogbg-molhiv, over "
    "trainings). All models read the same rows; none chooses by a test part: ours holds folds of "
    "the other 90 percent out, chemprop has its validation part, forests choose nothing. ×n: n "
    "models that predict as one.",
    f"▼ significantly worse than `{OURS}` with as many members, ▲ better: {TEST}.",
]
Key = tuple[str, str, str, int]


def csv_rows(cells: Sequence[dict[str, Any]]) -> list[list[object]]:
    """A row for every cell, by `CSV_COLUMNS`: means over splits, deviations over them."""
    rows: list[list[object]] = []
    for key, cell in sorted(_latest(cells).items(), key=lambda item: _order(item[0])):
        dataset, split, model, members = key
        rows.append([
            dataset, split, cell["metric"], model, members, round(fmean(cell["scores"]), 6),
            round(pstdev(cell["scores"]), 6), round(fmean(cell["train_seconds"]), 3),
            round(fmean(cell["predict_seconds"]), 4), cell["peak_memory"], cell["record"],
        ])  # fmt: skip
    return rows


def molecule_grids(cells: Sequence[dict[str, Any]]) -> list[Grid]:
    """The figures by metric, then time and memory; what is missing is named."""
    known = _latest(cells)
    models = sorted({(model, members) for _, _, model, members in known}, key=_model_order)
    grids = []
    for metric, what in (("rmse", "RMSE (lower is better)"), ("roc-auc", "ROC-AUC")):
        places = _places(key for key, cell in known.items() if cell["metric"] == metric)
        if not places:
            continue
        rows = [
            [_named(*one), *(_score(known, (*place, *one)) for place in places)]
            for one in models
            if any((*place, *one) in known for place in places)
        ]
        columns = ["model", *(f"{dataset}, {split}" for dataset, split in places)]
        grids.append(Grid(f"Molecules: test {what}", columns, rows, NOTES))
    places = _places(known)
    time = [
        [_named(*one), *(_cost(known.get((*place, *one))) for place in places)] for one in models
    ]
    columns = ["model", *(f"{dataset}, {split}" for dataset, split in places)]
    machines = sorted({_machine(cell) for cell in known.values()})
    notes = [
        "Seconds to train one ensemble on one split / seconds to predict its test part / peak "
        "memory of the process in MiB. Ours trains the splits of a kind side by side and counts "
        "an equal part of that time for each; the descriptors that `lgan` reads come from the "
        "prepared sets, and take some ten milliseconds a molecule more. Chemprop is timed from the "
        "start of its command to its end, and of an ensemble the times of its models are added.",
        "Machines: " + "; ".join(machines) + ".",
        *_missing(known),
    ]
    grids.append(Grid("Molecules: time and memory", columns, time, notes))
    return grids


def brief_grid(cells: Sequence[dict[str, Any]]) -> Grid:
    """One model of ours beside one of chemprop, on the sets that both have."""
    known = _latest(cells)
    places = [place for place in _places(known) if (*place, "chemprop", 1) in known]
    sets = list(dict.fromkeys(dataset for dataset, _ in places))
    rows = [
        [f"{model}, {split} split"]
        + [_score(known, (name, split, model, 1)).split(" ±")[0] for name in sets]
        for split in dict.fromkeys(split for _, split in places)
        for model in (OURS, "chemprop")
    ]
    lower = {name for name, *_ in (key for key in known if known[key]["metric"] == "rmse")}
    columns = ["model", *(f"{name} ↓" if name in lower else name for name in sets)]
    note = "One model each, means over three splits; ↓: RMSE, lower is better, otherwise ROC-AUC."
    return Grid("Molecules: the default beside chemprop 2.3", columns, rows, [note])


def draw(cells: Sequence[dict[str, Any]], path: Path | str) -> None:
    """A panel for every set and split: the mean of each model, a line over the splits, ours
    marked.
    """
    canvas = require("matplotlib.backends.backend_agg").FigureCanvasAgg
    known = _latest(cells)
    places = _places(known)
    width = min(4, len(places))
    height = -(-len(places) // width)
    most = max(sum(key[:2] == place for key in known) for place in places)
    figure = require("matplotlib.figure").Figure(
        figsize=(3.6 * width, height * (1.0 + 0.22 * most)), layout="constrained"
    )
    for number, place in enumerate(places, 1):
        own = [(key, cell) for key, cell in known.items() if key[:2] == place]
        lower = own[0][1]["metric"] == "rmse"
        own.sort(key=lambda item: fmean(item[1]["scores"]) * (1 if lower else -1))
        axes = figure.add_subplot(height, width, number)
        for line, (key, cell) in enumerate(own):
            scores = cell["scores"]
            colour = "#1f77b4" if key[2].startswith(OURS) else "#8a8a8a"
            axes.plot([min(scores), max(scores)], [line, line], color=colour, linewidth=1)
            axes.plot(fmean(scores), line, "o", color=colour, markersize=5)
        axes.set_yticks(range(len(own)), [_named(*key[2:]) for key, _ in own], fontsize=7)
        axes.invert_yaxis()
        axes.grid(axis="x", linewidth=0.3)
        axes.set_title(f"{place[0]}, {place[1]}", fontsize=9)
        axes.set_xlabel("test RMSE" if lower else "test ROC-AUC", fontsize=8)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    canvas(figure).print_png(str(path))


def _latest(cells: Iterable[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    """By set, split, model and members; where a cell was measured twice, the later."""
    ordered = sorted(cells, key=lambda cell: str(cell["environment"].get("time", "")))
    return {
        (cell["dataset"], cell["split"], cell["model"], cell["members"]): cell for cell in ordered
    }


def _places(keys: Iterable[Key]) -> list[tuple[str, str]]:
    there = {key[:2] for key in keys}
    return [(name, split) for name, (_, _, splits) in SETS.items() for split in splits
            if (name, split) in there]  # fmt: skip


def _score(known: dict[Key, dict[str, Any]], key: Key) -> str:
    cell = known.get(key)
    if cell is None:
        return ""
    spread = f" ± {pstdev(cell['scores']):.3f}" if len(cell["scores"]) > 1 else ""
    return f"{fmean(cell['scores']):.3f}{spread}{_mark(known, key)}"


def _mark(known: dict[Key, dict[str, Any]], key: Key) -> str:
    """▼ where a model is significantly worse than ours of the same size, ▲ where it is better."""
    ours, cell = known.get((*key[:2], OURS, key[3])), known[key]
    if ours is None or ours is cell or ours["seeds"] != cell["seeds"] or key[1] == "ogb":
        return ""
    train, held_out, test = cell["rows"][0]
    sides = (cell["scores"], ours["scores"])
    # Of errors less is better.
    return mark(*(sides[::-1] if cell["metric"] == "rmse" else sides), test / (train + held_out))


def _missing(known: dict[Key, dict[str, Any]]) -> list[str]:
    """Notes that name the cells that are wanted and in no record."""
    nowhere, partly = [], []
    for model, members in ((model, size) for model, sizes in WANTED.items() for size in sizes):
        gone, all_of_it = [], True
        for name, (_, _, splits) in SETS.items():
            if (model == "chemprop" and name in OURS_ALONE) or (model, name) == (NONE, ALIKE):
                continue
            left = [split for split in splits if (name, split, model, members) not in known]
            all_of_it = all_of_it and len(left) == len(splits)
            if left:
                gone.append(name if len(left) == len(splits) else f"{name} ({', '.join(left)})")
        if all_of_it:
            nowhere.append(_named(model, members))
        elif gone:
            partly.append(f"{_named(model, members)} on {', '.join(gone)}")
    return [
        f"{what}: {'; '.join(which)}."
        for what, which in (("Not measured yet", partly), ("Not measured anywhere yet", nowhere))
        if which
    ]


def _cost(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    memory = (cell["peak_memory"] or 0) / 2**20
    train, ask = fmean(cell["train_seconds"]), fmean(cell["predict_seconds"])
    return f"{train:.1f} / {ask:.2f} / {memory:.0f}"


def _machine(cell: dict[str, Any]) -> str:
    where = cell["environment"]
    return f"{where.get('device')}, {where.get('threads')} threads of {where.get('cores')} cores"


def _named(model: str, members: int) -> str:
    return model if members == 1 else f"{model} ×{members}"


def _model_order(one: tuple[str, int]) -> tuple[int, int, str]:
    model, members = one
    return 0 if model == OURS else 1 if model.startswith(OURS) else 2, members, model


def _order(key: Key) -> tuple[Any, ...]:
    return list(SETS).index(key[0]), key[1], _model_order(key[2:])
