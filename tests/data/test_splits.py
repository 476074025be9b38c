from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lgan.data import check_folds, drawn_folds, load_raw, read_folds, stratified_folds


@given(st.lists(st.integers(4, 30), min_size=2, max_size=4), st.integers(2, 4), st.integers(0, 9))
def test_every_class_is_spread_evenly(sizes: list[int], num_folds: int, seed: int) -> None:
    y = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    folds = stratified_folds(y, num_folds, seed)
    check_folds(folds, y)
    for label in range(len(sizes)):
        held_out = folds[y == label].bincount(minlength=num_folds)
        assert int(held_out.max() - held_out.min()) <= 1


def test_seed_fixes_the_folds() -> None:
    y = torch.arange(100) % 2
    assert torch.equal(stratified_folds(y, seed=3), stratified_folds(y, seed=3))
    assert not torch.equal(stratified_folds(y, seed=3), stratified_folds(y, seed=4))


def test_more_folds_than_graphs_of_a_class_are_refused() -> None:
    y = torch.tensor([0] * 20 + [1] * 4)
    with pytest.raises(ValueError, match=r"folds \(5\), got 4 of class 1. Choose fewer"):
        stratified_folds(y, 5)
    with pytest.raises(ValueError, match="got 4 of class 'yes'"):
        stratified_folds(y, 5, names=("no", "yes"))
    with pytest.raises(ValueError, match="`num_folds` must be 2 or more, got 1"):
        stratified_folds(y, 1)
    with pytest.raises(ValueError, match=r"shape \[G\], got \[0\]"):
        stratified_folds(y[:0], 2)


def test_a_rare_class_makes_fewer_folds_where_that_is_asked_for() -> None:
    y = torch.tensor([0] * 20 + [1] * 4)
    assert torch.equal(stratified_folds(y, 10, at_most=True), stratified_folds(y, 4))
    assert torch.equal(stratified_folds(y, 3, at_most=True), stratified_folds(y, 3))
    with pytest.raises(ValueError, match=r"folds \(2\), got 1 of class 1. Two are the fewest: add"):
        stratified_folds(y[:21], 10, at_most=True)


def test_single_class_in_training_is_refused() -> None:
    with pytest.raises(ValueError, match=r"two classes, got only \[0\] in fold 2 of 2"):
        check_folds(torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0, 0, 1]))
    with pytest.raises(ValueError, match="at least two classes"):
        check_folds(torch.tensor([0, 1, 0, 1]), torch.zeros(4, dtype=torch.int64))


def test_graphs_never_held_out_count_as_trained_on() -> None:
    y = torch.tensor([0, 0, 0, 1])
    check_folds(torch.tensor([0, 1, -1, -1]), y)  # the last two bring both classes to both folds
    with pytest.raises(ValueError, match=r"two classes, got only \[0\] in fold 2 of 2"):
        check_folds(torch.tensor([0, 1, -1, 1]), y)


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([0, 1], "one entry per graph"),
        ([0, 0, 0, 0], "two folds or more"),
        ([-1, -1, -1, -1], "two folds or more"),
        ([-2, 0, 1, 1], "two folds or more"),
        ([0, 0, 2, 2], "got none in fold 2 of 3"),
    ],
)
def test_bad_folds_are_refused(folds: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_folds(torch.tensor(folds), torch.tensor([0, 1, 0, 1]))


def _write(folder: Path, tests: list[str], trains: list[str]) -> Path:
    for kind, files in (("test", tests), ("train", trains)):
        for k, text in enumerate(files, start=1):
            (folder / f"{kind}_idx-{k}.txt").write_text(text.replace(" ", "\n") + "\n")
    return folder


def test_published_files_are_read(tmp_path: Path) -> None:
    folder = _write(tmp_path, ["0 3", "1 2"], ["1 2 4", "0 3 4"])
    assert read_folds(folder, 5).tolist() == [0, 1, 1, 0, -1]


@pytest.mark.parametrize(
    ("tests", "trains", "message"),
    [
        (["0 1", "2"], ["2 1", "0 1"], "must not share a graph, got 1 in both"),
        (["0", "2"], ["2", "0 1"], "must hold every graph .* got no 1"),
        (["0 1", "1 2"], ["2", "0"], "held out once, got 1 in .* and in test_idx-1.txt"),
        (["0 3", "1"], ["1 2", "0 2"], "line 2: expected a graph id from 0 to 2, got '3'"),
        (["0 x", "1"], ["1 2", "0 2"], "line 2: .*got 'x'"),
        (["-1", "1"], ["0 1 2", "0 2"], "line 1: .*got '-1'"),
        (["0 0", "1"], ["1 2", "0 2"], "line 2: .*once, got 0 again"),
    ],
)
def test_bad_files_are_refused(
    tmp_path: Path, tests: list[str], trains: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read_folds(_write(tmp_path, tests, trains), 3)


def test_missing_fold_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"test_idx-1.txt"):
        read_folds(tmp_path, 3)
    _write(tmp_path, ["0", "1", "2"], ["1 2", "0 2"])
    with pytest.raises(FileNotFoundError, match=r"train_idx-3.txt"):
        read_folds(tmp_path, 3)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "left_out"),
    [("MUTAG", 8), ("PTC_MR", 4), ("PTC_GIN", 4), ("PROTEINS", 3), ("IMDB-BINARY", 0)],
)
def test_gin_folds_hold_out_nearly_every_graph(
    mirror: Path, splits_folder: Path, name: str, left_out: int
) -> None:
    raw = load_raw(name, mirror=mirror)
    folds = read_folds(splits_folder / name, raw.num_graphs)
    check_folds(folds, raw.y)
    assert int(folds.max()) == 9
    assert int((folds == -1).sum()) == left_out


def test_partners_share_a_fold():
    y = torch.arange(200) % 2
    fold = drawn_folds("triangles", y, 10, seed=3)
    assert torch.equal(fold[::2], fold[1::2])
    assert fold.bincount().tolist() == [20] * 10
    assert torch.equal(drawn_folds("MUTAG", y, 5), stratified_folds(y, 5))
