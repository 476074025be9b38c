from itertools import pairwise

import pytest
import torch

from lgan.nn.readout import check_readout, readout, skip_cat

PTR = torch.tensor([0, 3, 3, 4, 7])
MULTIPLICITY = torch.tensor([1, 4, 2, 3, 1, 1, 2])
REDUCE = {
    "sum": lambda rows: rows.sum(0),
    "mean": lambda rows: rows.mean(0),
    "max": lambda rows: rows.amax(0),
    "squashed": lambda rows: rows.sum(0).asinh(),
}


@pytest.mark.parametrize("reduce", REDUCE)
def test_twins_count_as_often_as_they_are(reduce):
    x = torch.randn(7, 4).double().requires_grad_()
    direction = torch.randn(4, 4).double()
    got = readout(x, PTR, MULTIPLICITY, reduce)
    parts = []
    for a, b in pairwise(PTR):
        rows = x[a:b].repeat_interleave(MULTIPLICITY[a:b], 0)
        parts.append(REDUCE[reduce](rows) if len(rows) else x.new_zeros(4))
    expected = torch.stack(parts)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-13)
    grads = [torch.autograd.grad((y * direction).sum(), x)[0] for y in (got, expected)]
    torch.testing.assert_close(*grads, rtol=0, atol=1e-13)


def test_the_largest_takes_the_whole_gradient_where_it_is_zero():
    x = torch.tensor([[-1.0], [0.0], [2.0]], requires_grad=True)
    readout(x, torch.tensor([0, 2, 3]), torch.ones(3), "max").sum().backward()
    assert x.grad.flatten().tolist() == [0, 1, 1]


@pytest.mark.parametrize("reduce", REDUCE)
def test_a_graph_without_nodes_gives_zero(reduce):
    x = -torch.ones(7, 4)
    assert readout(x, PTR, MULTIPLICITY, reduce)[1].tolist() == [0, 0, 0, 0]
    none = readout(x[:0], torch.tensor([0, 0]), MULTIPLICITY[:0], reduce)
    assert none.tolist() == [[0, 0, 0, 0]]


@pytest.mark.parametrize("reduce", REDUCE)
def test_nodes_beyond_the_last_graph_count_nowhere(reduce):
    x = torch.randn(9, 4)
    multiplicity = torch.cat([MULTIPLICITY, torch.tensor([3, 1])])
    longer = readout(x, PTR, multiplicity, reduce)
    assert torch.equal(longer, readout(x[:7], PTR, MULTIPLICITY, reduce))


@pytest.mark.parametrize("reduce", REDUCE)
def test_models_side_by_side_are_read_out_alone(reduce):
    x = torch.randn(3, 7, 4)
    together = readout(x, PTR, MULTIPLICITY, reduce)
    for k in range(3):
        assert torch.equal(together[k], readout(x[k], PTR, MULTIPLICITY, reduce))
    rows = x.view(3, 1, 7, 4)
    assert torch.equal(readout(rows, PTR, MULTIPLICITY, reduce), together.view(3, 1, 4, 4))


@pytest.mark.parametrize("reduce", [("max",), ("sum", "max"), ("mean",)])
def test_levels_are_read_out_as_their_concatenation(reduce):
    levels = torch.randn(2, 7, 4).unbind()
    whole = [readout(torch.cat(levels, -1), PTR, MULTIPLICITY, kind) for kind in reduce]
    got = skip_cat(levels, PTR, MULTIPLICITY, reduce)
    torch.testing.assert_close(got, torch.cat(whole, -1))


def test_an_unknown_readout_is_refused_with_the_names():
    with pytest.raises(ValueError, match=r"`readout` must be one of .*sum.*mean.*max.*'median'"):
        check_readout("median")
