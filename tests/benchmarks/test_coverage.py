import sys

import numpy as np
import pytest

from benchmarks import coverage as module
from benchmarks.coverage import Covered, covered, records, split_radius
from paper.coverage import coverage_grid
from small_estimators import classifier, regressor

MOLECULES = [ring + tail for ring in ("c1ccccc1", "C1CCCCC1", "C1CC1", "c1ccoc1", "CC")
             for tail in ("C", "CO", "CN", "CF", "CCl", "CBr", "CCO", "CCN")]  # fmt: skip


def test_the_radius_covers_new_draws():
    rng = np.random.default_rng(0)
    hits = [rng.random() <= split_radius(rng.random(19), 0.1) for _ in range(4000)]
    assert 0.88 < np.mean(hits) < 0.92


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_both_methods_are_measured(kind):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    model = classifier(members=5) if kind == "classes" else regressor(members=5)
    y = np.array([len(s) for s in MOLECULES], dtype=float)
    y = (y > np.median(y)).astype(int) if kind == "classes" else y
    found = covered(MOLECULES, y, model, [1, 3], alpha=0.3, seed=0)
    for both in found:
        assert list(both) == ["CV+", "split conformal"]
        for share, size in both.values():
            assert share * 8 == round(share * 8)  # of eight test molecules
            assert 0 < size < np.inf
    [alone] = covered(MOLECULES, y, model, [3], alpha=0.3, seed=0)
    np.testing.assert_allclose(list(alone.values()), list(found[1].values()), rtol=1e-4)


def test_a_split_is_kept_and_not_measured_again(monkeypatch, tmp_path):
    table, output = tmp_path / "made.csv", tmp_path / "folder" / "splits.jsonl"
    table.write_text("smiles,y\nC,1.5\nCC,2.5\nCCC,3.5\n")
    asked = []

    def measure(graphs, y, estimator, splits, *, alpha, seed):
        asked.extend(splits)
        return [
            {"CV+": Covered(0.9, 1.0 + split), "split conformal": Covered(0.8, 2.0)}
            for split in splits
        ]

    monkeypatch.setattr(module, "covered", measure)
    for splits in ("1", "2"):
        words = ["coverage", str(table), "--splits", splits, "--output", str(output)]
        monkeypatch.setattr(sys, "argv", words)
        module.main()
    assert asked == [0, 1]
    assert [(row["table"], row["split"]) for row in records(output)] == [("made", 0), ("made", 1)]
    [row] = coverage_grid(records(output)).rows
    assert row == ["made", "intervals", "2", "90.0 ± 0.0", "1.500", "80.0 ± 0.0", "2.000"]
