"""What a training found, as one HTML page that needs nothing else."""

from dataclasses import replace
from html import escape
from statistics import stdev
from typing import Any

import torch
from torch import Tensor

from lgan.catalogue import shown
from lgan.experiment.overview import contents
from lgan.experiment.source import ReadSource
from lgan.explain import Scale
from lgan.explain.draw import figure_svg, new_figure
from lgan.explain.report import (
    confusion_html,
    confusion_table,
    facts_html,
    image_html,
    page_html,
    picture_html,
    table_html,
    tiles_html,
)
from lgan.predictor import Predictor
from lgan.predictor.calibration import calibration
from lgan.predictor.explaining import explain_graphs, explained_items
from lgan.task import METRICS, Task
from lgan.train import TrainedEnsemble
from lgan.train.checkpoint import Checkpoint
from lgan.train.out_of_fold import OutOfFold

# Mistakes that are shown, and edges of the largest graph that is drawn and explained.
WORST, MOST_EDGES = 6, 300
# Targets that have a scatter plot of their own.
SCATTERS = 6
# Targets that are named with their scores in a line.
NAMED = 12
INK, PALE, MARK = "#1d232b", "#aab4c0", "#9a3b00"


def training_report(source: ReadSource, trained: TrainedEnsemble, stored: Checkpoint) -> str:
    """The page of a training; needs matplotlib."""
    known, predictor = stored.out_of_fold, Predictor.of(stored)
    assert known is not None  # a model of this version has them
    task, metric = predictor.task, str(trained.info["metric"])
    graphs = trained.predictions.isfinite().all(1).nonzero().flatten()
    made = facts_html(made_facts(stored))
    told = {name: text for name, value in contents(source).items() if (text := _words(value))}
    many = "One model" if trained.members == 1 else f"{trained.members} models side by side"
    figure, caveat = estimate_words(trained)
    mean, _, spread = figure.partition(" ± ")
    tiles = [
        (f"out-of-fold {metric}", mean, f"± {spread}" if spread else ""),
        ("all graphs together", shown(metric, trained.pooled_score), f"of {len(graphs):,}"),
        ("chosen epoch", str(trained.epoch), f"of {trained.test.size(1)} trained"),
        ("time", f"{trained.info['seconds']:,.0f} s", f"{trained.members} side by side"),
    ]
    sections = {
        "Learning": _learning(trained, metric),
        "Right and wrong": _right_and_wrong(known, trained, task),
        "Calibration": _calibration(known, task),
        "Worst mistakes": _mistakes(predictor, source, known, graphs),
        "The data": f'<div class="panel"><dl class="facts">{facts_html(told)}</dl></div>',
        "How this was made": f'<div class="panel"><dl class="facts">{made}</dl></div>',
    }
    return page_html(
        "lgan.experiment",
        "training_report.html",
        title=escape(f"{stored.model} on {stored.dataset}"),
        lead=escape(
            f"{many} trained on {source.raw.num_graphs:,} graphs of {stored.dataset}. {task}."
        ),
        tiles=tiles_html(tiles),
        caveat=escape(caveat[0].upper() + caveat[1:] + "."),
        sections="\n".join(
            f"<section><h2>{name}</h2>{body}</section>" for name, body in sections.items() if body
        ),
    )


def estimate_words(trained: TrainedEnsemble) -> tuple[str, str]:
    """The out-of-fold metric with its deviation over folds, and what it is not."""
    metric = str(trained.info["metric"])
    scores = [score for score in trained.fold_scores if score == score]
    spread = f" ± {shown(metric, stdev(scores))} over {len(scores)} folds" if scores[1:] else ""
    of = "each model on the graphs it did not train on"
    epochs, config = trained.test.size(1), trained.info["config"]
    wait = config["patience"] if epochs < config["epochs"] else 0
    early = f" trained, after which {wait} had brought nothing better" if wait else ""
    return shown(metric, trained.score) + spread, (
        f"{of if trained.members > 1 else 'on the held-out part'}; they chose the epoch "
        f"({trained.epoch} of {epochs}{early}), so it is optimistic by a "
        "little: `lgan cv --bagged` measures the whole procedure"
    )


def _learning(trained: TrainedEnsemble, metric: str) -> str:
    figure = new_figure(9, 3.2, "constrained")
    epochs = range(1, trained.test.size(1) + 1)
    panels = {f"held-out {metric}": trained.test, "training loss": trained.loss}
    for ax, (name, curves) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        if trained.members > 1:
            ax.plot(epochs, curves.T.numpy(), color=PALE, lw=0.8)
        ax.plot(
            epochs, curves.nanmean(0).numpy(), color=INK, lw=1.8, marker="." * (epochs.stop < 3)
        )
        ax.axvline(trained.epoch, color=MARK, lw=1, ls="--")
        ax.set(xlabel="epoch", title=name)
    window = min(trained.info["config"]["window"], trained.test.size(1))
    over = f", averaged over {window} epochs," if window > 1 else ""
    alone = "" if trained.companion is None else ", without companions,"
    return _figure(
        figure,
        f"Held-out {metric} and training loss after every epoch: members{alone} pale, their mean "
        "dark. "
        f"Dashed: epoch {trained.epoch}, where the mean{over} is best; the model is of this epoch.",
    )


