"""Cross-validation of estimators: the members of all folds train as one program."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from torch import nn

from lgan.estimator.estimators import LGANClassifier, LGANRegressor
from lgan.experiment import factory, with_data_options
from lgan.graph import GraphUnion
from lgan.train import OUTSIDE, CVResult, train_ensembles
from lgan.train import cross_validate as cross_validate_networks

__all__ = ["cross_validate"]

Estimator = LGANClassifier | LGANRegressor


@overload
def cross_validate(
    model: Callable[[], nn.Module], data: GraphUnion, **options: Any
) -> CVResult: ...


@overload
def cross_validate(model: Estimator, data: Any, y: Any, **options: Any) -> NDArray[np.float64]: ...


def cross_validate(
    model: Callable[[], nn.Module] | Estimator, data: Any, y: Any = None, **options: Any
) -> CVResult | NDArray[np.float64]:
    """Test a network, or an estimator, on graphs that it was not trained on, all folds at once.

    ``cross_validate(factory, union, folds=..., config=...)`` is
    :func:`lgan.train.cross_validate`.

    ``cross_validate(estimator, X, y, cv=..., groups=..., scoring=...)`` gives the test scores of
    ``sklearn.model_selection.cross_val_score`` ``[folds]``: the members of all folds train side by
    side. Vocabularies of features come from all of ``X``; targets are scaled by each training part.
    Figures agree within noise, since batches are drawn from all of ``X``.

    Args:
        model: Builds a network, or an estimator of this library.
        data: The data set, or graphs.
        y: Targets of the graphs, for an estimator.
        options: ``cv``, ``groups``, ``scoring``, or those of :func:`lgan.train.cross_validate`.

    Example:
        >>> import lgan
        >>> smiles = ["CCO", "CCN", "CCC", "CCS", "CCCl", "CCBr"] * 5
        >>> model = lgan.LGANRegressor(members=2, epochs=2, random_state=0)
        >>> lgan.cross_validate(model, smiles, [len(s) for s in smiles], cv=3).shape
        (3,)
    """
    if not isinstance(model, Estimator):
        if hasattr(model, "get_params"):
            raise TypeError(
                "`model` must be LGANClassifier, LGANRegressor or what builds a network, got "
                f"{type(model).__name__}. Use `sklearn.model_selection.cross_val_score` for it."
            )
        return cross_validate_networks(model, data, **options)
    return _scores(model, data, y, **options)


def _scores(
    estimator: Estimator, X: Any, y: Any, *, cv: Any = None, groups: Any = None, scoring: Any = None
) -> NDArray[np.float64]:
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    splits = list(splitter.split(X, y, groups))
    score = check_scoring(estimator, scoring)
    fitted = fit_side_by_side(estimator, X, y, [train for train, _ in splits])
    parts = [(_safe_indexing(X, test), _safe_indexing(y, test)) for _, test in splits]
    return np.array([score(one, *part) for one, part in zip(fitted, parts, strict=True)])


def fit_side_by_side(
    estimator: Estimator, X: Any, y: Any, parts: list[NDArray[np.int64]]
) -> list[Estimator]:
    """Copies of an estimator, each fitted on some of the rows, all in one program."""
    models: list[Estimator] = [clone(estimator) for _ in parts]
    for model in models:
        columns, kind = model._targets(X, y)
    settings, source = models[0]._read(X, columns, kind)
    union, seed = source.union, settings.training.seed
    folds = []
    for part in parts:
        graphs = torch.isin(source.raw.rows, torch.as_tensor(part)).nonzero().flatten()
        fold = torch.full((union.num_graphs,), OUTSIDE)
        fold[graphs] = models[0]._folds(union, seed, graphs=graphs)
        folds.append(fold)
    mean = round(sum(len(part) for part in parts) / len(parts))
    settings = replace(settings, training=settings.training.sized(mean))
    settings = with_data_options(settings, union)
    with models[0]._threads():
        trained = train_ensembles(
            factory(settings, union), union, folds, config=settings.training,
            **models[0]._training(settings, source),
        )  # fmt: skip
    for model, own in zip(models, trained, strict=True):
        model._trained(settings, source, own)
    return models
