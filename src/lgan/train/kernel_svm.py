"""Cross-validation of graph kernels: a support vector machine on given Gram matrices."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.data.splits import check_folds, stratified_folds
from lgan.train.environment import environment, peak_memory
from lgan.train.result import CVResult

# The grid of Morris et al., NeurIPS 2020.
COSTS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
# Folds within a training part; fewer where a class has fewer graphs.
INNER_FOLDS = 5
# Steps of libsvm on two classes. Equal graphs of different classes and a large cost take millions
# of steps that change nothing a validation would notice; most fits end within a few thousand.
MAX_STEPS = 100_000


def cross_validate_kernel(
    matrices: NDArray[np.float64],
    y: Tensor,
    *,
    folds: Tensor,
    candidates: Sequence[Mapping[str, Any]],
    seed: int = 0,
    dataset: str = "",
    model: dict[str, Any] | None = None,
    gram_seconds: float | None = None,
    output: Path | str | None = None,
    progress: Callable[[float], None] | None = None,
) -> CVResult:
    """Fit and test a support vector machine for every fold, with everything else chosen inside.

    The Gram matrix and the cost ``C`` of a fold are those with the most right answers in a
    stratified cross-validation of its *training part*; among equals the first matrix, then the
    smallest cost. The machine is then fitted on the whole training part and meets the test fold
    once. So there is one curve of one epoch, and the rules ``gin``, ``fold-max`` and ``fair``
    read the same number: ``inner_validation`` holds the right answers, within the training part,
    that decided.

    Morris et al. choose on a single tenth of the training part, leave it out of the last fit,
    and repeat everything ten times; on small sets the choice on a tenth is little but chance.

    Args:
        matrices: Gram matrices to choose from ``[M, G, G]``.
        y: The class of every graph ``[G]``.
        folds: The test fold of every graph ``[G]`` (-1: a graph in no test fold).
        candidates: The settings behind each matrix, for the record.
        seed: Seed of the inner folds.
        dataset: Name of the data set.
        model: Name and options of the kernel.
        gram_seconds: What the matrices took, for the record.
        output: Folder for the record ``result.json``.
        progress: Called with the fraction of the folds done.
    """
    folds, y = folds.cpu(), y.cpu()
    _check(matrices, y, candidates)
    check_folds(folds, y)
    number = int(folds.max()) + 1
    begin = time.perf_counter()

    def fit(k: int) -> _Fold:
        return _fit_fold(matrices, y, folds == k, seed + k)

    fitted: list[_Fold] = []
    # libsvm releases the interpreter, so threads fit folds at the same time.
    with warnings.catch_warnings(), ThreadPoolExecutor(torch.get_num_threads()) as pool:
        warnings.filterwarnings("ignore", "Solver terminated early", category=UserWarning)
        for k, one in enumerate(pool.map(fit, range(number))):
            fitted.append(one)
            if progress is not None:
                progress((k + 1) / number)
    seconds = time.perf_counter() - begin

    sizes = [int((folds == k).sum()) for k in range(number)]
    inner_sizes = [int((folds != k).sum()) for k in range(number)]
    shares = [[one.right / size] for one, size in zip(fitted, sizes, strict=True)]
    test = torch.tensor(shares, dtype=torch.float64)
    inner = [[one.inner_right / size] for one, size in zip(fitted, inner_sizes, strict=True)]
    result = CVResult(
        dataset=dataset,
        model=model or {},
        config={"costs": list(COSTS), "inner_folds": INNER_FOLDS, "seed": seed},
        fold_sizes=sizes,
        test=test,
        loss=torch.full((number, 1), torch.nan),
        inner_sizes=inner_sizes,
        inner_test=test.clone(),
        inner_validation=torch.tensor(inner, dtype=torch.float64),
        seconds=torch.tensor([seconds]),
        info={
            "folds": folds.tolist(),
            "graphs": len(y),
            "candidates": [dict(candidate) for candidate in candidates],
            "chosen": [{**candidates[one.matrix], "C": one.cost} for one in fitted],
            "chosen_by": "stratified cross-validation of the training part",
            "gram_seconds": None if gram_seconds is None else round(gram_seconds, 3),
            "svm_seconds": round(seconds, 3),
            "environment": environment(torch.device("cpu")),
            "peak_memory": peak_memory(torch.device("cpu")),
        },
    )
    if output is not None:
        result.save(Path(output) / "result.json")
    return result


@dataclass(frozen=True)
class _Fold:
    """What was chosen for a fold, and how it fared."""

    matrix: int
    cost: float
    inner_right: int
    right: int


def _fit_fold(matrices: NDArray[np.float64], y: Tensor, held_out: Tensor, seed: int) -> _Fold:
    label = y.numpy()
    train, test = (~held_out).nonzero()[:, 0].numpy(), held_out.nonzero()[:, 0].numpy()
    smallest = int(np.unique(label[train], return_counts=True)[1].min())
    if smallest < 2:
        raise ValueError(
            "Every class must have at least two graphs in every training part, so that `C` can be "
            "chosen there, got one. Use stratified folds or add graphs."
        )
    inner = stratified_folds(y[train], min(INNER_FOLDS, smallest), seed).numpy()
    right = np.zeros((len(matrices), len(COSTS)), np.int64)
    for k in range(int(inner.max()) + 1):
        fit_on, judge_on = train[inner != k], train[inner == k]
        for m, matrix in enumerate(matrices):
            right[m] += _right_answers(matrix, label, fit_on, judge_on, COSTS)
    matrix, place = divmod(int(right.argmax()), len(COSTS))
    answers = _right_answers(matrices[matrix], label, train, test, [COSTS[place]])
    return _Fold(matrix, COSTS[place], int(right[matrix, place]), int(answers[0]))


def _right_answers(
    gram: NDArray[np.float64],
    label: NDArray[np.int64],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    costs: Sequence[float],
) -> NDArray[np.int64]:
    """How many of the test graphs a machine with each of the costs, in rising order, gets right."""
    from sklearn.svm import SVC

    inside, across = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
    right: list[int] = []
    for cost in costs:
        machine = SVC(C=cost, kernel="precomputed", max_iter=MAX_STEPS).fit(inside, label[train])
        right.append(int((machine.predict(across) == label[test]).sum()))
        if np.abs(machine.dual_coef_).max() < cost:
            break  # no coefficient at the bound, so that a higher bound changes nothing
    return np.array(right + right[-1:] * (len(costs) - len(right)))


def _check(
    matrices: NDArray[np.float64], y: Tensor, candidates: Sequence[Mapping[str, Any]]
) -> None:
    want = (len(candidates), len(y), len(y))
    if matrices.shape != want or not candidates:
        raise ValueError(
            f"`matrices` must have shape {list(want)}, one matrix for each of the candidates (one "
            f"at least) over all graphs, got {list(matrices.shape)}. Stack them."
        )
    if not np.isfinite(matrices).all():
        raise ValueError("`matrices` must be finite, got NaN or infinity. Check the kernel.")
