from functools import partial

import torch

import lgan
from benchmarks.training import PEER, Training, dense_operations, train_beside
from lgan.train.jobs import held_out_job


def _training() -> Training:
    union = lgan.load("triangles")
    fold = torch.arange(union.num_graphs) % 2
    factory = partial(lgan.LGAN, union.num_features, 4, union.num_classes, num_layers=1)
    jobs = [held_out_job(fold, k, seed=k) for k in range(2)]
    return Training(union=union, factory=factory, jobs=jobs, groups=fold)


def test_an_epoch_of_the_peer_follows_each_of_ours():
    ran = []
    samples = train_beside(_training(), ran.append, repeats=2)
    assert ran == [0, 1, 2]
    assert {side: len(seconds) for side, seconds in samples.items()} == {"lgan": 2, PEER: 2}
    assert all(second > 0 for second in samples["lgan"])


def test_training_without_a_peer_is_measured_too(tmp_path):
    samples = train_beside(_training(), None, repeats=1, state=tmp_path / "state-0.safetensors")
    assert len(samples["lgan"]) == 1
    assert samples[PEER] == []
    assert (tmp_path / "state-0.safetensors").exists()


def test_dense_operations_are_those_of_the_linear_maps():
    training = _training()
    # At least the fusing map of both models, forward, on every node: 2 x 8 x 4 operations each.
    assert dense_operations(lambda: training.run(1)) > 2 * 64 * training.union.lines.num_nodes / 2
