import json

from paper.explanations import explanation_grids, read_explanations

RECORD = {
    "format": 1,
    "case": "triangles",
    "truth": "the edges of all triangles",
    "seeds": [0, 1],
    "accuracies": [1.0, 0.985],
    "summary": {
        "integrated-gradients": {"auc": 0.9876, "auc deviation": 0.01, "seconds": 0.5},
        "random": {"auc": None, "auc deviation": None},
    },
    "bar": 0.99,
    "holds": False,
}


def test_a_table_for_every_record_and_nothing_for_other_files(tmp_path):
    (tmp_path / "triangles.json").write_text(json.dumps(RECORD))
    (tmp_path / "figure3.json").write_text(json.dumps({"figure": "3", "models": []}))
    summary, grid = explanation_grids(read_explanations(tmp_path))
    assert summary.columns == ["method", "triangles"]
    assert summary.rows == [["integrated-gradients", "0.988 ± 0.010"], ["random", ""]]
    assert grid.title == "Explanations on triangles"
    assert grid.columns[:2] == ["method", "edge ROC-AUC"]
    assert grid.rows == [
        ["integrated-gradients", "0.988 ± 0.010", "", "", "", "", "", "0.500"],
        ["random", *[""] * 7],
    ]
    assert "100.0, 98.5 %" in grid.notes[1]
    assert (
        grid.notes[-1] == "The bar for integrated-gradients, edge ROC-AUC of 0.99, is not reached."
    )


def test_the_summary_has_every_method_of_every_record():
    other = {**RECORD, "case": "motifs-ba", "summary": {"gradient": {"auc": 0.5}}}
    summary = explanation_grids([RECORD, other])[0]
    assert summary.columns == ["method", "triangles", "motifs-ba"]
    assert summary.rows[-1] == ["gradient", "", "0.500"]
