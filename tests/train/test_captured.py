"""Steps captured from window to window of shards do what plain ones do."""

from contextlib import nullcontext
from functools import partial
from unittest.mock import MagicMock

import pytest
import torch
from torch import Tensor

from lgan import LGAN, TrainConfig
from lgan.data import prepare_shards, stratified_folds
from lgan.data.shards.union import ShardedUnion
from lgan.train import captured, loop
from lgan.train.jobs import Variant, held_out_job

pytest.importorskip("rdkit")


@pytest.fixture
def union(tmp_path):
    """Windows of two shards, of which one has no triangle and some have few graphs."""
    rings = ["CCO", "C1CC1C", "c1ccccc1Br", "CC(=O)[O-]", "C1CC1", "C#N", "O", "CC1CC1CCN"]
    smiles = ["CO"] * 40 + [rings[i % 8] for i in range(160)]
    rows = (f"{text},{i % 7}" for i, text in enumerate(smiles))
    (tmp_path / "t.csv").write_text("\n".join(["smiles,y", *rows, ""]))
    return ShardedUnion(prepare_shards(tmp_path / "t.csv", tmp_path / "shards", shards=9), 2)


def _losses(union: ShardedUnion, *, device: str, captured: bool) -> Tensor:
    fold = stratified_folds(union.y, 5, seed=1)
    sizes = (union.num_features, 8, union.num_classes)
    build = partial(LGAN, *sizes, norm="layer", edge_dim=union.num_edge_features)
    config = TrainConfig(epochs=3, iterations=0, batch_size=9, seed=5, average=0.5)
    weight = torch.rand(union.num_graphs, generator=torch.Generator().manual_seed(0)) + 0.5
    found = loop.train_together(
        union, [Variant(build, config, {})], [held_out_job(fold, k, seed=k) for k in range(5)],
        groups=fold, graph_weight=weight, device=torch.device(device), captured=captured,
    )  # fmt: skip
    return found[1].loss


@pytest.mark.usefixtures("float64")
def test_windows_take_each_others_place(union, monkeypatch):
    """Without a GPU: streams do nothing, and what is captured is what is called."""
    plain = _losses(union, device="cpu", captured=False)
    for name in ("Stream", "Event", "current_stream", "synchronize", "graph_pool_handle"):
        monkeypatch.setattr(torch.cuda, name, MagicMock())
    monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
    monkeypatch.setattr(Tensor, "record_stream", lambda *_: None)
    recorded = []
    monkeypatch.setattr(captured, "_captured", lambda work, *_: recorded.append(work) or work)
    made: list[captured.CapturedWindows] = []

    def run(union, objective, seen, step, weight, batches, scale):
        made.append(captured.CapturedWindows(union, torch.device("cpu"), seen, step, weight))
        return made[0].run(batches, scale)

    monkeypatch.setattr(loop, "_run_steps", run)
    found = _losses(union, device="cpu", captured=False)
    torch.testing.assert_close(found, plain, rtol=1e-9, atol=1e-11)
    assert len(recorded) <= 4 * 5, "no more than once a window in the first epoch of three"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_windows_on_a_gpu_are_captured_and_train_as_plain_ones_do(union):
    """In single precision, which captured batches need."""
    found, plain = (_losses(union, device="cuda", captured=captured) for captured in (True, False))
    torch.testing.assert_close(found, plain, rtol=1e-5, atol=1e-5)
