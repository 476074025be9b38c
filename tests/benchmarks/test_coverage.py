import numpy as np
import pytest

from benchmarks.coverage import Coverage, coverage, split_radius
from small_estimators import classifier, regressor

MOLECULES = [ring + tail for ring in ("c1ccccc1", "C1CCCCC1", "C1CC1", "c1ccoc1", "CC")
             for tail in ("C", "CO", "CN", "CF", "CCl", "CBr", "CCO", "CCN")]  # fmt: skip


def test_the_radius_covers_new_draws():
    rng = np.random.default_rng(0)
    hits = [rng.random() <= split_radius(rng.random(19), 0.1) for _ in range(4000)]
    assert 0.88 < np.mean(hits) < 0.92


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_both_methods_are_measured_on_every_split(kind):
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    model = classifier(members=5) if kind == "classes" else regressor(members=5)
    y = np.array([len(s) for s in MOLECULES], dtype=float)
    y = (y > np.median(y)).astype(int) if kind == "classes" else y
    plus, split = coverage("made", MOLECULES, y, model, splits=2, alpha=0.3)
    assert (plus.method, split.method) == ("CV+", "split conformal")
    for row in (plus, split):
        assert len(row.covered) == len(row.size) == 2
        assert all(0 <= share <= 1 for share in row.covered)
        assert all(0 < size < np.inf for size in row.size)
        assert str(row).startswith("made")
    # Coverage is a share of eight test molecules.
    assert all(share * 8 == round(share * 8) for share in (*plus.covered, *split.covered))


def test_a_row_says_means_and_deviations():
    row = Coverage("ESOL", "CV+", [0.8, 1.0], [2.0, 4.0])
    assert "covered 0.900 ± 0.100   size 3.000 ± 1.000" in str(row)
