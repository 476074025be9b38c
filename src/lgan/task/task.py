"""What is to be predicted, and everything that follows from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from lgan.task.cells import TargetColumn
from lgan.task.infer import class_names, infer_kind
from lgan.task.metrics import METRICS, Metric
from lgan.task.scale import TargetScale

Kind = Literal["binary", "multiclass", "multilabel", "regression"]
KINDS: tuple[Kind, ...] = get_args(Kind)
DEFAULT_METRIC = {
    "binary": "roc-auc",
    "multiclass": "accuracy",
    "multilabel": "roc-auc",
    "regression": "rmse",
}
# Folds of a regression are stratified by so many quantiles, of ten graphs at least.
QUANTILES = 10


@dataclass(frozen=True)
class Task:
    """A task: the targets, their classes, and how outputs become losses and predictions.

    A model has one output per class (``binary``, ``multiclass``) or per target (``multilabel``,
    ``regression``). Targets are ``y [G]``, classes with -1 where one is missing, in the first two
    kinds, and ``y [G, T]``, floats with NaN where one is missing, in the last two.

    Attributes:
        kind: One of `KINDS`.
        targets: The names of the target columns.
        classes: The class names in the order of ``y``; the two values of all targets, the
            negative one first, for ``multilabel``; nothing for ``regression``.

    Example:
        >>> task = Task.infer({"active": ["yes", "no", "yes"]})
        >>> print(task)
        binary: active (no, yes)
        >>> task.encode({"active": ["no", ""]})
        tensor([ 0, -1])
    """

    kind: Kind
    targets: tuple[str, ...]
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_kind(self.kind)
        if not self.targets or len(set(self.targets)) != len(self.targets):
            raise ValueError(
                f"`targets` must be names of columns, each once, got {self.targets}. "
                "Name at least one target, and none twice."
            )
        if self.has_classes and len(self.targets) != 1:
            raise ValueError(
                f"A {self.kind} task has one target, got {self.targets}. Choose one of them, or "
                "the task `multilabel`."
            )
        least, most = {"multiclass": (2, None), "regression": (0, 0)}.get(self.kind, (2, 2))
        count = len(self.classes)
        if count < least or (most is not None and count > most) or len(set(self.classes)) != count:
            wanted = f"{least} or more" if most is None else str(most)
            raise ValueError(
                f"A {self.kind} task has {wanted} different classes, got {self.classes}. "
                "Infer the task from the columns with `Task.infer`."
            )

    @staticmethod
    def infer(columns: Mapping[str, Sequence[Any]], kind: str | None = None) -> "Task":
        """The task that target columns ask for.

        Two distinct values are ``binary``; text, or up to ten distinct whole numbers, are
        ``multiclass``; other numbers are ``regression``. Several columns that share two values
        are ``multilabel``, several columns of numbers are ``regression``. Empty cells, ``NA`` and
        ``nan`` are missing values.

        Args:
            columns: The values of every target by its name, one per graph.
            kind: The kind, where the rule above would choose another.
        """
        if kind is not None:
            _check_kind(kind)
        if not columns:
            raise ValueError("A task needs a target column, got none. Name one.")
        read = {name: TargetColumn.read(name, values) for name, values in columns.items()}
        found = cast(Kind, kind or infer_kind(read))
        return Task(found, tuple(read), class_names(read, found))

    def __str__(self) -> str:
        names = ", ".join(self.targets[:4]) + (", …" if len(self.targets) > 4 else "")
        count = f"{len(self.targets)} targets: " if len(self.targets) > 1 else ""
        classes = ", ".join(self.classes[:10]) + (", …" if len(self.classes) > 10 else "")
        return f"{self.kind}: {count}{names}" + (f" ({classes})" if classes else "")

    @property
    def has_classes(self) -> bool:
        """Whether there is one target with an output per class."""
        return self.kind in ("binary", "multiclass")

    @property
    def num_outputs(self) -> int:
        """Outputs of a model: one per class, or one per target."""
        return len(self.classes) if self.has_classes else len(self.targets)

    @property
    def metrics(self) -> dict[str, Metric]:
        """The metrics that fit, by name."""
        return {name: metric for name, metric in METRICS.items() if self.kind in metric.kinds}

    @property
    def default_metric(self) -> Metric:
        """The metric by which models are chosen unless another is named; of several numbers one
        that does not depend on their units.
        """
        several = self.kind == "regression" and len(self.targets) > 1
        return METRICS["r2" if several else DEFAULT_METRIC[self.kind]]

    def metric(self, name: str | None = None) -> Metric:
        """The metric of this name, if it fits; the default one unless named."""
        if name is None:
            return self.default_metric
        if name not in self.metrics:
            known, fitting = "" if name in METRICS else "a known name, ", ", ".join(self.metrics)
            raise ValueError(
                f"The metric of a {self.kind} task must be {known}one of {fitting}, got {name!r}. "
                "Choose one of these."
            )
        return METRICS[name]

    def encode(self, columns: Mapping[str, Sequence[Any]]) -> Tensor:
        """Target columns as ``y``: int64 ``[G]``, or float32 ``[G, T]``."""
        read = [_column(columns, target) for target in self.targets]
        if self.kind == "regression":
            for column in read:
                text = column.first_text()
                if text is not None:
                    raise ValueError(
                        f"The target {column.name!r} must hold numbers, got {text!r}. "
                        "Correct the cell, or leave it empty."
                    )
            y = torch.stack([torch.from_numpy(c.numbers) for c in read], dim=1).float()
            if bool(y.isinf().any()):
                name = self.targets[int(y.isinf().any(0).nonzero()[0])]
                raise ValueError(
                    f"The target {name!r} must hold numbers below 3.4e38 in size, got larger ones. "
                    "Choose another unit."
                )
            return y
        ids = torch.stack([self._class_ids(column) for column in read], dim=1)
        if self.has_classes:
            return ids[:, 0]
        return ids.float().masked_fill(ids < 0, torch.nan)

    def cells(self, y: Tensor) -> dict[str, list[Any]]:
        """The target columns that `encode` makes ``y`` of; missing values are ``None``.

        Example:
            >>> Task("binary", ("active",), ("no", "yes")).cells(torch.tensor([1, -1]))
            {'active': ['yes', None]}
        """
        columns = zip(self.targets, y.reshape(len(y), -1).unbind(1), strict=True)
        there = self.present(y)[:, 0].tolist() if self.has_classes else None
        return {
            name: [
                None if value != value or (there and not there[row])
                else self.classes[int(value)] if self.classes else value
                for row, value in enumerate(column.tolist())
            ]
            for name, column in columns
        }  # fmt: skip

    def present(self, y: Tensor) -> Tensor:
        """Which targets have a value ``[B, T]``."""
        return (y >= 0)[:, None] if self.has_classes else ~y.isnan()

    def loss(
        self,
        out: Tensor,
        y: Tensor,
        *,
        scale: TargetScale | None = None,
        class_weight: Tensor | None = None,
    ) -> Tensor:
        """The loss of every graph and target; 0 where the target is missing.

        Cross-entropy of classes, binary cross-entropy of labels, squared error of scaled numbers.

        Args:
            out: Outputs of one model, or of several side by side.
            y: Targets, the same for all models.
            scale: The scale of the targets of a regression, per model.
            class_weight: What `balanced_class_weight` gives, per model.

        Shapes:
            ``out [*, B, O]``, ``y [B]`` or ``[B, T]``, result ``[*, B, T]``.
        """
        missing = ~self.present(y)
        if self.kind == "regression":
            wanted = (y if scale is None else scale.scaled(y)).masked_fill(missing, 0)
            return (out - wanted).square().masked_fill(missing, 0)
        if self.kind == "multilabel":
            positive = y > 0.5
            loss = F.binary_cross_entropy_with_logits(
                out, positive.to(out.dtype).expand_as(out), reduction="none"
            )
            if class_weight is not None:  # [*, T, 2]
                negatives, positives = class_weight[..., None, :, :].unbind(-1)
                loss = loss * torch.where(positive, positives, negatives)
            return loss.masked_fill(missing, 0)
        # A comparison instead of a gather: its backward pass needs no scattered sums.
        own = y[:, None] == torch.arange(len(self.classes), device=y.device)  # [B, C]
        surprise = -out.log_softmax(-1)
        if class_weight is not None:  # [*, C]
            surprise = surprise * class_weight[..., None, :]
        return surprise.masked_fill(~own, 0).sum(-1, keepdim=True)

    def link(self, out: Tensor, scale: TargetScale | None = None) -> Tensor:
        """What a person reads: probabilities ``[*, B, C]`` or ``[*, B, T]``, or numbers in the
        target's own units ``[*, B, T]``.
        """
        if self.has_classes:
            return out.softmax(-1)
        if self.kind == "multilabel":
            return out.sigmoid()
        return out if scale is None else scale.original(out)

    def balanced_class_weight(self, y: Tensor, rows: Tensor | None = None) -> Tensor:
        """Weights that give every class the same share of the loss (``balanced`` in scikit-learn).

        Args:
            y: Targets.
            rows: Which graphs are in the training part, per model; all of them unless given.

        Shapes:
            ``rows [*, G]``; result ``[*, C]``, or ``[*, T, 2]`` for ``multilabel``.
        """
        if self.kind == "regression":
            raise ValueError(
                "Class weights need classes, got a regression. Leave `class_weight` out."
            )
        count = len(self.classes)
        label = y[:, None] if self.has_classes else y  # [G, T]
        own = label[..., None] == torch.arange(count, device=y.device)  # [G, T, C]
        used = own if rows is None else own & rows[..., None, None]
        seen = used.sum(-3)  # [*, T, C]
        weight = seen.sum(-1, keepdim=True) / (count * seen.clamp(min=1)).float()
        return weight[..., 0, :] if self.has_classes else weight

    def strata(self, y: Tensor, num_folds: int = QUANTILES) -> Tensor:
        """What folds are stratified by ``[G]``: the class (-1 where missing), or quantiles of one
        number, of as many graphs as there are folds at least; nothing (zeros) where there are
        several targets.
        """
        if self.has_classes:
            return y
        if len(self.targets) > 1:
            return y.new_zeros(len(y), dtype=torch.int64)
        value = y[:, 0]
        if self.kind == "multilabel":
            return value.nan_to_num(-1).long()
        present = ~value.isnan()
        bins = max(1, min(QUANTILES, int(present.sum()) // max(QUANTILES, num_folds)))
        order = value.argsort(stable=True)  # NaN come last
        rank = torch.empty_like(order)
        rank[order] = torch.arange(len(y), device=y.device)
        stratum = rank * bins // max(1, int(present.sum()))
        return stratum.masked_fill(~present, -1)

    def to_json(self) -> dict[str, Any]:
        """The task as JSON's types."""
        return {"kind": self.kind, "targets": list(self.targets), "classes": list(self.classes)}

    @staticmethod
    def from_json(plain: Any) -> "Task":
        """The task that `to_json` wrote."""
        fields = {"kind", "targets", "classes"}
        if not isinstance(plain, Mapping) or set(plain) != fields or not _is_text(plain["kind"]):
            raise ValueError(
                f"A task must be an object with {sorted(fields)}, got {plain!r}. Read it from a "
                "record or a model file of this library."
            )
        lists = {name: plain[name] for name in ("targets", "classes")}
        for name, values in lists.items():
            if not isinstance(values, list) or not all(map(_is_text, values)):
                raise ValueError(
                    f"`{name}` of a task must be a list of names, got {values!r}. Read it from a "
                    "record or a model file of this library."
                )
        return Task(plain["kind"], tuple(lists["targets"]), tuple(lists["classes"]))

    def _class_ids(self, column: TargetColumn) -> Tensor:
        ids: dict[str | None, int] = {name: i for i, name in enumerate(self.classes)}
        ids[None] = -1
        unknown = {text for text in column.texts if text not in ids}
        if unknown:
            some = ", ".join(map(repr, sorted(map(str, unknown))[:4]))
            raise ValueError(
                f"The target {column.name!r} must hold the classes {', '.join(self.classes)}, got "
                f"{some} too. Correct these cells, or leave them empty."
            )
        return torch.tensor([ids[text] for text in column.texts], dtype=torch.int64)


def _column(columns: Mapping[str, Sequence[Any]], target: str) -> TargetColumn:
    if target not in columns:
        there = ", ".join(map(repr, list(columns)[:20])) or "none"
        raise ValueError(
            f"The target {target!r} must be among the columns, got {there}. Name one of these."
        )
    return TargetColumn.read(target, columns[target])


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"The task must be one of {', '.join(KINDS)}, got {kind!r}.")
