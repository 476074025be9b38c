import itertools
import math

import pytest
import torch
from torch import Tensor

from lgan.predictor import conformal
from lgan.predictor.conformal import FEWEST_FOLDS, prediction_intervals, prediction_sets
from lgan.task import Task
from lgan.train.out_of_fold import OutOfFold

BINARY = Task("binary", ("active",), ("no", "yes"))
SEVERAL = Task("multilabel", ("a", "b"), ("0", "1"))
# Members and the fold each holds out: one each, several a fold, few folds, one alone.
HELD_OUT = [list(range(5)), list(range(6)) * 2, [0, 1, 2, 3, 4, 0, 1], [0, 1], [0, 1, 2, 3], [0]]


def _speaking(members: Tensor, known: OutOfFold, graph: int) -> Tensor:
    """What is said of new graphs ``[m, O]`` for the sake of a known one."""
    held_out = known.held_out.tolist()
    if len(set(held_out)) < FEWEST_FOLDS:
        chosen = range(len(held_out))
    else:
        chosen = [k for k, fold in enumerate(held_out) if fold == int(known.fold[graph])]
    return sum(members[k] for k in chosen) / len(chosen)


def _intervals(members: Tensor, known: OutOfFold, alpha: float) -> Tensor:
    """CV+ word for word: quantiles of `mu_-S(i)(x) -+ R_i` (Barber et al., section 3)."""
    _, new, targets = members.shape
    ends = torch.empty(new, targets, 2, dtype=torch.float64)
    for j, t in itertools.product(range(new), range(targets)):
        low, high = [], []
        for i in range(len(known.y)):
            if math.isnan(known.y[i, t]):
                continue
            residual = abs(float(known.y[i, t] - known.predictions[i, t]))
            centre = float(_speaking(members, known, i)[j, t])
            low.append(centre - residual)
            high.append(centre + residual)
        n, middle = len(low), float(members[:, j, t].mean())
        below, above = math.floor(alpha * (n + 1)), math.ceil((1 - alpha) * (n + 1))
        ends[j, t, 0] = min(sorted(low)[below - 1], middle) if below >= 1 else -math.inf
        ends[j, t, 1] = max(sorted(high)[above - 1], middle) if above <= n else math.inf
    return ends


def _sets(members: Tensor, known: OutOfFold, alpha: float) -> Tensor:
    """A class is in where not too many known graphs are less strange with their own class."""
    _, new, classes = members.shape
    found = torch.zeros(new, classes, dtype=torch.bool)
    for j, c in itertools.product(range(new), range(classes)):
        less = 0
        for i in range(len(known.y)):
            own = 1 - float(known.predictions[i, int(known.y[i])])
            less += own < 1 - float(_speaking(members, known, i)[j, c])
        found[j, c] = less < (1 - alpha) * (len(known.y) + 1)
        found[j, c] |= c == int(members[:, j].mean(0).argmax())
    return found


def _known(y: Tensor, predictions: Tensor, held_out: list[int]) -> OutOfFold:
    fold = torch.arange(len(y)) % len(set(held_out))
    return OutOfFold(y, predictions, fold[torch.randperm(len(y))], torch.tensor(held_out))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("held_out", HELD_OUT, ids=str)
@pytest.mark.parametrize("alpha", [0.1, 0.25, 0.5])
def test_intervals_are_those_of_the_definition(held_out, alpha):
    y = torch.randn(33, 2)
    known = _known(y, y + 0.3 * torch.randn(33, 2), held_out)
    members = torch.randn(len(held_out), 7, 2)
    ends = prediction_intervals(members, known, alpha)
    assert ends.isfinite().all()
    torch.testing.assert_close(ends, _intervals(members, known, alpha))
    middle = members.mean(0)
    assert ((ends[..., 0] <= middle) & (middle <= ends[..., 1])).all()


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("held_out", HELD_OUT, ids=str)
def test_missing_targets_say_nothing(held_out):
    y = torch.randn(40, 2)
    known = _known(y, torch.randn(40, 2), held_out)
    known.y[torch.rand(40) < 0.4, 0] = torch.nan
    members = torch.randn(len(held_out), 5, 2)
    ends = prediction_intervals(members, known, 0.2)
    torch.testing.assert_close(ends, _intervals(members, known, 0.2))
    there = known.y[:, 0].isfinite()
    alone = OutOfFold(
        known.y[there, :1], known.predictions[there, :1], known.fold[there], known.held_out
    )
    torch.testing.assert_close(ends[:, :1], prediction_intervals(members[..., :1], alone, 0.2))


