import json

import numpy as np
import pytest
import torch
from sklearn.svm import SVC

from lgan.data.splits import stratified_folds
from lgan.train import CVResult
from lgan.train.kernel_svm import COSTS, INNER_FOLDS, cross_validate_kernel


def _problem(seed: int = 0, graphs: int = 60) -> tuple[np.ndarray, torch.Tensor, torch.Tensor]:
    """Two matrices, noise and then a noisy sight of the classes; the classes; three folds."""

    def gaussian(x: np.ndarray) -> np.ndarray:
        return np.exp(-((x[:, None] - x[None]) ** 2).sum(-1))

    random = np.random.default_rng(seed)
    y = torch.arange(graphs) % 3
    seen = np.eye(3)[y.numpy()] + 0.4 * random.normal(size=(graphs, 3))
    noise = random.normal(size=(graphs, 3))
    matrices = np.stack([gaussian(noise), gaussian(seen)])
    return matrices, y, stratified_folds(y, 3, seed)


CANDIDATES = ({"rounds": 0}, {"rounds": 1})


def test_the_matrix_that_shows_the_classes_is_chosen_and_all_rules_agree():
    matrices, y, folds = _problem()
    result = cross_validate_kernel(matrices, y, folds=folds, candidates=CANDIDATES)
    assert [choice["rounds"] for choice in result.info["chosen"]] == [1, 1, 1]
    means = {rule: result.selected(rule).mean for rule in result.rules}
    assert set(means) == {"gin", "fold-max", "fair"}
    assert len(set(means.values())) == 1
    assert means["fair"] > 0.8
    assert result.fold_sizes == [20, 20, 20]
    assert result.inner_sizes == [40, 40, 40]


def test_the_test_fold_decides_nothing():
    matrices, y, folds = _problem()
    before = cross_validate_kernel(matrices, y, folds=folds, candidates=CANDIDATES)
    wrong = y.clone()
    wrong[folds == 0] = (wrong[folds == 0] + 1) % 3
    after = cross_validate_kernel(matrices, wrong, folds=folds, candidates=CANDIDATES)
    assert after.info["chosen"][0] == before.info["chosen"][0]
    assert after.inner_validation[0].tolist() == before.inner_validation[0].tolist()
    assert float(after.test[0]) < float(before.test[0])


def test_agrees_with_a_plain_search():
    matrices, y, folds = _problem(seed=3)
    result = cross_validate_kernel(matrices, y, folds=folds, candidates=CANDIDATES, seed=7)

    def right(matrix: np.ndarray, cost: float, train: np.ndarray, test: np.ndarray) -> int:
        machine = SVC(C=cost, kernel="precomputed")
        machine.fit(matrix[train][:, train], label[train])
        return int((machine.predict(matrix[test][:, train]) == label[test]).sum())

    label = y.numpy()
    for k in range(3):
        train, test = np.flatnonzero(folds != k), np.flatnonzero(folds == k)
        inner = stratified_folds(y[train], INNER_FOLDS, 7 + k).numpy()
        parts = [(train[inner != i], train[inner == i]) for i in range(INNER_FOLDS)]
        score = {
            (m, cost): sum(right(matrices[m], cost, *part) for part in parts)
            for m in range(2)
            for cost in COSTS
        }
        (m, cost) = max(score, key=score.__getitem__)  # the first among equals
        assert result.info["chosen"][k] == {"rounds": m, "C": cost}
        assert result.inner_validation[k].tolist() == [score[m, cost] / len(train)]
        assert result.test[k].tolist() == [right(matrices[m], cost, train, test) / len(test)]


def test_graphs_in_no_test_fold_are_trained_on():
    matrices, y, folds = _problem()
    folds[:6] = -1
    result = cross_validate_kernel(matrices, y, folds=folds, candidates=CANDIDATES)
    assert sum(result.fold_sizes) == 54
    assert result.inner_sizes == [60 - size for size in result.fold_sizes]


def test_the_record_reads_back_and_holds_what_was_chosen(tmp_path):
    matrices, y, folds = _problem()
    seen: list[float] = []
    result = cross_validate_kernel(
        matrices, y, folds=folds, candidates=CANDIDATES, dataset="toy", model={"name": "wl"},
        gram_seconds=1.5, output=tmp_path, progress=seen.append,
    )  # fmt: skip
    plain = json.loads((tmp_path / "result.json").read_text())
    assert plain["loss"] == [[None]] * 3
    assert plain["dataset"] == "toy"
    assert plain["info"]["gram_seconds"] == 1.5
    assert plain["info"]["svm_seconds"] > 0
    assert len(plain["info"]["chosen"]) == 3
    assert CVResult.load(tmp_path / "result.json").selected("fair") == result.selected("fair")
    assert seen == pytest.approx([1 / 3, 2 / 3, 1])


def test_a_class_of_few_graphs_makes_fewer_inner_folds():
    matrices, y, folds = _problem(graphs=12)
    y = torch.where(torch.arange(12) < 3, 1, 0)
    folds = torch.arange(12) % 3
    result = cross_validate_kernel(matrices, y, folds=folds, candidates=CANDIDATES)
    assert result.test.shape == (3, 1)
    y[:2] = 0
    with pytest.raises(ValueError, match="at least two"):
        cross_validate_kernel(matrices, y, folds=folds, candidates=CANDIDATES)


def test_another_number_of_candidates_is_refused():
    matrices, y, folds = _problem()
    message = r"`matrices` must have shape \[1, 60, 60\].*got \[2, 60, 60\]"
    with pytest.raises(ValueError, match=message):
        cross_validate_kernel(matrices, y, folds=folds, candidates=({},))


def test_matrices_that_are_not_finite_are_refused():
    matrices, y, folds = _problem()
    matrices[1, 3, 4] = np.nan
    with pytest.raises(ValueError, match="`matrices` must be finite"):
        cross_validate_kernel(matrices, y, folds=folds, candidates=CANDIDATES)
