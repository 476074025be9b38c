"""`LGANClassifier` and `LGANRegressor`: members side by side behind `fit` and `predict`."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lgan import ops
from lgan.data import load_raw
from lgan.data.graph_features import feature_list, source_columns
from lgan.data.sources import is_one_graph
from lgan.estimator.folds import member_folds
from lgan.estimator.rows import (
    as_rows,
    check_all_read,
    check_classes,
    distinct_labels,
    graph_weights,
    one_each,
    row_values,
    table_columns,
    target_columns,
    texts_read_as_missing,
)
from lgan.experiment import (
    ReadSource,
    Settings,
    as_the_network_needs,
    factory,
    settings_for,
    stored_model,
    with_data_options,
)
from lgan.explain.attribution import Attribution
from lgan.predictor import Predictor
from lgan.task.cells import TargetColumn, spelled
from lgan.train import OUTSIDE, TrainedEnsemble, train_ensemble
from lgan.train.environment import choose_device


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What both estimators share.

    Args:
        members: Models side by side that predict as one, each with another fold held out.
        model: A network of the zoo.
        recipe: How it is trained, see :data:`lgan.experiment.RECIPES`.
        epochs: Epochs at most, see `TrainConfig.patience`; as the recipe says unless given.
        metric: What the epoch is chosen by; that of the task unless given.
        graph_features: Features of whole graphs behind the read-out, with commas between them:
            ``morgan``, ``rdkit2d``, ``patterns``, ``shape``, or columns of the tables that are
            passed as ``X``; ``"none"`` for none. By the recipe ``default`` the first two where
            ``X`` holds molecules, the others where it holds graphs with labels, fewer than 20,000.
        options: Further settings by name, see :func:`lgan.experiment.settings_for`.
        random_state: Seed of folds, weights and batches.
        device: Where to train and predict: ``"auto"``, ``"cpu"`` or ``"cuda"``.
        n_jobs: Threads while it fits and predicts; -1 for all cores, as many as torch has set
            unless given. They change no result.
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
        graph_features: str | Sequence[str] | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        device: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.members = members
        self.model = model
        self.recipe = recipe
        self.epochs = epochs
        self.metric = metric
        self.graph_features = graph_features
        self.options = options
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Train on graphs and their classes or numbers.

        Args:
            X: Graphs.
            y: Classes ``[n]``, or several columns of the same two classes; numbers ``[n]`` or
                ``[n, T]``. NaN or ``None`` where missing.
            sample_weight: What the loss of every graph is multiplied by ``[n]``, relative to
                their mean; 0 leaves it out.
            groups: Graphs of one group are held out together, for example
                :func:`lgan.scaffolds`.
        """
        with self._threads():
            settings, source = self._read(X, self._targets(X, y))
            together = row_values(groups, "groups", source.raw, X)
            weight = graph_weights(sample_weight, source.raw, X)
            fold = torch.full((source.whole.num_graphs,), OUTSIDE)
            read = torch.arange(len(fold)) if weight is None else weight.nonzero().flatten()
            if together is not None:
                together = [together[graph] for graph in read.tolist()]
            seed = settings.training.seed
            fold[read] = member_folds(self.members, source.whole, seed, read, together)
            settings = with_data_options(settings, source.whole)
            trained = train_ensemble(
                factory(settings, source.whole),
                source.whole,
                folds=fold,
                config=settings.training,
                graph_weight=weight,
                **self._training(settings, source),
            )
            return self._trained(settings, source, trained)

    def _targets(self, X: Any, y: Any) -> dict[str, list[Any]]:
        """The targets by name."""
        columns = target_columns(X, y)
        self._kind(columns)  # refused before the graphs are read
        return columns

    def _kind(self, columns: Mapping[str, Sequence[Any]]) -> str:
        """The kind of task of targets."""
        raise NotImplementedError

    def _training(self, settings: Settings, source: ReadSource) -> dict[str, Any]:
        """How the members train, beyond their settings."""
        own = {"members": self.members, "metric": self.metric, "device": self._place()}
        return own | as_the_network_needs(settings, source.whole)

    def _read(
        self, graphs: Any, columns: dict[str, list[Any]], trained: int | None = None
    ) -> tuple[Settings, ReadSource]:
        """The settings, and the graphs that can be read and have a target, so many of which are
        trained on.
        """
        settings = self._settings()
        raw = load_raw(as_rows(graphs), targets=columns, **self._told(graphs))
        raw.warn_unread("are left out", rows="graphs", stacklevel=3)
        kind = self._kind(raw.targets if raw.num_graphs else columns)
        return settings, ReadSource.of_graphs(settings, raw, kind, self._place(), trained=trained)

    def _trained(self, settings: Settings, source: ReadSource, trained: TrainedEnsemble) -> Self:
        stored = stored_model(settings, source, trained)
        self.predictor_ = Predictor.of(stored).to(self._place())
        self.out_of_fold_score_ = trained.score
        return self

    def explain(self, X: Any, **asked: Any) -> Attribution | list[Attribution | None] | None:
        """Which edges, nodes and fragments speak for a prediction; see
        :meth:`lgan.Predictor.explain`.

        Args:
            X: One graph, or a list of them.
            asked: ``method``, ``target``, ``against`` and further options.
        """
        alone = isinstance(X, str) or is_one_graph(X) or not hasattr(X, "__len__")
        for name in {"target", "against"} & set(asked):
            asked[name] = self._output(asked[name])
        with self._threads():
            found = self._fitted().explain(
                as_rows([X] if alone else X), reading=self._told(X), **asked
            )
        return found[0] if alone else found

    def _output(self, target: Any) -> Any:
        """What is explained, as the model calls it."""
        return target

    def _truth(self, X: Any, y: Any) -> dict[str, list[Any]]:
        """The targets to score by, as many as the model has, in its order where they are named."""
        columns, targets = target_columns(X, y, fewest=1), self._fitted().task.targets
        if len(columns) != len(targets):
            raise ValueError(
                f"`y` must have one column for each of the {len(targets)} targets "
                f"{', '.join(targets)}, got {len(columns)}."
            )
        return {name: columns[name] for name in targets} if {*columns} == {*targets} else columns

    def save(self, path: Path | str) -> None:
        """Write the model to a file, which :func:`lgan.load_model` and ``lgan predict`` read."""
        self._fitted().checkpoint.save(path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        tags.target_tags.multi_output = True
        return tags

    def _fitted(self) -> Predictor:
        check_is_fitted(self, "predictor_")
        return self.predictor_

    def _threads(self) -> AbstractContextManager[None]:
        return ops.at_most(None if self.n_jobs is None else effective_n_jobs(self.n_jobs))

    def _settings(self) -> Settings:
        if not isinstance(self.members, int | np.integer):
            raise TypeError(f"`members` must be a whole number, got {self.members!r}.")
        if not isinstance(self.options, Mapping | None):
            raise TypeError(f"`options` must be a mapping by name, got {self.options!r}.")
        own: dict[str, Any] = {
            "recipe": self.recipe,
            "epochs": self.epochs,
            "seed": _seed(self.random_state),
            "graph_features": self.graph_features,
        }
        if twice := sorted({*own} & {*(self.options or {})}):
            raise ValueError(
                f"`options` must hold what is no argument of its own, got {twice[0]!r}. Pass "
                f"`{'random_state' if twice[0] == 'seed' else twice[0]}=...` instead."
            )
        return settings_for(self.model, "", **own, **(self.options or {}))

    def _told(self, X: Any) -> dict[str, Any]:
        """The columns of a table that features of whole graphs come from, to read with it."""
        names = source_columns(feature_list(self.graph_features))
        return {"columns": table_columns(X, list(names))} if names else {}

    def _place(self) -> torch.device:
        return choose_device(str(self.device))  # which may be a `torch.device`


class LGANClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """Classes of graphs and molecules, by members side by side.

    ``X`` is a list of SMILES, RDKit molecules, PyG ``Data`` or networkx graphs, or a table with a
    column of SMILES; ``y`` are labels of any kind, or several columns of two classes each, with
    NaN where missing. ``classes_`` are the labels in their order ``[C]``; of several columns
    ``[T, 2]``, the same in every row.

    Example:
        >>> from lgan import LGANClassifier
        >>> smiles = ["CCO", "CCN", "CCC", "CCS", "CCCl", "CCBr"] * 5
        >>> labels = ["polar", "polar", "apolar", "apolar", "apolar", "apolar"] * 5
        >>> model = LGANClassifier(members=2, epochs=2, random_state=0).fit(smiles, labels)
        >>> model.predict_proba(["CCO"]).shape, model.classes_.tolist()
        ((1, 2), ['apolar', 'polar'])
    """

    classes_: NDArray[Any]

    def _targets(self, X: Any, y: Any) -> dict[str, list[Any]]:
        if texts := texts_read_as_missing(target_columns(X, y)):
            warnings.warn(
                f"`y` holds {', '.join(map(repr, texts))}, which is read as a missing label and no "
                "class. Spell it in another way if it is one.",
                stacklevel=3,
            )
        return super()._targets(X, y)

    def _kind(self, columns: Mapping[str, Sequence[Any]]) -> str:
        check_classes(columns)
        two = len(distinct_labels(columns)) == 2
        return "multilabel" if len(columns) > 1 else "binary" if two else "multiclass"

    def _trained(self, settings: Settings, source: ReadSource, trained: TrainedEnsemble) -> Self:
        super()._trained(settings, source, trained)
        labels, targets = distinct_labels(source.raw.targets), self.predictor_.task.targets
        # One row a target tells scorers and `cross_val_predict` that there are several.
        self.classes_ = labels if len(targets) == 1 else np.tile(labels, (len(targets), 1))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes ``[n, C]``, in the order of ``classes_``; of the second
        class of every target ``[n, T]`` where there are several. NaN for what cannot be read.
        """
        predictor = self._fitted()
        with self._threads():
            answers, order = predictor.predict_proba(as_rows(X), **self._told(X)), self._order()
        if predictor.task.has_classes:
            return answers[:, order]
        return answers if order == [0, 1] else 1 - answers

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The natural logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):  # of 0
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of every graph, of every target where there are several."""
        answers = self.predict_proba(X)
        check_all_read(answers, "`predict_proba`")
        one = self.predictor_.task.has_classes
        places = answers.argmax(1) if one else (answers > 0.5).astype(int)
        return np.asarray(self._labels()[places])

    def predict_set(self, X: Any, alpha: float = 0.1) -> NDArray[np.bool_]:
        """The classes that may be true ``[n, C]``, ``[n, T, 2]`` for several targets, so that a
        share ``alpha`` of new graphs like those of the training have another.
        """
        with self._threads():
            return self._fitted().predict_set(as_rows(X), alpha, **self._told(X))[
                ..., self._order()
            ]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of classes that are right, of those that are not missing in ``y``."""
        said, there = self.predict(X).reshape(len(as_rows(X)), -1), []
        for column, values in enumerate(self._truth(X, y).values()):
            there += [(row, column, v) for row, v in enumerate(values) if spelled(v) is not None]
        right = [spelled(said[row, column]) == spelled(value) for row, column, value in there]
        given = None if sample_weight is None else one_each(sample_weight, "sample_weight", X)
        weight = None if given is None else [given[row] for row, _, _ in there]
        if not right:
            raise ValueError("`y` must have a class that is not missing, got none to score by.")
        return float(np.average(right, weights=weight))

    def _output(self, target: Any) -> Any:
        own = self._fitted().task.has_classes and target in self._labels().tolist()
        return str(spelled(target)) if own else target

    def _labels(self) -> NDArray[Any]:
        """The labels, which all targets share where there are several."""
        return self.classes_ if self.classes_.ndim == 1 else self.classes_[0]

    def _order(self) -> list[int]:
        """Where each of the labels is among the outputs of the model."""
        named = self.predictor_.task.classes
        return [named.index(str(spelled(label))) for label in self._labels().tolist()]


class LGANRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """Numbers of graphs and molecules, by members side by side.

    ``X`` is as for :class:`LGANClassifier`; ``y`` are numbers ``[n]`` or ``[n, T]``, NaN where
    missing.
    """

    def _kind(self, columns: Mapping[str, Sequence[Any]]) -> str:
        return "regression"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The numbers of every graph, ``[n]`` or ``[n, T]``; NaN for what cannot be read."""
        with self._threads():
            return self._fitted().predict(as_rows(X), **self._told(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², the mean over targets, of the values that are not missing in ``y``."""
        said, scores = self.predict(X).reshape(len(as_rows(X)), -1), []
        check_all_read(said, "`predict`")
        given = None if sample_weight is None else one_each(sample_weight, "sample_weight", X)
        for column, (name, values) in enumerate(self._truth(X, y).items()):
            read = TargetColumn.read(name, values)
            if (text := read.first_text()) is not None:
                raise ValueError(f"`y` must hold numbers, got {text!r} in {name!r}.")
            there = ~np.isnan(read.numbers)
            weight = None if given is None else np.asarray(given)[there]
            if there.any():
                score = r2_score(read.numbers[there], said[there, column], sample_weight=weight)
                scores.append(score)
        if not scores:
            raise ValueError("`y` must have a number that is not missing, got none to score by.")
        return float(np.mean(scores))

    def predict_std(self, X: Any) -> NDArray[np.float64]:
        """How far the members are apart, in the units of the target."""
        with self._threads():
            spread = self._fitted().predict_std(as_rows(X), **self._told(X))
        return spread[:, 0] if spread.shape[1] == 1 else spread

    def predict_interval(self, X: Any, alpha: float = 0.1) -> NDArray[np.float64]:
        """Intervals ``[n, 2]`` or ``[n, T, 2]`` that miss the truth of a share ``alpha`` of new
        graphs like those of the training.
        """
        with self._threads():
            return self._fitted().predict_interval(as_rows(X), alpha, **self._told(X))


def _seed(random_state: Any) -> int:
    """A whole number as it is, and one drawn from a generator of numpy."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(2**31))
