import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.utils.class_weight import compute_class_weight
from torch import Tensor

from lgan.task import KINDS, TargetScale, Task

NAN = float("nan")
TASKS = {
    "binary": Task("binary", ("a",), ("no", "yes")),
    "multiclass": Task("multiclass", ("a",), ("x", "y", "z")),
    "multilabel": Task("multilabel", ("a", "b", "c"), ("0", "1")),
    "regression": Task("regression", ("a", "b"), ()),
}


def _targets(task: Task, rows: int = 12) -> Tensor:
    """Targets of every kind, some of them missing."""
    if task.has_classes:
        y = torch.arange(rows) % len(task.classes)
        return y.masked_fill(torch.arange(rows) % 5 == 4, -1)
    y = torch.randn(rows, len(task.targets)) * 3 + 7
    if task.kind == "multilabel":
        y = (y > 7).float()
    return y.masked_fill(torch.rand(y.shape) < 0.3, NAN)


def _settings(task: Task, y: Tensor, rows: Tensor | None = None) -> dict:
    if task.kind == "regression":
        return {"scale": TargetScale.fit(y, rows)}
    return {"class_weight": task.balanced_class_weight(y, rows)}


@pytest.fixture(params=KINDS)
def task(request: pytest.FixtureRequest) -> Task:
    return TASKS[request.param]


def test_outputs() -> None:
    assert [TASKS[kind].num_outputs for kind in KINDS] == [2, 3, 3, 2]
    assert [TASKS[kind].default_metric.name for kind in KINDS] == [
        "roc-auc",
        "accuracy",
        "roc-auc",
        "r2",  # of two targets, whose units may differ
    ]
    assert Task("regression", ("a",)).default_metric.name == "rmse"


def test_encoded_classes() -> None:
    y = TASKS["binary"].encode({"a": ["yes", "no", None, " yes"], "other": [1, 2, 3, 4]})
    assert y.dtype == torch.int64
    assert y.tolist() == [1, 0, -1, 1]
    numbers = Task.infer({"a": ["0", "1"]})
    assert numbers.encode({"a": [1.0, 0, NAN]}).tolist() == [1, 0, -1]


def test_encoded_labels_and_numbers() -> None:
    y = TASKS["multilabel"].encode({"c": [0, 1], "b": ["", "1.0"], "a": [1, 0]})
    assert y.dtype == torch.float32
    assert torch.equal(y.nan_to_num(9), torch.tensor([[1.0, 9, 0], [0, 1, 1]]))
    y = TASKS["regression"].encode({"a": ["1.5", "NA"], "b": [2, 3]})
    assert torch.equal(y.nan_to_num(9), torch.tensor([[1.5, 2], [9, 3]]))


@pytest.mark.parametrize("weighted", [False, True])
def test_loss_agrees_with_torch_where_targets_are_there(task: Task, weighted: bool) -> None:
    y, out = _targets(task), torch.randn(12, task.num_outputs)
    present = task.present(y)
    settings = _settings(task, y) if weighted else {}
    loss = task.loss(out, y, **settings)
    assert loss.shape == present.shape == (12, len(task.targets))
    assert 0 < int(present.sum()) < present.numel()
    assert (loss[~present] == 0).all()
    if task.has_classes:
        weight = settings.get("class_weight")
        rows = present[:, 0]
        expected = F.cross_entropy(out[rows], y[rows], weight=weight, reduction="none")
        torch.testing.assert_close(loss[rows, 0], expected)
    elif task.kind == "multilabel":
        expected = F.binary_cross_entropy_with_logits(out[present], y[present], reduction="none")
        if weighted:
            target = torch.arange(3).expand(12, 3)[present]
            expected = expected * settings["class_weight"][target, y[present].long()]
        torch.testing.assert_close(loss[present], expected)
    else:
        wanted = (settings["scale"].scaled(y) if weighted else y)[present]
        torch.testing.assert_close(loss[present], (out[present] - wanted).square())


def test_unweighted_cross_entropy_has_the_bits_of_torch() -> None:
    out = torch.randn(50, 3, requires_grad=True)
    y = torch.randint(3, (50,))
    loss = TASKS["multiclass"].loss(out, y)[:, 0]
    expected = F.cross_entropy(out, y, reduction="none")
    assert torch.equal(loss, expected)
    ours, theirs = (torch.autograd.grad(x.sum(), out)[0] for x in (loss, expected))
    assert torch.equal(ours, theirs)


def test_models_side_by_side_equal_a_loop(task: Task) -> None:
    y = _targets(task)
    out = torch.randn(2, 3, 12, task.num_outputs)
    rows = torch.rand(2, 3, 12) < 0.7
    stacked = _settings(task, y, rows)
    loss = task.loss(out, y, **stacked)
    link = task.link(out, stacked.get("scale"))
    assert loss.shape == (2, 3, 12, len(task.targets))
    assert link.shape == out.shape
    for i in range(2):
        for j in range(3):
            alone = _settings(task, y, rows[i, j])
            torch.testing.assert_close(loss[i, j], task.loss(out[i, j], y, **alone))
            torch.testing.assert_close(link[i, j], task.link(out[i, j], alone.get("scale")))


def test_order_of_graphs_does_not_matter(task: Task) -> None:
    y, out, order = _targets(task), torch.randn(12, task.num_outputs), torch.randperm(12)
    settings, permuted = _settings(task, y), _settings(task, y[order])
    torch.testing.assert_close(
        task.loss(out, y, **settings)[order], task.loss(out[order], y[order], **permuted)
    )


