"""Features of whole graphs behind the read-out: the laws that every network keeps."""

import copy
from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

import lgan
from laws import (
    assert_batching_invariant,
    assert_permutation_invariant,
    varied_graphs,
)
from lgan.graph.device_union import DeviceUnion
from lgan.nn.graph_block import GraphBlock, graph_alone
from lgan.train import train_ensemble
from lgan.zoo import GIN
from lgan.zoo.dcnn import DCNN
from stacks import build_stack

NETWORKS = {"lgan": lgan.LGAN, "gin": GIN}


def network(name, **options):
    torch.manual_seed(0)
    return NETWORKS[name](3, 4, 2, num_layers=2, graph_dim=5, **options).double()


def graphs():
    torch.manual_seed(1)
    made = varied_graphs(3)
    for graph in made:
        graph.graph_x = torch.randn(1, 5, dtype=torch.float64)
    return made


@pytest.fixture
def union():
    torch.manual_seed(2)
    made = lgan.load("triangles", compress=False)
    made = made.select(torch.arange(0, 40, 3))
    return replace(made, graph_x=torch.randn(made.num_graphs, 5))


def both_directions(graph):
    both = torch.cat([graph.edge_index, graph.edge_index.flip(0)], 1)
    return graph.clone().update({"edge_index": both})


@pytest.mark.parametrize("name", NETWORKS)
def test_every_law_holds(name):
    model = network(name)
    transform = both_directions if name == "gin" else lgan.EgoLineGraph()
    assert_permutation_invariant(model, graphs(), transform)
    assert_batching_invariant(model, graphs(), transform)


@pytest.mark.parametrize("name", NETWORKS)
def test_features_of_a_graph_move_its_output_and_no_other(name, union):
    model = NETWORKS[name](union.num_features, 4, 2, num_layers=2, graph_dim=5).eval()
    before = lgan.train.predict(model, union)
    changed = union.graph_x.clone()
    changed[3] += 1
    after = lgan.train.predict(model, replace(union, graph_x=changed))
    assert ((before != after).any(1)).nonzero().flatten().tolist() == [3]


@pytest.mark.parametrize("name", NETWORKS)
def test_models_side_by_side_are_the_models_alone(name, union):
    def build():
        return NETWORKS[name](union.num_features, 4, 2, num_layers=2, graph_dim=5)

    batch = union.batch(torch.tensor([4, 0, 9]))
    together = build_stack(build, [3, 4]).eval()(batch)
    for got, seed in zip(together, (3, 4), strict=True):
        alone = build_stack(build, [seed]).eval()(batch)[0]
        torch.testing.assert_close(got, alone)


@pytest.mark.parametrize("name", NETWORKS)
def test_dropout_of_models_side_by_side_is_that_of_the_models_alone(name, union):
    def build():
        return NETWORKS[name](
            union.num_features, 4, 2, num_layers=2, graph_dim=5, graph_dropout=0.5
        )

    batch = union.batch(torch.tensor([4, 0, 9]))
    together = build_stack(build, [3, 4]).train()
    alone = [build_stack(build, [seed]).train() for seed in (3, 4)]
    outputs = [torch.stack([m(batch)[0] for m in alone]) for _ in range(2)]
    for expected in outputs:
        torch.testing.assert_close(together(batch), expected)
    assert (outputs[0] != outputs[1]).any()  # another mask in every pass


def test_dropout_of_the_block_by_hand(union):
    torch.manual_seed(0)
    block = GraphBlock(5, 4, dropout=0.5)
    drop = copy.deepcopy(block.dropout)
    h, batch = torch.randn(3, 2), union.batch(torch.tensor([4, 0, 9]))
    dropped = drop(batch.graph_x)
    withheld = drop(torch.ones(3, 1)) == 0
    joined = (dropped @ block.lin.weight + block.lin.bias).relu().masked_fill(withheld, 0)
    torch.testing.assert_close(block(h, batch), torch.cat([h, joined], 1))
    assert (dropped == 0).any()
    plain = (batch.graph_x @ block.lin.weight + block.lin.bias).relu()
    torch.testing.assert_close(block.eval()(h, batch), torch.cat([h, plain], 1))


