import numpy as np
import pytest
import torch

from lgan.task import Task
from lgan.task.cells import spelled


def infer(*columns: list, kind: str | None = None) -> Task:
    return Task.infer({f"t{i}": column for i, column in enumerate(columns)}, kind)


@pytest.mark.parametrize(
    ("column", "kind", "classes"),
    [
        ([0, 1, 1], "binary", ("0", "1")),
        (["1", "0", ""], "binary", ("0", "1")),
        ([1.0, 0.0, float("nan")], "binary", ("0", "1")),
        (["-1", "1"], "binary", ("-1", "1")),
        (["2", "10"], "binary", ("2", "10")),
        ([True, False], "binary", ("False", "True")),
        ([torch.tensor(0), torch.tensor(1)], "binary", ("0", "1")),
        ([torch.tensor(True), np.array(False)], "binary", ("False", "True")),
        ([torch.tensor(k + 0.5) for k in range(3)], "regression", ()),
        ([np.float32(0.1), np.float32(0.2)], "binary", ("0.1", "0.2")),
        (["Active", "Inactive", "NA"], "binary", ("Inactive", "Active")),
        (["yes", "no"], "binary", ("no", "yes")),
        (["b", "a"], "binary", ("a", "b")),
        ([0.5, 1.5], "binary", ("0.5", "1.5")),
        ([3, 1, 2], "multiclass", ("1", "2", "3")),
        (["10", "9", "8.0"], "multiclass", ("8", "9", "10")),
        (["mild", "none", "severe", None], "multiclass", ("mild", "none", "severe")),
        (["1_2", "1_3", "1_4"], "multiclass", ("1_2", "1_3", "1_4")),
        (list(range(11)), "regression", ()),
        ([0.5, 1, 2], "regression", ()),
        (["-3.2", "1e-3", "4"], "regression", ()),
    ],
)
def test_kind_and_classes_of_one_column(column: list, kind: str, classes: tuple) -> None:
    task = infer(column)
    assert (task.kind, task.classes) == (kind, classes)


def test_several_columns() -> None:
    task = infer([0, 1, None], ["0", "0", "0"])
    assert (task.kind, task.classes, task.num_outputs) == ("multilabel", ("0", "1"), 2)
    task = infer(["yes", "no"], ["no", "no"])
    assert (task.kind, task.classes) == ("multilabel", ("no", "yes"))
    task = infer([0.1, 2.0, 3.5], [0, 1, None])
    assert (task.kind, task.classes, task.num_outputs) == ("regression", (), 2)


def test_arrays_tensors_and_tables_are_read_like_lists() -> None:
    pandas = pytest.importorskip("pandas")
    expected = infer([0, 1, 2])
    assert infer(np.array([0.0, 1.0, 2.0], dtype=np.float32)) == expected
    assert infer(torch.tensor([0, 1, 2])) == expected
    assert infer(pandas.Series([0, 1, 2, None])) == expected
    assert infer(pandas.Series([0, 1, 2, None], dtype="Int64")) == expected


def test_the_kind_can_be_chosen() -> None:
    assert infer([1, 2, 3], kind="regression").num_outputs == 1
    assert infer([0, 1], kind="regression").classes == ()
    assert infer([0, 1], kind="multilabel").num_outputs == 1
    assert infer([0, 1], kind="multiclass").num_outputs == 2
    assert infer([0.5, 1.5, "x"], kind="multiclass").classes == ("0.5", "1.5", "x")
    assert len(infer([f"id{i}" for i in range(12)], kind="multiclass").classes) == 12


