"""`LGANClassifier` and `LGANRegressor`: members side by side behind `fit` and `predict`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from lgan.data import Encoder, RawGraphs, Split, load_raw
from lgan.data.load import UnionOptions, encoded, with_target
from lgan.estimator.rows import as_rows, target_columns
from lgan.experiment import (
    ReadSource,
    Settings,
    factory,
    network_spec,
    settings_for,
    stored_model,
    with_data_options,
)
from lgan.explain.attribution import Attribution
from lgan.predictor import Predictor
from lgan.train import train_ensemble

__all__ = ["LGANClassifier", "LGANRegressor"]


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What both estimators share.

    Args:
        members: Models side by side that predict as one, each with another fold held out.
        model: A network of the zoo.
        recipe: How it is trained, see :data:`lgan.experiment.RECIPES`.
        epochs: Epochs; as the recipe says unless given.
        metric: What the epoch is chosen by; that of the task unless given.
        options: Further settings by name, see :func:`lgan.experiment.settings_for`.
        random_state: Seed of folds, weights and batches.
        device: Where to train and predict: ``"auto"``, ``"cpu"`` or ``"cuda"``.
    """

    predictor_: Predictor

    def __init__(
        self,
        *,
        members: int = 10,
        model: str = "lgan",
        recipe: str = "default",
        epochs: int | None = None,
        metric: str | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        device: str = "auto",
    ) -> None:
        self.members = members
        self.model = model
        self.recipe = recipe
        self.epochs = epochs
        self.metric = metric
        self.options = options
        self.random_state = random_state
        self.device = device

    def _fit(
        self, graphs: Any, columns: dict[str, list[Any]], kind: str, groups: Any
    ) -> "_Estimator":
        settings = self._settings()
        seed, extra = settings.training.seed, {}
        if groups is not None:
            extra = {"groups": list(groups)}
        raw = load_raw(as_rows(graphs), targets={**columns, **extra})
        if extra:
            names = {name: raw.targets[name] for name in columns}
            raw = _with_groups(raw, names, raw.targets["groups"])
        encoder = Encoder.fit(raw, edge_features=settings.edge_features, task=kind)
        assert encoder.task is not None
        raw = with_target(raw, encoder.task)
        split = Split.parse("group:groups" if extra else _default_split(encoder))
        number = 10 if self.members == 1 else max(5, self.members)
        fold = split.folds(raw, encoder.task, _possible(number, raw, encoder, extra), seed)
        spec = network_spec(settings.model)
        how = UnionOptions(
            settings.features,
            settings.edge_features,
            settings.compress,
            spec.triangles,
            settings.pair_code,
            None if spec.lift is None else spec.lift(settings.options),
        )
        union = encoded(raw, encoder, how).to(self._place())
        settings = with_data_options(settings, union)
        trained = train_ensemble(
            factory(settings, union),
            union,
            members=self.members,
            folds=fold,
            config=settings.training,
            metric=self.metric,
            captured=spec.captured,
            rows=None if spec.rows is None else spec.rows(union),
        )
        stored = stored_model(settings, ReadSource(raw, encoder, union), trained)
        self.predictor_ = Predictor.of(stored).to(self._place())
        self.out_of_fold_score_ = trained.score
        return self

    def explain(self, X: Any, **asked: Any) -> Attribution | list[Attribution | None] | None:
        """Which edges, nodes and fragments speak for a prediction; see
        :meth:`lgan.Predictor.explain`.

        Args:
            X: One graph, or a list of them.
            asked: ``method``, ``target`` and further options.
        """
        alone = isinstance(X, str) or not isinstance(X, Sequence | np.ndarray)
        found = self._fitted().explain(as_rows([X] if alone else X), **asked)
        return found[0] if alone else found

    def save(self, path: Path | str) -> None:
        """Write the model to a file, which :func:`lgan.load_model` and ``lgan predict`` read."""
        self._fitted().checkpoint.save(path)

    def _fitted(self) -> Predictor:
        check_is_fitted(self, "predictor_")
        return self.predictor_

    def _answers(self, X: Any) -> NDArray[np.float64]:
        predictor = self._fitted()
        if predictor.task.classes:
            return predictor.predict_proba(as_rows(X))
        return predictor.predict(as_rows(X))

    def _settings(self) -> Settings:
        return settings_for(
            self.model,
            "",
            recipe=self.recipe,
            epochs=self.epochs,
            seed=0 if self.random_state is None else int(self.random_state),
            **(self.options or {}),
        )

    def _place(self) -> torch.device:
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return torch.device(self.device)


class LGANClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """Classes of graphs and molecules, by members side by side.

    ``X`` is a list of SMILES, RDKit molecules, PyG ``Data`` or networkx graphs, or a table with a
    column of SMILES; ``y`` are labels of any kind, or several columns of two classes each, with
    NaN where missing.

    Example:
        >>> from lgan import LGANClassifier
        >>> smiles = ["CCO", "CCN", "CCC", "CCS", "CCCl", "CCBr"] * 5
        >>> labels = ["polar", "polar", "apolar", "apolar", "apolar", "apolar"] * 5
        >>> model = LGANClassifier(members=2, epochs=2, random_state=0).fit(smiles, labels)
        >>> model.predict_proba(["CCO"]).shape, list(model.classes_)
        ((1, 2), ['apolar', 'polar'])
    """

    classes_: NDArray[Any]

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> "LGANClassifier":
        """Train on graphs and their classes.

        Args:
            X: Graphs.
            y: Classes ``[n]``, or several columns of two classes each.
            groups: Graphs of one group are held out together, for example
                :func:`lgan.scaffolds`.
        """
        columns = target_columns(X, y)
        values = np.asarray(next(iter(columns.values())) if len(columns) == 1 else [0, 1])
        self.classes_ = np.unique(values)
        if len(self.classes_) < 2:
            raise ValueError(
                f"`y` must hold two classes or more, got {self.classes_.tolist()}. Add graphs of "
                "another class."
            )
        several = len(columns) > 1
        kind = "multilabel" if several else "binary" if len(self.classes_) == 2 else "multiclass"
        words = {name: [_word(value) for value in column] for name, column in columns.items()}
        self._fit(X, words, kind, groups)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes ``[n, C]``, in the order of ``classes_``; of the second
        class of every target ``[n, T]`` where there are several. NaN for what cannot be read.
        """
        answers = self._answers(X)
        task = self.predictor_.task
        if not task.has_classes:
            return answers
        order = [task.classes.index(_word(name)) for name in self.classes_.tolist()]
        return answers[:, order]

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of every graph."""
        answers = self.predict_proba(X)
        unread = np.flatnonzero(np.isnan(answers).any(axis=1))
        if unread.size:
            raise ValueError(
                f"{unread.size} of {len(answers)} graphs cannot be read, the first of them number "
                f"{int(unread[0])}. Leave them out, or call `predict_proba`, which gives NaN there."
            )
        if not self.predictor_.task.has_classes:
            return (answers > 0.5).astype(int)
        return np.asarray(self.classes_[answers.argmax(1)])

    def predict_set(self, X: Any, alpha: float = 0.1) -> NDArray[np.bool_]:
        """The classes that may be true ``[n, C]``, so that a share ``alpha`` of new graphs like
        those of the training have another.
        """
        predictor = self._fitted()
        found = predictor.predict_set(as_rows(X), alpha)
        if not predictor.task.has_classes:
            return found
        order = [predictor.task.classes.index(_word(name)) for name in self.classes_.tolist()]
        return found[:, order]


class LGANRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """Numbers of graphs and molecules, by members side by side.

    ``X`` is as for :class:`LGANClassifier`; ``y`` are numbers ``[n]`` or ``[n, T]``, NaN where
    missing.
    """

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> "LGANRegressor":
        """Train on graphs and their numbers.

        Args:
            X: Graphs.
            y: Numbers ``[n]`` or ``[n, T]``.
            groups: Graphs of one group are held out together.
        """
        columns = target_columns(X, y)
        self._fit(X, {name: [float(v) for v in c] for name, c in columns.items()}, "regression",
                  groups)  # fmt: skip
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The numbers of every graph, ``[n]`` or ``[n, T]``; NaN for what cannot be read."""
        return self._answers(X)

    def predict_std(self, X: Any) -> NDArray[np.float64]:
        """How far the members are apart, in the units of the target."""
        spread = self._fitted().predict_std(as_rows(X))
        return spread[:, 0] if spread.shape[1] == 1 else spread

    def predict_interval(self, X: Any, alpha: float = 0.1) -> NDArray[np.float64]:
        """Intervals ``[n, 2]`` or ``[n, T, 2]`` that miss the truth of a share ``alpha`` of new
        graphs like those of the training.
        """
        return self._fitted().predict_interval(as_rows(X), alpha)


def _word(value: Any) -> str:
    """A label as a task names it; nothing where it is missing."""
    missing = value is None or (isinstance(value, float | np.floating) and np.isnan(value))
    if missing:
        return ""
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def _default_split(encoder: Encoder) -> str:
    task = encoder.task
    return "stratified" if task is not None and task.has_classes else "random"


def _possible(number: int, raw: RawGraphs, encoder: Encoder, extra: dict[str, Any]) -> int:
    """Folds that can be drawn: no more than the smallest class has graphs, or than groups."""
    if extra:
        return min(number, len(set(raw.columns["groups"])))
    task = encoder.task
    assert task is not None
    if not task.has_classes:
        return min(number, raw.num_graphs)
    return max(2, min(number, int(torch.bincount(task.encode(raw.targets)).min())))


def _with_groups(raw: RawGraphs, targets: dict[str, Any], groups: Sequence[Any]) -> RawGraphs:
    return replace(raw, targets=targets, columns={**raw.columns, "groups": groups})
