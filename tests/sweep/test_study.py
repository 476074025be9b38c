from functools import partial

import pytest

from lgan.sweep import Outcome, Study, Trial
from lgan.sweep.space import shape_of
from lgan.sweep.study import optuna_study


def _propose_all(study, size=3):
    batches = []
    while sum(map(len, batches)) < 8 and (batch := study.propose(size)):
        batches.append(batch)
        for trial in batch:
            study.tell(trial.number, Outcome("done", trial.params["lr"]))
    return batches


def test_a_batch_has_one_shape_and_no_point_is_run_twice(study):
    batches = _propose_all(study())
    for batch in batches:
        assert len({str(shape_of(trial.params)) for trial in batch}) == 1
    run = [tuple(sorted(t.params.items())) for batch in batches for t in batch]
    assert len(run) == len(set(run))
    assert set(run) == {
        (("dropout", d), ("hidden", h), ("lr", r))
        for d in (0.0, 0.5)
        for h in (4, 8)
        for r in (0.01, 0.001)
    }


def test_what_was_proposed_is_known_to_whoever_opens_the_study_next(study):
    first = study()
    [a, b] = first.propose(2)
    first.tell(b.number, Outcome("done", 0.5, {"gin": {"mean": 0.5, "std": 0.1}}, {1: 0.4, 2: 0.5}))
    again = study()
    assert again.unfinished() == [a]
    [known] = [trial for trial in again.trials() if trial.number == b.number]
    assert known.outcome == Outcome(
        "done", 0.5, {"gin": {"mean": 0.5, "std": 0.1}}, {1: 0.4, 2: 0.5}
    )
    again.tell(a.number, Outcome("failed", message="too large"))
    assert study().unfinished() == []
    assert study().record().winner == known


def test_pruned_and_failed_trials_never_win(study):
    now = study()
    states = ["pruned", "failed"]
    for trial, state in zip(now.propose(2), states, strict=True):
        now.tell(
            trial.number, Outcome(state, 0.9 if state == "pruned" else None, progress={1: 0.9})
        )
    assert now.record().winner is None
    assert [trial.outcome.state for trial in study().trials()] == states


def test_another_search_under_the_same_name_is_refused(head, tmp_path):
    Study(tmp_path / "a.json", head()).propose(1)
    with pytest.raises(ValueError, match=r"begun with other settings: seed: 0 → 1.*--name"):
        Study(tmp_path / "a.json", head(seed=1))
    with pytest.raises(ValueError, match=r"objective: gin → fair"):
        Study(tmp_path / "a.json", head(objective="fair"))
    with pytest.raises(ValueError, match=r"sampler: random → tpe"):
        Study(tmp_path / "a.json", head(sampler="tpe"))


def test_a_search_goes_on_with_the_settings_it_was_begun_with(head, tmp_path):
    given = head().fixed
    begun = head(fixed={**given, "lr_halving": 50, "comb": "linear"})
    Study(tmp_path / "a.json", begun).propose(1)
    Study(tmp_path / "a.json", begun).propose(1)
    with pytest.raises(ValueError, match=r"other settings: lr_halving: 50 → 20\. Go on"):
        Study(tmp_path / "a.json", head(fixed={**begun.fixed, "lr_halving": 20}))
    with pytest.raises(ValueError, match=r"lr_halving: 50 → None; comb: linear → None\. Go on"):
        Study(tmp_path / "a.json", head())
    Study(tmp_path / "early.json", head()).propose(1)
    with pytest.raises(ValueError, match=r"lr_halving: None → 50; comb: None → linear\. Go on"):
        Study(tmp_path / "early.json", begun)


@pytest.mark.parametrize("sampler", ["random", "grid", "tpe"])
def test_an_exhausted_space_proposes_nothing(head, tmp_path, sampler):
    space = {"hidden": [4], "lr": [0.1, 0.2]}
    now = Study(tmp_path / "a.json", head(space=space, sampler=sampler))
    for _ in range(2):
        for trial in now.propose(2):
            now.tell(trial.number, Outcome("done", 0.5))
    assert {trial.params["lr"] for trial in now.trials()} == {0.1, 0.2}
    assert now.propose(1) == []


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_proposals_depend_on_seed_and_history_alone(head, tmp_path, sampler):
    head = partial(head, sampler=sampler)
    a, b = Study(tmp_path / "a.json", head()), Study(tmp_path / "b.json", head())
    first = [a.propose(2), b.propose(2)]
    second = [a.propose(2), Study(tmp_path / "b.json", head()).propose(2)]
    assert first[0] == first[1]
    assert second[0] == second[1]
    other = Study(tmp_path / "c.json", head(seed=5))
    assert [other.propose(2), other.propose(2)] != [first[0], second[0]]


def test_an_unknown_sampler_is_refused(head, tmp_path):
    with pytest.raises(
        ValueError, match=r"Unknown sampler 'magic'\. Choose one of: random, grid, tpe"
    ):
        Study(tmp_path / "a.json", head(sampler="magic"))


def test_numbers_of_an_old_record_may_have_gaps(head, tmp_path):
    path, first = tmp_path / "a.json", {"hidden": 4, "lr": 0.01, "dropout": 0.0}
    study = Study(path, head())
    study._trials = {5: Trial(5, first)}  # a repeated proposal was once numbered too
    study._save()
    again = Study(path, head())
    again.tell(5, Outcome("done", 0.5))
    assert [trial.number for trial in again.propose(1)] == [6]
    assert Study(path, head()).record().winner.params == first


def test_a_search_is_handed_to_a_database_as_often_as_one_likes(head, tmp_path):
    url, params = f"sqlite:///{tmp_path}/a.db", {"hidden": 4, "lr": 0.01, "dropout": 0.0}
    trials = [Trial(0, params, Outcome("done", 0.5, progress={1: 0.4})), Trial(1, params)]
    for _ in range(2):
        study = optuna_study(head(), trials, storage=url, name="a")
    assert study.best_value == 0.5
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "RUNNING"]
