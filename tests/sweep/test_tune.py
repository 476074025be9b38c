import pytest

from lgan.sweep import Here, Outcome, Trial, tune
from lgan.sweep.tune import medians


class _Dying(Here):
    """Workers of which some die."""

    def __init__(self, run, deaths):
        super().__init__(run)
        self.deaths = deaths

    def next(self):
        if self.deaths:
            self.deaths -= 1
            return self._queue.popleft()[0], None
        return super().next()


def test_the_best_point_of_the_space_is_found(study, batch, score):
    winner = tune(study(), Here(score), batch, trials=12, size=4)
    assert (winner.params["hidden"], winner.params["lr"]) == (8, 0.01)


def test_a_search_has_as_many_trials_as_asked_for(one_study, batch, score):
    tune(one_study(), Here(score), batch, trials=5, size=3)
    assert len(one_study().trials()) == 5
    assert one_study().unfinished() == []


def test_a_stopped_search_goes_on_and_loses_no_trial(study, batch, score):
    calls = []

    def stopped(now):
        calls.append(now.params)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return score(now)

    with pytest.raises(KeyboardInterrupt):
        tune(study(), Here(stopped), batch, trials=6, size=3)
    running = [trial.params for trial in study().unfinished()]
    assert running == calls[1]

    seen = []

    def again(now):
        seen.append(now.params)
        return score(now)

    tune(study(), Here(again), batch, trials=6, size=3)
    assert seen[0] == running
    assert len(study().trials()) == 6
    assert all(trial.value is not None for trial in study().trials())


def test_a_batch_whose_worker_died_is_run_again(one_study, batch, score):
    tune(one_study(), _Dying(score, deaths=2), batch, trials=3, size=3)
    assert all(trial.value is not None for trial in one_study().trials())


def test_a_batch_that_kills_its_workers_is_given_up(one_study, batch, score):
    winner = tune(one_study(), _Dying(score, deaths=3), batch, trials=2, size=2)
    assert winner is None
    assert all("worker died 3 times" in t.outcome.message for t in one_study().trials())


def test_medians_need_enough_finished_trials():
    done = [Trial(i, {}, Outcome("done", 1.0, progress={5: i / 10, 9: 1.0})) for i in range(8)]
    running = [Trial(8, {}), Trial(9, {}, Outcome("pruned", 0.9, progress={5: 0.9}))]
    assert medians(done + running) == {5: pytest.approx(0.35), 9: 1.0}
    assert medians(done[:7]) == {}


def test_batches_hear_the_medians_only_where_pruning_is_wanted(one_study, batch, score):
    heard = []

    def run(now):
        heard.append(now.medians)
        return score(now)

    tune(one_study(), Here(run), batch, trials=8, size=4, prune=False)
    assert heard == [{}, {}]


def test_no_trial_repeats_another(study, batch, score):
    tune(study(), Here(score), batch, trials=8, size=3)
    found = {tuple(trial.params.values()) for trial in study().trials()}
    assert len(found) == len(study().trials()) == 8