def _right_and_wrong(known: OutOfFold, trained: TrainedEnsemble, task: Task) -> str:
    metric, y, said = str(trained.info["metric"]), known.y, known.predictions
    shares = [
        (str(fold + 1), f"{int((known.fold == fold).sum()):,}", shown(metric, score))
        for fold, score in zip(known.folds, trained.fold_scores, strict=True)
    ]
    parts = [table_html("folds", ("fold", "graphs", metric), shares)]
    if task.has_classes:
        parts.insert(0, confusion_html("out of fold", confusion_table(said, y), task.classes))
    if len(task.targets) > 1:
        each = METRICS[metric].by_target(y.numpy(), said.numpy())
        counts = task.present(y).sum(0).tolist()
        rows = zip(task.targets, map(str, counts), (shown(metric, v) for v in each), strict=True)
        parts.append(table_html("targets", ("target", "graphs", metric), rows))
    if not task.classes:
        parts.insert(0, _scatter(known, task))
    return f'<div class="side">{"".join(parts)}</div>'


def _scatter(known: OutOfFold, task: Task) -> str:
    count = min(len(task.targets), SCATTERS)
    wide, high = 3 * min(count, 3) + 1.2 * (count == 1), 3.2 * (1 + (count > 3))
    figure = new_figure(wide, high, "constrained")
    for t in range(count):
        ax = figure.add_subplot(1 + (count > 3), min(count, 3), t + 1)
        true, said = known.y[:, t].numpy(), known.predictions[:, t].numpy()
        ax.plot(true, said, ".", color=INK, ms=3, alpha=0.4, rasterized=len(true) > 5000)
        ax.axline((float(known.y[:, t].nanmedian()),) * 2, slope=1, color=MARK, lw=1, ls="--")
        ax.set(xlabel=f"true {task.targets[t]}", ylabel="predicted")
    some = f"; the first {count} of {len(task.targets)} targets" if task.targets[count:] else ""
    return _figure(figure, f"Out-of-fold predictions against the truth{some}; right on the line.")


def _calibration(known: OutOfFold, task: Task) -> str:
    if not task.classes:
        return ""
    found = calibration(known.predictions, known.y, task)
    figure = new_figure(4.6, 3.6, "constrained")
    ax, count = figure.subplots(), found.count.double()
    ax.plot([0, 1], [0, 1], color=MARK, lw=1, ls="--")
    ax.plot(found.said.numpy(), found.came.numpy(), color=INK, lw=1)
    ax.scatter(found.said.numpy(), found.came.numpy(), (10 + 110 * count / count.max()).numpy(),
               color=INK)  # fmt: skip
    ax.set(xlabel="probability as predicted", ylabel="share that was right")
    of = "the predicted class" if task.has_classes else "the second class of every label"
    return _figure(
        figure,
        f"Calibration curve of {of}, out of fold, in ten bins; larger dots stand for more graphs. "
        f"Expected calibration error {found.error:.3f}: so far are probabilities from shares on "
        "average. On the line they can be taken at their word.",
    )


def _mistakes(predictor: Predictor, source: ReadSource, known: OutOfFold, graphs: Tensor) -> str:
    """Cards of the graphs that were predicted worst, explained where they are small enough."""
    worst, outputs = worst_mistakes(known, predictor.task)
    if not len(worst):
        return '<p class="soft">None: every graph was predicted right out of fold.</p>'
    raw, cards, items, refused = source.select(graphs[worst].tolist()), [], {}, ""
    try:
        for g, target in enumerate(outputs.tolist()):
            if (one := raw.select([g])).num_pairs <= MOST_EDGES:
                found = explain_graphs(predictor, one, target=target)
                # What was predicted out of fold, and what is true, stands beside the picture.
                items[g] = explained_items(predictor, replace(one, targets={}), found)[0]
    except ValueError as error:  # not every network can be explained
        refused = f" Not explained: {error}"
    # Probabilities have one scale, numbers of several targets one each.
    kinds = [0] * len(worst) if predictor.task.classes else outputs.tolist()
    scales = {
        kind: Scale.joint(items[g].picture.scale for g in items if kinds[g] == kind)
        for kind in set(kinds)
    }
    for g, place in enumerate(worst.tolist()):
        target, truth, guess = mistake_words(known, predictor.task, place, int(outputs[g]))
        name = f"{raw.name} {int(raw.rows[g])}" if raw.ids is None else raw.ids[g]
        drawn = (
            picture_html(items[g].picture.on_scale(scales[kinds[g]]), name) if g in items else ""
        )
        told = f"predicted <b>{escape(guess)}</b>, is <b>{escape(truth)}</b>"
        told = told if predictor.task.has_classes else f"{escape(target)}: {told}"
        row = f"row {int(raw.rows[g]) + 1}"
        cards.append(
            f'<article class="card"><h3>{escape(name)}</h3>'
            f'<p>{told}<br><span class="soft">{row}</span></p>{drawn}</article>'
        )
    several = predictor.checkpoint.members > 1
    now = ", all members together, most of which were trained on these graphs" if several else ""
    alone = any(item.attribution.withheld for item in items.values())
    told = " by the structure alone, without what is told of whole graphs" if alone else ""
    each = "all" if len(scales) < 2 else "each target"
    colours = f" Colours explain what the model says now{told}{now}; one scale holds for {each}."
    return (
        '<p class="soft">Predictions are those out of fold.'
        f"{colours if items else ''}{escape(refused)}</p>"
        f'<div class="gallery">{"".join(cards)}</div>'
    )


