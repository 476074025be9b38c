from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lgan.data import RawGraphs, Split, load_raw
from lgan.data.split_words import (
    column_folds,
    group_folds,
    random_folds,
    scaffold_groups,
    scaffolds,
)
from lgan.data.splits import OUTSIDE
from lgan.task import Task


@pytest.fixture
def raw() -> RawGraphs:
    return load_raw("regular")


def test_words_come_back_as_they_were_given(tmp_path: Path) -> None:
    for text in ("stratified", "random", "scaffold", "group:batch", "column:a:b"):
        assert str(Split.parse(text)) == text
    assert Split.parse("column:part").columns == ("part",)
    assert Split.parse(f"published:{tmp_path}").columns == ()


@pytest.mark.parametrize(
    "text", ["", "scafold", "group", "group:", "random:", "stratified:x", "published:/nowhere"]
)
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        Split.parse(text)


def test_stratified_folds_spread_every_class(raw: RawGraphs) -> None:
    folds = Split.parse("stratified").folds(raw, raw.known_task, 5, seed=1)
    for label in range(3):
        assert folds[raw.y == label].bincount().tolist() == [20] * 5


def test_stratified_folds_spread_numbers_too(raw: RawGraphs) -> None:
    values = torch.linspace(0, 1, raw.num_graphs)[torch.randperm(raw.num_graphs)]
    numbers = raw.with_targets({"size": values.tolist()})
    folds = Split().folds(numbers, numbers.known_task, 5)
    assert folds.bincount().tolist() == [60] * 5
    means = torch.stack([values[folds == k].mean() for k in range(5)])
    assert float(means.max() - means.min()) < 0.05


