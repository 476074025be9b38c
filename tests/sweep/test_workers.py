import os
import signal
import time
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest

from lgan.sweep import Here, Processes, RayCluster, Study, tune
from lgan.sweep.evaluate import evaluate
from lgan.sweep.trial import Outcome

PARAMS = [{"hidden": 4, "lr": 0.01, "dropout": 0.0}]


def test_here_runs_batches_in_order(batch, score):
    workers = Here(score)
    for ticket, hidden in enumerate((4, 8)):
        workers.submit(ticket, replace(batch, params=[{"hidden": hidden, "lr": 0}]))
    assert workers.next()[1][0].value == 0.25
    assert workers.next()[1][0].value == 0.5


@pytest.mark.slow
def test_processes_give_what_this_process_gives(batch):
    workers = Processes(2)
    try:
        workers.submit(7, replace(batch, params=PARAMS))
        ticket, outcomes = workers.next()
    finally:
        workers.close()
    [here] = evaluate(replace(batch, params=PARAMS))
    assert ticket == 7
    assert outcomes[0].results == here.results


@pytest.mark.slow
def test_a_killed_process_costs_time_but_no_trial(head, batch, tmp_path):
    study = Study(tmp_path / "a.json", head())
    workers = Processes(2)
    killed = []

    def kill_one(trials):
        if not killed:
            killed.append(active_children()[-1].pid)
            os.kill(killed[0], signal.SIGKILL)

    try:
        tune(study, workers, batch, trials=4, size=2, on_trials=kill_one)
    finally:
        workers.close()
    assert killed
    assert [trial.outcome.state for trial in study.trials()] == ["done"] * 4


def _deadly(batch):
    """Kills its process wherever the width is 8."""
    if batch.params[0]["hidden"] == 8:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(3)  # long enough to be at work while the other process starts and dies
    return [Outcome("done", value=0.5) for _ in batch.params]


@pytest.mark.slow
def test_a_batch_that_kills_its_process_does_not_fail_the_others(batch):
    workers = Processes(2, _deadly)
    try:
        for ticket, hidden in enumerate((4, 8)):
            workers.submit(ticket, replace(batch, params=[{"hidden": hidden, "lr": 0}]))
        ended = dict(workers.next() for _ in range(2))
        workers.submit(2, replace(batch, params=[{"hidden": 4, "lr": 0}]))
        ended |= [workers.next()]
    finally:
        workers.close()
    assert ended[1] is None
    assert ended[0][0].value == ended[2][0].value == 0.5


def _raise(batch):
    raise OSError("no space left")


@pytest.mark.slow
def test_no_process_is_left_behind_by_a_batch_that_raises(batch):
    before = set(active_children())
    workers = Processes(1, _raise)
    workers.submit(0, replace(batch, params=PARAMS))
    with pytest.raises(OSError, match="no space left"):
        workers.next()
    workers.close()
    for process in set(active_children()) - before:
        process.join(10)
        assert not process.is_alive()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")
def test_a_killed_ray_worker_costs_time_but_no_trial_and_the_study_resumes(head, batch, tmp_path):
    ray = pytest.importorskip("ray")
    folder = Path(tmp_path)

    def dying(now):
        """Dies in the middle of its training, the first time."""
        import threading

        (folder / f"pid-{os.getpid()}").touch()
        try:
            (folder / "first").touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL)).start()
            threading.Event().wait(60)
        return evaluate(now)

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        workers = RayCluster("auto", run=dying)
        assert workers.slots == 2
        tune(Study(folder / "a.json", head()), workers, batch, trials=6, size=2)
        done = Study(folder / "a.json", head())
        assert [trial.outcome.state for trial in done.trials()] == ["done"] * 6
        assert len(list(folder.glob("pid-*"))) >= 2
        tune(done, workers, batch, trials=8, size=2)
        assert [trial.outcome.state for trial in done.trials()] == ["done"] * 8
        workers.close()
    finally:
        ray.shutdown()