def how_wrong(known: OutOfFold, task: Task) -> tuple[Tensor, Tensor]:
    """How far off every graph is ``[n]``, 0 where it is right, and by which output ``[n]``."""
    y, said = known.y, known.predictions
    if task.has_classes:
        guess, there = said.argmax(1), torch.arange(len(y))
        off = (said[there, guess] - said[there, y]).masked_fill(guess == y, 0)
        # One class for the whole page where there are two: red always means the same.
        return off, torch.ones_like(guess) if task.kind == "binary" else guess
    off = (y - said).abs()
    if task.classes:
        off = off.where(off > 0.5, 0)
    else:
        off = off / (y - y.nanmean(0)).square().nanmean(0).sqrt().clamp(min=1e-12)
    largest = off.nan_to_num(0).max(1)
    return largest.values, largest.indices


def by_target(known: OutOfFold, task: Task) -> str:
    """Of several targets, how well each was predicted out of fold: numbers in their own units."""
    if len(task.targets) == 1:
        return ""
    metric = task.default_metric if task.classes else task.metric("rmse")
    found = metric.by_target(known.y.numpy(), known.predictions.numpy())
    each = [f"{name} {value:.4g}" for name, value in zip(task.targets, found, strict=True)]
    more = f" and {len(each) - NAMED} more" if len(each) > NAMED else ""
    return f"{metric.name} by target: {', '.join(each[:NAMED])}{more}"


def worst_mistakes(known: OutOfFold, task: Task) -> tuple[Tensor, Tensor]:
    """Some graphs that were predicted wrong, the worst first, and by which output each."""
    off, output = how_wrong(known, task)
    worst = off.argsort(descending=True, stable=True)[:WORST]
    worst = worst[off[worst] > 0]
    return worst, output[worst]


def mistake_words(known: OutOfFold, task: Task, graph: int, output: int) -> tuple[str, str, str]:
    """The target, what is true of it and what was predicted out of fold, in words."""
    y, said = known.y[graph], known.predictions[graph]
    if task.has_classes:
        guess = int(said.argmax())
        words = f"{task.classes[guess]} ({float(said[guess]):.0%})"
        return task.targets[0], task.classes[int(y)], words
    true, own = y[output], float(said[output])
    if task.classes:
        return task.targets[output], task.classes[int(true)], f"{own:.0%} {task.classes[1]}"
    return task.targets[output], f"{float(true):.4g}", f"{own:.4g}"


def made_facts(stored: Checkpoint) -> dict[str, str]:
    """How a model was made, by name."""
    where, beside = stored.info["environment"], stored.companion
    options = {"width": stored.hidden_channels, "features": stored.features, **stored.options}
    facts = {
        "command": where["command"],
        "version": f"lgan {where['lgan']}, torch {where['torch']}, Python {where['python']}",
        "machine": f"{where['device']}, {where['threads']} threads",
        "finished": where["time"],
        "model": f"{stored.model}: {_words(options)}",
        "training": _words(stored.info["config"]),
        "members": str(stored.members),
        **({} if beside is None else {"companion": f"{beside.share:.0%} of what is said"}),
        "peak memory": f"{stored.info['peak_memory'] / 2**20:,.0f} MiB",
    }
    return {name: str(value) for name, value in facts.items()}


def _words(value: Any) -> str:
    """A value of JSON in words; of long lists the beginning."""
    if isinstance(value, dict):
        value = [
            f"{name} {_words(each)}" if name != "reason" else each for name, each in value.items()
        ]
    if isinstance(value, list | tuple):
        words = [_words(each) for each in value]
        return ", ".join(words[:40]) + (f" and {len(words) - 40} more" if words[40:] else "")
    return f"{value:,}" if type(value) is int else str(value)


def _figure(figure: Any, words: str) -> str:
    drawn = image_html(figure_svg(figure), words)
    return f'<figure class="panel">{drawn}<figcaption>{escape(words)}</figcaption></figure>'
