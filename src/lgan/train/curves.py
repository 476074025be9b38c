"""What is measured while models train, and who chooses an epoch by it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from lgan.task import Metric
from lgan.train.config import TrainConfig
from lgan.train.jobs import Job
from lgan.train.objective import Objective
from lgan.train.selection import best_epochs, has_stopped, mean_over_models

# What is measured of every model.
BY_MODEL = ("loss", "test", "validation", "agreement")


@dataclass(frozen=True)
class Choice:
    """Models that choose one epoch together.

    Attributes:
        models: Which they are.
        inner: Whether they choose on their inner hold-outs, or on what they are tested on.
    """

    models: list[int] = field(default_factory=list)
    inner: bool = True


def choices(jobs: Sequence[Job]) -> dict[str, list[Choice]]:
    """Who chooses an epoch, by rule: the models of a variant that have no inner hold-out together
    (``gin``), every other one for itself (``fair``), and the members of every bag (``bagged``).
    """
    gin: dict[int, Choice] = {}
    bags: dict[tuple[int, int], Choice] = {}
    fair: list[Choice] = []
    for k, job in enumerate(jobs):
        if not job.validation.numel():
            gin.setdefault(job.variant, Choice(inner=False)).models.append(k)
            continue
        fair.append(Choice([k]))
        if job.bag >= 0:
            bags.setdefault((job.variant, job.bag), Choice()).models.append(k)
    return {"gin": list(gin.values()), "fair": fair, "bagged": list(bags.values())}


def stop_choices(jobs: Sequence[Job]) -> list[Choice]:
    """The choices that training goes on for: those of the strictest rule it can be read by."""
    of = choices(jobs)
    return of["bagged"] or of["fair"] or of["gin"]


class SelectedPredictions:
    """The predictions of every model for its test graphs, at the best epoch so far.

    All epochs would take an epoch's memory each, and ROC-AUC over all folds cannot be had from the
    curves.

    Args:
        jobs: The models that train together.
        outputs: Outputs per graph.
    """

    def __init__(self, jobs: Sequence[Job], outputs: int) -> None:
        sizes, of = [job.test.numel() for job in jobs], choices(jobs)
        self.choices = [*of["gin"], *of["fair"]]  # every model is in one of them
        self.values = torch.zeros(sum(sizes), outputs)
        self.epoch = torch.zeros(len(sizes), dtype=torch.int64)
        self._each = torch.split(self.values, sizes)

    def update(self, epoch: int, best: Sequence[int], predictions: Sequence[Tensor]) -> None:
        """Take in an epoch, counted from 0, for the models that choose it."""
        for choice, chosen in zip(self.choices, best, strict=True):
            for k in choice.models if chosen == epoch else ():
                self._each[k].copy_(predictions[k])
                self.epoch[k] = epoch

    def of(self, model: int) -> Tensor:
        """The predictions of a model for its test graphs ``[n, O]``."""
        return self._each[model]


class BagSums:
    """The sum over members of what they say of the test graphs of their bag, for every epoch.

    Members of one bag may train in several groups, and which epoch is chosen is known when the last
    has ended. In double precision a few numbers of single precision add up without rounding, in
    whatever groups they come.

    Args:
        jobs: The models that train together.
        epochs: Number of epochs.
        outputs: Outputs per graph.
    """

    def __init__(self, jobs: Sequence[Job], epochs: int, outputs: int) -> None:
        self.keys = [(job.variant, job.bag) if job.bag >= 0 else None for job in jobs]
        self.graphs = {key: job.test for key, job in zip(self.keys, jobs, strict=True) if key}
        sizes = [graphs.numel() for graphs in self.graphs.values()]
        self.values = torch.zeros(epochs, sum(sizes), outputs, dtype=torch.float64)
        self._each = dict(zip(self.graphs, self.values.split(sizes, 1), strict=True))

    def add(self, epoch: int, predictions: Sequence[Tensor]) -> None:
        """Take in what all models say of their test graphs after an epoch, counted from 0."""
        for key, said in zip(self.keys, predictions, strict=True):
            if key is not None:
                self._each[key][epoch] += said

    def of(self, variant: int, bag: int) -> Tensor | None:
        """The sums of a bag ``[E, n, O]``; ``None`` where no member of it is here."""
        return self._each.get((variant, bag))


@dataclass
class Curves:
    """What was measured, by model and epoch ``[K, E]``; filled as training goes on.

    Attributes:
        loss: Mean training loss.
        test: The metric on the test graphs.
        validation: The metric on the inner hold-out; 0 where there is none.
        agreement: What the share of companions comes from, on the inner hold-out ``[K, E, 2]``,
            see :func:`lgan.train.share.agreement`; 0 where there are none.
        seconds: Time of every epoch ``[E]``, evaluation included.
        metric: What was measured.
        selected: Predictions for the test graphs at the epoch that is best so far.
        bags: Predictions of the members of every bag, summed, for every epoch.
    """

    loss: Tensor
    test: Tensor
    validation: Tensor
    agreement: Tensor
    seconds: Tensor
    metric: Metric
    selected: SelectedPredictions
    bags: BagSums

    @staticmethod
    def empty(jobs: Sequence[Job], config: TrainConfig, objective: Objective) -> "Curves":
        """Curves before the first epoch."""
        outputs = objective.task.num_outputs
        values = torch.zeros(len(jobs), config.epochs, dtype=torch.float64)
        loss, seconds = torch.zeros(len(jobs), config.epochs), torch.zeros(config.epochs)
        return Curves(
            loss=loss,
            test=values,
            validation=values.clone(),
            agreement=values.new_zeros(*values.shape, 2),
            seconds=seconds,
            metric=objective.metric,
            selected=SelectedPredictions(jobs, outputs),
            bags=BagSums(jobs, config.epochs, outputs),
        )

    def chosen_on(self, choice: Choice) -> Tensor:
        """The curves that models choose an epoch on ``[n, E]``."""
        return (self.validation if choice.inner else self.test)[choice.models]

    def take(self, epoch: int, predictions: Sequence[Tensor], config: TrainConfig) -> None:
        """Take in what all models say of their test graphs after an epoch, counted from 0, whose
        metrics are there.
        """
        curves = [self.chosen_on(choice)[:, : epoch + 1] for choice in self.selected.choices]
        means = torch.stack([mean_over_models(each) for each in curves])
        higher = self.metric.higher_is_better
        best = best_epochs(means, higher=higher, window=config.window).tolist()
        self.selected.update(epoch, best, predictions)
        self.bags.add(epoch, predictions)

    def stopped(self, who: Sequence[Choice], epochs: int, config: TrainConfig) -> bool:
        """Whether none of the choices has improved for so long, after some epochs, that training
        stops there.
        """
        return has_stopped(
            [self.chosen_on(choice)[:, :epochs] for choice in who],
            patience=config.patience,
            window=config.window,
            higher=self.metric.higher_is_better,
        )

    def cut(self, epochs: int) -> "Curves":
        """The first epochs alone."""
        cut = {name: getattr(self, name)[:, :epochs] for name in BY_MODEL}
        return replace(self, **cut, seconds=self.seconds[:epochs])

    def tensors(self) -> dict[str, Tensor]:
        """Everything that changes, by name."""
        named = {name: getattr(self, name) for name in (*BY_MODEL, "seconds")}
        named |= {"selected.values": self.selected.values, "selected.epoch": self.selected.epoch}
        return named | ({"bags": self.bags.values} if self.bags.graphs else {})