@pytest.mark.parametrize(
    ("columns", "kind", "message"),
    [
        ([[]], None, "must have a value for some graph, got no rows"),
        ([["", "NA", None]], None, "'t0' must have a value in some row, got 3 empty cells"),
        ([[0, 1], [None, None]], None, "'t1' must have a value in some row, got 2 empty"),
        ([["a", "a", ""]], None, "at least two different values, got 'a' in every row"),
        ([[1.5, 1.5]], None, "at least two different values, got '1.5'"),
        ([[1.5, 1.5]], "regression", "target with different values, got one value only in 't0'"),
        ([[1e39, 2, 3.5]], None, r"'t0' must fit single precision .*from 2\.0 to 1e\+39"),
        ([[1e8, 1e8 + 1, 1e8 + 2.5]], None, "fit single precision .*subtract an offset"),
        ([[1e-46, 2e-46, 5e-46]], None, "fit single precision .*Choose another unit"),
        ([[1.7e308, -1.7e308, 0.5]], None, "fit single precision"),
        ([[1, 2, "high"]], None, "must hold numbers or text, got both: '1' and 'high'"),
        ([[1, 2, "high"]], "regression", "must hold numbers or text, got both: '1' and 'high'"),
        ([[1, True]], None, "got both: '1' and 'True'"),
        ([["a", "b", "c"]], "regression", "needs numbers, got text in 't0': 'a', 'b', 'c'"),
        ([[1, 2, float("inf")]], None, r"'t0' must hold finite numbers, got inf in row 3 \(1 of 3"),
        ([["1", "-Infinity"]], None, "must hold finite numbers, got -inf in row 2"),
        ([["1", "1e999"]], None, "must hold finite numbers"),
        ([[0, 1, 2]], "binary", "A binary task needs two classes, got 3 in 't0': '0', '1', '2'"),
        ([[0, 1], [1, 0]], "binary", "A binary task has one target, got 2"),
        ([[0, 1], ["no", "yes"]], None, "must share two values .*got 4: '0', '1', 'no', 'yes'"),
        ([[0, 1], [1, 2]], None, "must share two values .*got 3: '0', '1', '2'"),
        ([[0, 0], [0, 0]], None, "must share two values .*got 1: '0'"),
        ([[1.5, 1.5], [2.5, 2.5]], None, "needs a target with both values, got one .*'t0', 't1'"),
        ([["a", "b", "c"], [0, 1, 1]], None, "Several targets must be numbers.*Train one model"),
        ([[f"id{i}" for i in range(12)]], None, "another text in each of its 12 rows"),
        ([[0, 1]], "ranking", "one of binary, multiclass, multilabel, regression, got 'ranking'"),
    ],
)
def test_columns_that_make_no_task_are_refused(columns: list, kind: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        infer(*columns, kind=kind)


def test_columns_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="needs a target column, got none"):
        Task.infer({})
    with pytest.raises(TypeError, match=r"got the text 'abc'\. Put it in a list"):
        Task.infer({"t": "abc"})
    with pytest.raises(ValueError, match=r"one number or text for a graph, got \[0, 1\]"):
        Task.infer({"t": torch.eye(2, dtype=torch.int64).flip(0)})


def test_a_date_that_is_missing_is_no_class() -> None:
    pandas = pytest.importorskip("pandas")
    days = pandas.Series(
        [pandas.Timestamp("2024-01-01"), pandas.NaT, pandas.Timestamp("2025-01-01")]
    )
    assert len(infer(days).classes) == 2


def test_one_number_has_one_spelling() -> None:
    ones = [1, 1.0, "1", " 1.00 ", "1e0", np.float32(1), np.int8(1), "+1"]
    assert {spelled(value) for value in ones} == {"1"}
    assert spelled(-0.0) == "0"
    assert spelled(0.1) == spelled("0.10") == "0.1"


@pytest.mark.parametrize("values", [["2,5", "3,5", "4"], ["2,5", "3,5", "2,5", "3,5"]])
def test_decimal_commas_are_no_classes(values: list[str]) -> None:
    with pytest.raises(ValueError, match=r"decimal commas: .*'2,5'.*Write points"):
        infer(values)
    with pytest.raises(ValueError, match="decimal commas"):
        infer(values, kind="regression")


def test_classes_that_look_like_numbers_keep_their_names() -> None:
    assert infer(["007", "010", "10"] * 2).classes == ("007", "010", "10")
    assert infer([10**17, 10**17 + 1] * 3).classes == (str(10**17), str(10**17 + 1))
    assert infer(["0", "1", "+1", "1.0"] * 2).classes == ("0", "1")


def test_large_numbers_that_vary_are_read() -> None:
    year = [1.7e9 + 86400 * k for k in range(365)]
    assert infer(year, [1e9 + 0.1] * 365).kind == "regression"
