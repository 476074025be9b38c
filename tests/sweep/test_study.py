import pytest

from lgan.sweep import JsonStudy, Outcome
from lgan.sweep.optuna_study import OptunaStudy, sqlite_url
from lgan.sweep.space import shape_of


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
    JsonStudy(tmp_path / "a.json", head()).propose(1)
    with pytest.raises(ValueError, match=r"begun with other settings: seed: 0 → 1.*--name"):
        JsonStudy(tmp_path / "a.json", head(seed=1))
    url = sqlite_url(tmp_path / "a.db")
    OptunaStudy(url, "a", head(sampler="tpe"))
    with pytest.raises(ValueError, match=r"objective: gin → fair"):
        OptunaStudy(url, "a", head(sampler="tpe", objective="fair"))
    with pytest.raises(ValueError, match=r"seeds: 1 → 2"):
        OptunaStudy(url, "a", head(sampler="tpe", seeds=2))


def test_a_search_goes_on_with_the_settings_it_was_begun_with(head, tmp_path):
    given = head().fixed
    begun = head(fixed={**given, "lr_halving": 50, "comb": "linear"})
    JsonStudy(tmp_path / "a.json", begun).propose(1)
    JsonStudy(tmp_path / "a.json", begun).propose(1)
    with pytest.raises(ValueError, match=r"other settings: lr_halving: 50 → 20\. Go on"):
        JsonStudy(tmp_path / "a.json", head(fixed={**begun.fixed, "lr_halving": 20}))
    with pytest.raises(ValueError, match=r"lr_halving: 50 → None; comb: linear → None\. Go on"):
        JsonStudy(tmp_path / "a.json", head())
    JsonStudy(tmp_path / "early.json", head()).propose(1)
    with pytest.raises(ValueError, match=r"lr_halving: None → 50; comb: None → linear\. Go on"):
        JsonStudy(tmp_path / "early.json", begun)


def test_an_exhausted_space_proposes_nothing(head, tmp_path):
    space = {"hidden": [4], "lr": [0.1, 0.2]}
    studies = [
        JsonStudy(tmp_path / "a.json", head(space=space)),
        OptunaStudy(sqlite_url(tmp_path / "a.db"), "a", head(space=space, sampler="tpe")),
    ]
    for now in studies:
        for _ in range(2):
            for trial in now.propose(2):
                now.tell(trial.number, Outcome("done", 0.5))
        assert {trial.params["lr"] for trial in now.trials()} == {0.1, 0.2}
        assert now.propose(1) == []


def test_random_proposals_depend_on_seed_and_history_alone(head, tmp_path):
    a, b = JsonStudy(tmp_path / "a.json", head()), JsonStudy(tmp_path / "b.json", head())
    first = [a.propose(2), b.propose(2)]
    second = [a.propose(2), JsonStudy(tmp_path / "b.json", head()).propose(2)]
    assert first[0] == first[1]
    assert second[0] == second[1]
    other = JsonStudy(tmp_path / "c.json", head(seed=5))
    assert [other.propose(2), other.propose(2)] != [first[0], second[0]]


def test_a_json_study_does_not_know_other_samplers(head, tmp_path):
    with pytest.raises(ValueError, match=r"random or grid, got 'tpe'"):
        JsonStudy(tmp_path / "a.json", head(sampler="tpe"))