def test_graphs_outside_the_training_part_do_not_change_weights_or_scale(task: Task) -> None:
    y = _targets(task)
    rows = torch.arange(12) < 7
    masked, removed = _settings(task, y, rows), _settings(task, y[:7])
    if task.kind == "regression":
        torch.testing.assert_close(masked["scale"].mean, removed["scale"].mean)
        torch.testing.assert_close(masked["scale"].std, removed["scale"].std)
    else:
        torch.testing.assert_close(masked["class_weight"], removed["class_weight"])


def test_missing_targets_send_no_gradient(task: Task) -> None:
    y = _targets(task)
    out = torch.randn(12, task.num_outputs, requires_grad=True)
    task.loss(out, y, **_settings(task, y)).sum().backward()
    assert out.grad is not None
    assert out.grad.isfinite().all()
    missing = ~task.present(y)
    if task.has_classes:
        missing = missing.expand_as(out)
    assert (out.grad[missing] == 0).all()
    assert (out.grad[~missing] != 0).any()


def test_links() -> None:
    out = torch.tensor([[0.0, 0.0]])
    assert TASKS["binary"].link(out).tolist() == [[0.5, 0.5]]
    assert TASKS["regression"].link(out + 1).tolist() == [[1, 1]]
    scale = TargetScale(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    assert TASKS["regression"].link(out + 1, scale).tolist() == [[4, 6]]
    probabilities = TASKS["multilabel"].link(torch.zeros(1, 3))
    assert probabilities.tolist() == [[0.5, 0.5, 0.5]]


def test_scale_is_mean_and_deviation_of_what_is_there() -> None:
    y = torch.tensor([[1.0, 5.0, NAN], [3.0, 5.0, NAN], [NAN, 5.0, NAN]])
    scale = TargetScale.fit(y)
    assert scale.mean.tolist() == [2, 5, 0]
    assert scale.std.tolist() == [1, 1, 1]
    y = torch.randn(40, 2) * 5 + 100
    scale = TargetScale.fit(y)
    assert scale.std.numpy() == pytest.approx(np.std(y.numpy(), 0), rel=1e-5)
    torch.testing.assert_close(scale.original(scale.scaled(y)), y)


def test_a_scale_of_other_shapes_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \[G, T\] and `rows` \[\*, G\], got \[3\]"):
        TargetScale.fit(torch.zeros(3))
    with pytest.raises(ValueError, match=r"got \[3, 1\] and \[2\]"):
        TargetScale.fit(torch.zeros(3, 1), torch.ones(2, dtype=torch.bool))


def test_balanced_weights_agree_with_scikit_learn() -> None:
    task = TASKS["multiclass"]
    y = torch.tensor([0, 0, 0, 1, 2, 2, -1])
    expected = compute_class_weight("balanced", classes=np.arange(3), y=y[:-1].numpy())
    assert task.balanced_class_weight(y).tolist() == pytest.approx(expected.tolist())
    with pytest.raises(ValueError, match="need classes, got a regression"):
        TASKS["regression"].balanced_class_weight(torch.zeros(3, 2))


def test_strata() -> None:
    y = torch.tensor([0, 1, -1])
    assert TASKS["binary"].strata(y).tolist() == [0, 1, -1]
    assert TASKS["multilabel"].strata(torch.zeros(4, 3)).tolist() == [0] * 4
    number = Task("regression", ("a",))
    values = torch.randperm(100).float()[:, None]
    strata = number.strata(values)
    assert strata.bincount().tolist() == [10] * 10
    assert torch.equal(strata, (values[:, 0] / 10).long())
    values[values < 30] = NAN
    strata = number.strata(values)
    assert (strata == -1).sum() == 30
    assert strata[strata >= 0].bincount().tolist() == [10] * 7
    assert number.strata(values[:0]).tolist() == []


def test_json_round_trip(task: Task) -> None:
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        (None, "must be an object with"),
        ({"kind": "binary"}, "must be an object with"),
        ({"kind": "binary", "targets": "a", "classes": ["0", "1"]}, "`targets` of a task must be"),
        ({"kind": "binary", "targets": ["a"], "classes": [0, 1]}, "`classes` of a task must be"),
        ({"kind": "x", "targets": ["a"], "classes": []}, "must be one of binary"),
        ({"kind": "binary", "targets": ["a"], "classes": ["0"]}, "has 2 different classes"),
        ({"kind": "multiclass", "targets": ["a"], "classes": ["0"]}, "has 2 or more different"),
        ({"kind": "multiclass", "targets": ["a"], "classes": ["0", "0"]}, "different classes"),
        ({"kind": "regression", "targets": ["a"], "classes": ["0"]}, "has 0 different classes"),
        ({"kind": "regression", "targets": [], "classes": []}, "each once"),
        ({"kind": "regression", "targets": ["a", "a"], "classes": []}, "each once"),
        ({"kind": "binary", "targets": ["a", "b"], "classes": ["0", "1"]}, "has one target"),
    ],
)
def test_json_that_is_no_task_is_refused(plain: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Task.from_json(plain)


def test_targets_of_another_task_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'a' must be among the columns, got 'x', 'y'\. Name one"):
        TASKS["binary"].encode({"x": [1], "y": [2]})
    with pytest.raises(ValueError, match="must hold the classes no, yes, got 'maybe' too"):
        TASKS["binary"].encode({"a": ["yes", "maybe"]})
    with pytest.raises(ValueError, match="'a' must hold numbers, got 'high'"):
        TASKS["regression"].encode({"a": [1, "high"], "b": [1, 2]})


def test_a_task_is_told_in_one_line() -> None:
    assert str(TASKS["multilabel"]) == "multilabel: 3 targets: a, b, c (0, 1)"
    assert str(Task("regression", ("logS",))) == "regression: logS"
