"""What members and companions say together, against literal formulas."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lgan.task import METRICS, TargetScale, Task
from lgan.train.objective import Objective
from lgan.train.share import LEAST, OF_BEST_SHARE, SHARES, in_range, joined, losses, share_of

CLASSES = Task("multiclass", ("t",), ("a", "b", "c"))
LABELS = Task("multilabel", ("s", "t"), ("0", "1"))
NUMBERS = Task("regression", ("s", "t"))
KINDS = pytest.mark.parametrize("task", [CLASSES, LABELS, NUMBERS], ids=lambda task: task.kind)
SEEDS = st.integers(0, 10**6)


def _slow_joined(own, other, share, task):
    """Of one graph, one output after another."""
    own, other = own.tolist(), other.tolist()
    if task.kind == "regression":
        return [(1 - share) * a + share * b for a, b in zip(own, other, strict=True)]
    if task.kind == "multiclass":
        product = [
            (a + LEAST) ** (1 - share) * (b + LEAST) ** share
            for a, b in zip(own, other, strict=True)
        ]
        return [p / sum(product) for p in product]
    yes = [(a + LEAST) ** (1 - share) * (b + LEAST) ** share
           for a, b in zip(own, other, strict=True)]  # fmt: skip
    no = [(1 - a + LEAST) ** (1 - share) * (1 - b + LEAST) ** share
          for a, b in zip(own, other, strict=True)]  # fmt: skip
    return [y / (y + n) for y, n in zip(yes, no, strict=True)]


def _drawn(task, seed, graphs=6):
    """What both say of some graphs, and the truth, where something is not known."""
    draw = np.random.default_rng(seed)
    own, other = torch.from_numpy(draw.normal(size=(2, graphs, task.num_outputs)))
    if task.kind == "multiclass":
        y = torch.from_numpy(draw.integers(-1, 3, graphs))
        return own.softmax(-1), other.softmax(-1), y
    if task.kind == "multilabel":
        y = torch.from_numpy(draw.integers(0, 2, (graphs, 2)).astype(float))
        y[0, 0] = torch.nan
        return own.sigmoid(), other.sigmoid(), y
    y = torch.from_numpy(draw.normal(size=(graphs, 2)))
    y[0, 0] = torch.nan
    return own, other, y


@KINDS
@given(SEEDS, st.floats(0.01, 1))
def test_both_together_are_a_weighted_product_or_mean(task, seed, share):
    own, other, _ = _drawn(task, seed)
    found = joined(own, other, share, task)
    for k, row in enumerate(found.tolist()):
        assert row == pytest.approx(_slow_joined(own[k], other[k], share, task))


@KINDS
def test_without_a_share_members_say_what_they_say(task):
    own, other, _ = _drawn(task, 0)
    assert torch.equal(joined(own, other, 0.0, task), own)
    some = joined(own, other, torch.tensor([0.0, 1.0])[:, None, None], task)
    assert torch.equal(some[0], own)
    assert not torch.allclose(some[1], own)


@KINDS
@given(SEEDS)
def test_the_share_is_the_one_with_the_least_loss(task, seed):
    own, other, y = _drawn(task, seed)
    scale = None
    if task.kind == "regression":
        scale = TargetScale.fit(y, torch.tensor([[True] * 5 + [False]]))
    objective = Objective(task, METRICS["rmse"], y, scale)
    weight, graphs = torch.arange(6.0), torch.tensor([0, 2, 3, 5])
    found = losses(objective, 0, graphs, own[graphs], other[graphs], weight)
    slow = []
    for share in SHARES.tolist():
        lost = 0.0
        for k in graphs.tolist():
            said = _slow_joined(own[k], other[k], share, task)
            if task.kind == "multiclass":
                lost -= float(weight[k]) * np.log(said[y[k]]) if y[k] >= 0 else 0
                continue
            for column, value in enumerate(y[k].tolist()):
                if np.isnan(value):
                    continue
                if scale is not None:
                    off = ((said[column] - value) / scale.std[0, column].item()) ** 2
                else:
                    off = -np.log(said[column] if value else 1 - said[column])
                lost += float(weight[k]) * off
        slow.append(lost)
    np.testing.assert_allclose(found, slow, rtol=1e-6, atol=1e-9)
    factor = OF_BEST_SHARE if task.kind == "regression" else 1
    assert float(share_of(found, task)) == pytest.approx(factor * 0.1 * int(found.argmin()))


def test_a_share_of_nothing_known_is_nothing():
    assert float(share_of(torch.zeros(len(SHARES)), LABELS)) == 0
    assert share_of(torch.zeros(2, 3, len(SHARES)), NUMBERS).tolist() == [[0.0] * 3] * 2


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=2))
def test_probabilities_of_regressions_keep_their_order(said):
    values = torch.tensor(sorted(said), dtype=torch.float64)[:, None]
    label = Task("multilabel", ("t",), ("0", "1"))
    low, high = in_range(values, label)[:, 0].tolist()
    assert 0 <= low <= high <= 1
    both = in_range(torch.cat([1 - values, values], 1), Task("multiclass", ("t",), ("a", "b")))
    torch.testing.assert_close(both[:, 1], in_range(values, label)[:, 0])
    torch.testing.assert_close(both.sum(1), torch.ones(2, dtype=torch.float64))
    assert torch.equal(in_range(values, NUMBERS), values)