@pytest.mark.parametrize(("block", "largest"), [(1, 40), (100, 80), (1 << 24, 280)])
def test_blocks_of_new_graphs_bound_memory_and_change_no_bit(block, largest, monkeypatch):
    known = _known(torch.randn(40, 2), torch.randn(40, 2), list(range(6)))
    members, taken, kth = torch.randn(6, 7, 2), [], Tensor.kthvalue
    expected = prediction_intervals(members, known, 0.2)
    monkeypatch.setattr(conformal, "BLOCK", block)
    monkeypatch.setattr(
        Tensor, "kthvalue", lambda ends, *a: (taken.append(ends.numel()), kth(ends, *a))[1]
    )
    assert torch.equal(prediction_intervals(members, known, 0.2), expected)
    assert max(taken) == largest


def test_the_point_is_inside_even_where_members_are_far_apart():
    """A single member that is far off moves the mean out of where most of the others are."""
    known = _known(torch.zeros(60, 1), torch.full((60, 1), 1e-3), list(range(6)))
    members = torch.zeros(6, 1, 1)
    members[0] = 1000.0
    low, high = prediction_intervals(members, known, 0.2)[0, 0].tolist()
    assert low <= float(members.mean()) <= high


@pytest.mark.parametrize(("graphs", "finite"), [(18, False), (19, True)])
def test_too_few_graphs_give_no_ends(graphs, finite):
    """One miss in twenty can be told from 19 graphs on."""
    known = _known(torch.randn(graphs, 1), torch.randn(graphs, 1), list(range(5)))
    ends = prediction_intervals(torch.randn(5, 3, 1), known, 0.05)
    assert bool(ends.isfinite().all()) == finite
    if not finite:
        assert (ends[..., 0] == -torch.inf).all()
        assert (ends[..., 1] == torch.inf).all()


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("held_out", HELD_OUT, ids=str)
@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.8])
def test_sets_are_those_of_the_definition(held_out, alpha):
    task = Task("multiclass", ("kind",), ("a", "b", "c"))
    y, said = torch.randint(3, (31,)), torch.randn(31, 3).softmax(-1)
    known = _known(y, said, held_out)
    members = torch.randn(len(held_out), 9, 3).softmax(-1)
    found = prediction_sets(members, known, alpha, task)
    assert torch.equal(found, _sets(members, known, alpha))
    assert found.gather(1, members.mean(0).argmax(1, keepdim=True)).all()


def test_equal_probabilities_are_not_less_strange():
    known = _known(torch.zeros(19).long(), torch.tensor([[0.75, 0.25]]).expand(19, 2), [0])
    members = torch.tensor([[[0.75, 0.25]]])
    assert prediction_sets(members, known, 0.1, BINARY).tolist() == [[True, False]]


def test_few_graphs_leave_all_classes_possible():
    known = _known(torch.tensor([0, 1, 0]), torch.rand(3, 2), [0, 1])
    assert prediction_sets(torch.rand(2, 4, 2), known, 0.1, BINARY).all()


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("held_out", HELD_OUT[:3], ids=str)
def test_several_labels_have_a_set_each(held_out):
    y = torch.randint(2, (40, 2)).double()
    y[torch.rand(40, 2) < 0.3] = torch.nan
    known = _known(y, torch.rand(40, 2), held_out)
    members = torch.rand(len(held_out), 6, 2)
    found = prediction_sets(members, known, 0.3, SEVERAL)
    assert found.shape == (6, 2, 2)
    for t in range(2):
        there = y[:, t].isfinite()
        one = known.predictions[there, t]
        alone = OutOfFold(
            y[there, t].long(), torch.stack([1 - one, one], 1), known.fold[there], known.held_out
        )
        both = torch.stack([1 - members[..., t], members[..., t]], -1)
        assert torch.equal(found[:, t], _sets(both, alone, 0.3))


def test_intervals_and_sets_cover_what_they_promise():
    """Exchangeable residuals: the share of hits is the one asked for, to the noise of the draw."""
    y = torch.randn(2000, 1)
    known = _known(y[:1000], torch.zeros(1000, 1), list(range(10)))
    ends = prediction_intervals(torch.zeros(10, 1000, 1), known, 0.2)[:, 0]
    hit = (ends[:, 0] <= y[1000:, 0]) & (y[1000:, 0] <= ends[:, 1])
    assert 0.75 < float(hit.double().mean()) < 0.85
    said = torch.rand(2000)
    label = (torch.rand(2000) < said).long()
    both = torch.stack([1 - said, said], 1)
    known = _known(label[:1000], both[:1000], list(range(10)))
    found = prediction_sets(both[1000:].expand(10, -1, -1), known, 0.1, BINARY)
    hit = found[torch.arange(1000), label[1000:]]
    assert 0.87 < float(hit.double().mean()) < 0.94


@pytest.mark.parametrize("alpha", [0, 1, -0.1, math.nan, "0.1", None, [0.1, 0.2]])
def test_a_share_of_misses_lies_between_0_and_1(alpha):
    known = _known(torch.randn(30, 1), torch.randn(30, 1), [0])
    with pytest.raises(ValueError, match=r"`alpha` must lie between 0 and 1, got .*0\.1 for"):
        prediction_intervals(torch.randn(1, 1, 1), known, alpha)
