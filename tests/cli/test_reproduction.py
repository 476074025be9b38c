"""One command gives the number of the table."""

from pathlib import Path

import pytest

from paper.cells import chosen_group, measure
from paper.records import read_runs

RECORDS = Path(__file__).resolve().parents[2] / "results" / "cv"


@pytest.mark.slow
@pytest.mark.data
def test_default_settings_give_the_figure_of_the_table(lgan, mirror, splits_folder):
    runs = [run for run in read_runs(RECORDS) if (run.model, run.dataset) == ("lgan", "MUTAG")]
    cell = measure(chosen_group(runs, published_folds=True), "gin")
    assert cell is not None
    ran = lgan("cv", "MUTAG", "--mirror", mirror, "--splits", splits_folder / "MUTAG",
               "--device", "cpu", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    assert 100 * ran.json["results"]["gin"]["mean"] == pytest.approx(cell.mean, abs=cell.std)
