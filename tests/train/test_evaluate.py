import gc
import weakref

import pytest
import torch

from lgan import GraphUnion, predict
from lgan.graph import GraphBatch
from lgan.graph.device_union import DeviceUnion
from lgan.train import evaluate
from lgan.train.evaluate import HeldOut
from lgan.train.stack import unstack
from stacks import build_stack


@pytest.fixture(params=["lgan", "gin"])
def models(request: pytest.FixtureRequest, factory, union: GraphUnion):
    """Three stacked models whose running statistics are not those of the start."""
    together = build_stack(factory(request.param, dropout=0.5), [1, 2, 3])
    with torch.no_grad():
        together(union.batch(torch.arange(0, 46, 2)))
    return together, factory(request.param, dropout=0.5)


HELD_OUT = [torch.tensor([0, 7, 12]), torch.tensor([40]), torch.tensor([3, 2, 1, 45])]


def _alone(together, build, k):
    model = build()
    model.load_state_dict(unstack(together, k))
    return model


def test_each_model_answers_for_its_own_graphs(models, union):
    together, build = models
    found = HeldOut(union, HELD_OUT).outputs(together)
    for k, ids in enumerate(HELD_OUT):
        torch.testing.assert_close(found[k], predict(_alone(together, build, k), union, ids))


def test_one_shared_pass_gives_the_same_answers(models, union):
    together, _ = models
    alone, shared = HeldOut(union, HELD_OUT), HeldOut(union, HELD_OUT)
    # What a GPU does, forced on the CPU.
    everything = torch.unique(torch.cat(HELD_OUT))
    shared.groups = [evaluate._Group(slice(0, 3), everything)]
    shared.places = [evaluate._places(shared.groups[0], HELD_OUT, union.device)]
    shared.batches = [[union.batch(everything)]]
    for a, b in zip(alone.outputs(together), shared.outputs(together), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_captured_pass_reads_the_weights_as_they_are(models, union):
    together, on_gpu = models[0].cuda(), union.to("cuda")
    plain = HeldOut(on_gpu, HELD_OUT)
    captured = HeldOut(on_gpu, HELD_OUT, captured=DeviceUnion(on_gpu))
    for _ in range(3):
        for a, b in zip(plain.outputs(together), captured.outputs(together), strict=True):
            torch.testing.assert_close(a, b)
        with torch.no_grad():
            for parameter in together.parameters():
                parameter.mul_(1.1)
    assert captured.captured is not None


def test_a_model_alone_in_a_shared_pass_finds_its_graphs_in_their_order():
    # The test graphs come before those of the inner hold-out; the pass has all of them sorted.
    mine = torch.tensor([5, 7, 0, 2])
    places = evaluate._places(evaluate._Group(slice(0, 1), mine.sort().values), [mine], mine.device)
    assert mine.sort().values[places[0]].tolist() == [5, 7, 0, 2]


def test_what_was_read_is_freed_with_the_last_reference(models, union):
    held_out = HeldOut(union, HELD_OUT)
    held_out.outputs(models[0])
    gone = weakref.ref(held_out)
    gc.disable()  # a cycle would keep batches and models until it is found
    try:
        del held_out
        assert gone() is None
    finally:
        gc.enable()


def test_models_with_the_same_graphs_are_tested_together(models, union):
    together, build = models
    first, second = torch.tensor([5, 9]), torch.tensor([1, 0, 2])
    held_out = HeldOut(union, [first, second, first])
    assert [group.models for group in held_out.groups] == [slice(0, 3, 2), slice(1, 2, 1)]
    for k, found in enumerate(held_out.outputs(together)):
        ids = [first, second, first][k]
        torch.testing.assert_close(found, predict(_alone(together, build, k), union, ids))


def test_models_that_are_no_slice_are_tested_alone():
    ids = [torch.tensor([0]), torch.tensor([0]), torch.tensor([1]), torch.tensor([0])]
    groups = evaluate._same_graphs(ids)
    assert [group.models for group in groups] == [
        slice(0, 1), slice(1, 2), slice(3, 4), slice(2, 3, 1),
    ]  # fmt: skip


def test_stacked_predictions_are_those_of_the_models(models, union):
    together, build = models
    out = predict(together, union)
    assert out.shape == (3, 46, 2)
    for k in range(3):
        torch.testing.assert_close(out[k], predict(_alone(together, build, k), union))


@pytest.mark.parametrize("chunk", [1, 100, 1000])
def test_chunks_change_no_result(chunk, models, union, monkeypatch):
    together, build = models
    model = _alone(together, build, 1)
    whole = predict(model, union)
    found = HeldOut(union, HELD_OUT).outputs(together)
    for limit in ("CHUNK", "ON_CPU", "CACHED"):
        monkeypatch.setattr(evaluate, limit, chunk)
    assert len(evaluate.in_pieces(union, torch.arange(46), chunk)) > 1
    torch.testing.assert_close(predict(model, union), whole)
    for a, b in zip(HeldOut(union, HELD_OUT).outputs(together), found, strict=True):
        torch.testing.assert_close(a, b)


def test_predictions_come_in_the_order_asked_for(models, union):
    together, build = models
    model = _alone(together, build, 0)
    ids = torch.tensor([9, 3, 27])
    torch.testing.assert_close(predict(model, union, ids), predict(model, union)[ids])


def test_no_graphs_give_no_predictions(models, union):
    together, build = models
    none = torch.empty(0, dtype=torch.int64)
    assert predict(_alone(together, build, 0), union, none).shape == (0, 2)


@pytest.mark.parametrize("training", [True, False])
def test_evaluation_leaves_mode_and_state_alone(training, models, union):
    together, _ = models
    together.train(training)
    before = {name: tensor.clone() for name, tensor in together.state_dict().items()}
    predict(together, union)
    HeldOut(union, HELD_OUT).outputs(together)
    assert together.training is training
    for name, tensor in together.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_batches_cut_anew_give_the_same_answers(models, union):
    together, _ = models
    kept, anew = HeldOut(union, HELD_OUT), HeldOut(union, HELD_OUT)
    anew.batches = []  # what a data set does that is not on the device
    for a, b in zip(kept.outputs(together), anew.outputs(together), strict=True):
        assert torch.equal(a, b)


class _Elsewhere(torch.nn.Module):
    """A model on another device, which refuses a batch that is not there."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(2, device="meta"))

    def forward(self, batch: GraphBatch) -> torch.Tensor:
        assert batch.x.device == batch.lines.pair_index.device == self.weight.device
        return self.weight.expand(batch.num_graphs, 2)


def test_batches_are_moved_to_where_the_model_is(union):
    out = predict(_Elsewhere(), union)
    assert (out.shape, out.device.type, union.device.type) == ((46, 2), "meta", "cpu")
