"""`lgan.cross_validate`: of networks, and of estimators, which alone need scikit-learn."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray
from torch import nn

from lgan.graph import GraphUnion
from lgan.train import CVResult
from lgan.train import cross_validate as cross_validate_networks

if TYPE_CHECKING:
    from lgan.estimator import LGANClassifier, LGANRegressor


@overload
def cross_validate(
    what: Callable[[], nn.Module], /, union: GraphUnion, **options: Any
) -> CVResult: ...


@overload
def cross_validate(
    what: "LGANClassifier | LGANRegressor", X: Any, y: Any, /, **options: Any
) -> NDArray[np.float64]: ...


def cross_validate(what: Any, /, *data: Any, **options: Any) -> Any:
    """Test a network, or an estimator, on graphs that it was not trained on, all folds at once.

    ``cross_validate(factory, union, folds=..., config=...)`` is :func:`lgan.train.cross_validate`.

    ``cross_validate(estimator, X, y, cv=..., groups=..., scoring=...)`` gives the test scores of
    ``sklearn.model_selection.cross_val_score`` ``[folds]``: the members of all folds train side by
    side. Vocabularies of features come from all of ``X``; targets are scaled by each training part.
    Figures agree within noise, since batches are drawn from all of ``X``.

    Args:
        what: Builds a network, or an estimator of this library.
        data: The data set, or graphs and their targets.
        options: ``cv``, ``groups``, ``scoring``, or those of :func:`lgan.train.cross_validate`.

    Example:
        >>> import lgan
        >>> smiles = ["CCO", "CCN", "CCC", "CCS", "CCCl", "CCBr"] * 5
        >>> model = lgan.LGANRegressor(members=2, epochs=2, random_state=0)
        >>> lgan.cross_validate(model, smiles, [len(s) for s in smiles], cv=3).shape
        (3,)
    """
    if not hasattr(what, "get_params"):
        return cross_validate_networks(what, *data, **options)
    from lgan.estimator.side_by_side import cross_val_scores

    return cross_val_scores(what, *data, **options)