def test_what_is_joined_is_withheld_from_some_graphs_as_a_whole():
    torch.manual_seed(0)
    block = GraphBlock(5, 4, dropout=0.5)
    torch.nn.init.ones_(block.lin.bias)  # so that nothing that is joined is 0 by itself
    torch.nn.init.zeros_(block.lin.weight)
    batch = Data(graph_x=torch.ones(1000, 5))
    joined = block(torch.zeros(1000, 1), batch)[:, 1:]
    assert set(joined.sum(1).tolist()) == {0.0, 4.0}  # whole, and not scaled: a network without
    assert 400 < int((joined.sum(1) == 0).sum()) < 600  # is one of its own


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_alone_with_its_graphs_reads_nothing_else(name, union):
    sizes = (union.num_features, 4, 2)
    told = NETWORKS[name](*sizes, num_layers=2, graph_dim=5, graph_dropout=0.5).eval()
    before = lgan.train.predict(told, union)
    alone = graph_alone(told)
    said = lgan.train.predict(alone, union)
    others = replace(union, graph_x=torch.randn_like(union.graph_x))
    torch.testing.assert_close(said, lgan.train.predict(alone, others))
    assert (said != before).any()
    torch.testing.assert_close(before, lgan.train.predict(told, union))  # left as it was
    # What it has learned to say where everything is withheld.
    told.graph_block.lin.weight.data.zero_()
    told.graph_block.lin.bias.data.zero_()
    torch.testing.assert_close(said, lgan.train.predict(told, union))


def test_a_network_that_never_did_without_is_asked_as_it_is():
    plain = lgan.LGAN(3, 4, 2, graph_dim=5)
    assert graph_alone(plain) is plain
    assert graph_alone(none := lgan.LGAN(3, 4, 2)) is none


def test_networks_that_were_saved_without_dropout_of_the_block_have_the_names_they_had():
    assert {*GraphBlock(5, 4).state_dict()} == {"lin.weight", "lin.bias"}


def test_a_batch_has_the_features_of_its_graphs_on_every_road(union):
    ids = torch.tensor([5, 1, 1, 8])
    on_device = DeviceUnion(union)
    for batch in (union.batch(ids), on_device.batch(ids, on_device.capacity(ids[None]))):
        assert torch.equal(batch.graph_x, union.graph_x[ids])
    assert torch.equal(union.select(ids).graph_x, union.graph_x[ids])
    again = lgan.GraphUnion.from_tensors(union.tensors())
    assert torch.equal(again.graph_x, union.graph_x)


def test_a_selection_is_what_its_batch_is(union):
    ids = torch.tensor([7, 2, 11])
    chosen, batch = union.select(ids), union.batch(ids)
    whole = chosen.batch(torch.arange(3))
    assert torch.equal(whole.x, batch.x)
    assert torch.equal(whole.ptr, batch.ptr)
    assert torch.equal(whole.lines.pair_index, batch.lines.pair_index)
    assert torch.equal(whole.lines.opposite_index, batch.lines.opposite_index)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"graph_dim": 5, "graph_dropout": 1.0}, "`graph_dropout` must be at least 0 and below 1"),
        ({"graph_dropout": 0.5}, "no features of whole graphs to drop"),
    ],
)
def test_a_share_that_cannot_be_dropped_is_refused(name, given, message):
    with pytest.raises(ValueError, match=message):
        NETWORKS[name](3, 4, 2, **given)


def test_what_does_not_fit_is_refused(union):
    model = lgan.LGAN(union.num_features, 4, 2, graph_dim=6)
    with pytest.raises(ValueError, match=r"reads `graph_x` of shape \[2, 6\].*got shape \[2, 5\]"):
        model(union.batch(torch.tensor([0, 1])))
    with pytest.raises(ValueError, match="`graph_dim` must be 1 or more"):
        lgan.LGAN(2, 4, 2, graph_dim=0)
    with pytest.raises(ValueError, match="5 features of whole graphs and the model DCNN reads"):
        train_ensemble(
            lambda: DCNN(union.num_features, 4, 2),
            union,
            members=2,
            folds=torch.arange(14) // 2 % 2,
        )
    bad = torch.full_like(union.graph_x, torch.nan)
    with pytest.raises(ValueError, match="`graph_x` must be finite"):
        replace(union, graph_x=bad)