def test_numbers_have_as_many_folds_as_are_asked_for(raw: RawGraphs) -> None:
    part = raw.select(range(100))
    numbers = part.with_targets({"size": torch.randn(100).tolist()})
    for folds in (10, 20, 100):
        made = Split().folds(numbers, numbers.known_task, folds)
        assert made.bincount().tolist() == [100 // folds] * folds
    with pytest.raises(ValueError, match=r"as many graphs as folds \(101\), got 100\. Choose"):
        Split().folds(numbers, numbers.known_task, 101)


def test_partners_share_a_fold() -> None:
    raw = load_raw("triangles")
    folds = Split().folds(raw, raw.known_task, 10)
    assert torch.equal(folds[::2], folds[1::2])


@given(st.lists(st.integers(0, 8), min_size=20, max_size=60), st.integers(2, 4), st.integers(0, 5))
def test_groups_stay_together_in_folds_of_like_size(
    groups: list[int], num_folds: int, seed: int
) -> None:
    if len(set(groups)) < num_folds:
        return
    folds = group_folds(groups, num_folds, seed)
    for group in set(groups):
        mine = torch.tensor([value == group for value in groups])
        assert len(folds[mine].unique()) == 1
    sizes = folds.bincount(minlength=num_folds)
    largest = max(groups.count(group) for group in set(groups))
    assert int(sizes.min()) > 0
    assert int(sizes.max() - sizes.min()) <= largest


def test_seed_changes_which_groups_meet() -> None:
    groups = [k // 2 for k in range(40)]
    assert torch.equal(group_folds(groups, 5, 1), group_folds(groups, 5, 1))
    assert not torch.equal(group_folds(groups, 5, 1), group_folds(groups, 5, 2))


def test_graphs_without_a_group_are_alone(raw: RawGraphs) -> None:
    folds = group_folds([None, "", "nan", "a", "a", "a"], 4)
    assert folds.bincount().tolist() == [3, 1, 1, 1]
    grouped = replace(raw, columns={"batch": [k % 7 for k in range(raw.num_graphs)]})
    folds = Split.parse("group:batch").folds(grouped, raw.known_task, 7)
    assert all(len(folds[k::7].unique()) == 1 for k in range(7))
    with pytest.raises(ValueError, match=r"needs the column 'day' of regular, got 'class'"):
        Split.parse("group:day").folds(raw, raw.known_task)


def test_scaffolds_have_no_chirality_and_chains_are_alone() -> None:
    pytest.importorskip("rdkit")
    smiles = ["C[C@H]1CCCCO1", "C[C@@H]1CCCCO1", "CC1CCCCO1", "c1ccccc1C", "CCO", "CCN", "CCO"]
    groups = scaffold_groups(smiles)
    assert groups[0] == groups[1] == groups[2] != groups[3]
    assert groups[4] == groups[6] != groups[5]


def test_text_that_cannot_be_read_has_no_scaffold() -> None:
    pytest.importorskip("rdkit")
    smiles: list[Any] = ["Cc1ccccc1", "C1CC", float("nan"), "CCO", None]
    with pytest.warns(UserWarning, match=r"3 of 5 molecules .* rows 1, 2, 4, the first .* 'C1CC'"):
        assert scaffolds(smiles) == ["c1ccccc1", "", "", "", ""]


def test_scaffold_folds_share_no_scaffold() -> None:
    pytest.importorskip("rdkit")
    rings = ["c1ccccc1", "C1CCCC1", "c1ccncc1", "C1CCOC1"]
    smiles = [f"{'C' * k}{ring}" for ring in rings for k in range(1, 4)]
    raw = load_raw(smiles, targets={"active": [0, 1] * 6})
    folds = Split.parse("scaffold").folds(raw, Task("binary", ("active",), ("0", "1")), 4)
    assert sorted(folds[::3].tolist()) == [0, 1, 2, 3]
    assert torch.equal(folds, folds[::3].repeat_interleave(3))


def test_scaffolds_need_molecules(raw: RawGraphs) -> None:
    with pytest.raises(ValueError, match="`scaffold` needs molecules, got regular"):
        Split.parse("scaffold").folds(raw, raw.known_task)


def test_random_folds_are_of_one_size() -> None:
    assert random_folds(25, 4, seed=3).bincount().tolist() == [7, 6, 6, 6]
    assert not torch.equal(random_folds(25, 4, seed=3), random_folds(25, 4, seed=4))


def test_columns_name_parts_or_folds(raw: RawGraphs) -> None:
    assert column_folds(["Train", "TEST", "validation"]).tolist() == [-1, OUTSIDE, 0]
    assert column_folds([1, 2, 5, "1"]).tolist() == [0, 1, 2, 0]
    parts = replace(raw, columns={"part": ["train", "test", "val"] * 100})
    folds = Split.parse("column:part").folds(parts, raw.known_task)
    assert folds[:3].tolist() == [-1, OUTSIDE, 0]
    parts = replace(raw, columns={"part": ["train", "test", "train"] * 100})
    folds = Split.parse("column:part").folds(parts, raw.known_task, 5)
    assert (folds[1::3] == OUTSIDE).all()
    assert torch.bincount(folds[folds != OUTSIDE]).tolist() == [40] * 5


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["train", "tset"], "got 'tset' in row 2"),
        (["train", "val"], "some graphs `train` and some `test`"),
        (["0", "1.5"], "got '1.5' in row 2"),
        (["train", None, "test"], "got None in row 2"),
        (["3", 3, "3"], "must number two folds or more, got 3 in every row"),
        (["train", 0, "test", 1], "got both: '0', '1', 'test', 'train'. Keep to one"),
    ],
)
def test_other_cells_are_refused(cells: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        column_folds(cells)


def test_a_wrong_cell_is_told_by_its_row_in_the_source(raw: RawGraphs) -> None:
    part = replace(raw, columns={"part": ["0", "1", "x"] * 100}).select(range(2, 300))
    with pytest.raises(ValueError, match="got 'x' in row 3"):
        Split.parse("column:part").folds(part, raw.known_task)


def test_fewer_graphs_or_groups_make_fewer_folds_where_that_is_asked_for() -> None:
    assert torch.equal(random_folds(3, 10, at_most=True), random_folds(3, 3))
    assert torch.equal(group_folds("aabbc", 10, at_most=True), group_folds("aabbc", 3))
    with pytest.raises(ValueError, match=r"groups as folds \(2\), got 1. Two are the fewest"):
        group_folds("aaa", 10, at_most=True)


@pytest.mark.parametrize(("num_folds", "message"), [(1, "2 or more"), (4, "as folds")])
def test_too_few_or_too_many_folds_are_refused(num_folds: int, message: str) -> None:
    for make in (lambda: random_folds(3, num_folds), lambda: group_folds("abc", num_folds)):
        with pytest.raises(ValueError, match=message):
            make()


@pytest.mark.data
def test_published_folds_are_read(mirror: Path, splits_folder: Path) -> None:
    raw = load_raw("MUTAG", mirror=mirror)
    folds = Split.parse(f"published:{splits_folder / 'MUTAG'}").folds(raw, raw.known_task)
    assert int(folds.max()) == 9
