"""Cross-validation of estimators: the members of all folds train as one program."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from lgan.estimator.estimators import LGANClassifier, LGANRegressor
from lgan.estimator.folds import member_folds
from lgan.estimator.rows import as_rows
from lgan.experiment import factory, with_data_options
from lgan.train import OUTSIDE, train_ensembles

Estimator = LGANClassifier | LGANRegressor


def cross_val_scores(
    estimator: Estimator, X: Any, y: Any, *, cv: Any = None, groups: Any = None, scoring: Any = None
) -> NDArray[np.float64]:
    """The test score of every fold, see :func:`lgan.cross_validate`."""
    if not isinstance(estimator, Estimator):
        raise TypeError(
            "The estimator must be an LGANClassifier or LGANRegressor, got "
            f"{type(estimator).__name__}. Use `sklearn.model_selection.cross_val_score` for it."
        )
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise TypeError(
            f"`scoring` must be one name or one scorer, got {scoring!r}. Use "
            "`sklearn.model_selection.cross_validate` for several."
        )
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    every = np.arange(len(as_rows(X)))  # a part may be a mask
    splits = [[_once(every[part]) for part in parts] for parts in splitter.split(X, y, groups)]
    if not splits:
        raise ValueError("`cv` must give a split or more, got none.")
    score = check_scoring(estimator, scoring)
    fitted = fit_side_by_side(estimator, X, y, [train for train, _ in splits])
    parts = [(_safe_indexing(X, test), _safe_indexing(y, test)) for _, test in splits]
    return np.array([score(one, *part) for one, part in zip(fitted, parts, strict=True)])


def _once(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(np.unique(rows)) < len(rows):
        raise ValueError(
            "A part of `cv` must hold every row once at most, got one several times. Use "
            "`sklearn.model_selection.cross_val_score`, which trains folds one by one."
        )
    return rows


def fit_side_by_side(
    estimator: Estimator, X: Any, y: Any, parts: list[NDArray[np.int64]]
) -> list[Estimator]:
    """Copies of an estimator, each fitted on some of the rows, all in one program."""
    models: list[Estimator] = [clone(estimator) for _ in parts]
    with models[0]._threads():
        mean = round(sum(len(part) for part in parts) / len(parts))
        settings, source = models[0]._read(X, models[0]._targets(X, y), mean)
        union, seed = source.whole, settings.training.seed
        folds = []
        for part in parts:
            graphs = torch.isin(source.raw.rows, torch.as_tensor(part)).nonzero().flatten()
            fold = torch.full((union.num_graphs,), OUTSIDE)
            fold[graphs] = member_folds(estimator.members, union, seed, graphs)
            folds.append(fold)
        settings = with_data_options(settings, union, graphs=mean)
        trained = train_ensembles(
            factory(settings, union), union, folds, config=settings.training,
            **models[0]._training(settings, source),
        )  # fmt: skip
    for model, own in zip(models, trained, strict=True):
        model._trained(settings, source, own)
    return models
