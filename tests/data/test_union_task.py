import pytest
import torch

from lgan import load
from lgan.data import Encoder, load_raw
from lgan.graph import GraphUnion
from lgan.task import Task


@pytest.mark.data
def test_a_data_set_knows_its_task_from_the_files_and_from_the_cache(mirror, tmp_path):
    first, again = (load("MUTAG", root=tmp_path, mirror=mirror) for _ in range(2))
    assert (
        first.task == again.task == again.to("cpu").task == Task("binary", ("class",), ("-1", "1"))
    )
    assert again.known_task.num_outputs == again.num_classes == 2


def test_several_numbers_are_a_task_with_an_output_each():
    pytest.importorskip("rdkit")
    targets = {"u": [0.5, 1.25, -3.0], "v": [1.5, None, 2.5]}
    union = load(["CCO", "CCN", "c1ccccc1"], targets=targets)
    assert (union.task, union.num_graphs) == (Task("regression", ("u", "v")), 3)
    assert union.batch(torch.tensor([2, 0])).y.tolist() == [[-3.0, 2.5], [0.5, 1.5]]


def test_a_class_may_be_missing_where_the_task_names_the_others():
    pytest.importorskip("rdkit")
    raw = load_raw(["CC", "CCO", "CCN"], targets={"active": ["yes", None, "no"]})
    union = Encoder.fit(raw).encode(raw, compress=False)
    assert union.y.tolist() == [1, -1, 0]
    with pytest.raises(ValueError, match="`y` must hold numbers from 0 to 1, got -1 to 1"):
        GraphUnion.build(
            union.x, raw.pair_index, union.y, raw.node_ptr, num_features=20, num_classes=2
        )
