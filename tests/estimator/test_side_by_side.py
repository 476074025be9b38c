import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

import lgan
from lgan.data import graph_features
from lgan.estimator.side_by_side import fit_side_by_side
from small_estimators import NAMES, NUMBERS, SMILES, classifier, regressor

pytest.importorskip("rdkit", reason="molecules need rdkit")
pytestmark = pytest.mark.filterwarnings("ignore:The rarest class has")
RINGS = ["c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CC1", "C1CCC1", "c1ccoc1"]
MANY = [ring + tail for ring in RINGS for tail in ("C", "CO", "CN", "CF")]


def test_scores_are_those_of_the_fitted_models():
    y, cv = np.array(["a", "b"] * 12), StratifiedKFold(3)
    scores = lgan.cross_validate(classifier(), MANY, y, cv=cv, scoring="roc_auc")
    splits = list(cv.split(MANY, y))
    fitted = fit_side_by_side(classifier(), MANY, y, [train for train, _ in splits])
    for score, model, (_, test) in zip(scores, fitted, splits, strict=True):
        shares = model.predict_proba([MANY[i] for i in test])[:, 1]
        assert score == pytest.approx(roc_auc_score(y[test] == "b", shares))


def test_features_of_molecules_are_decided_by_the_rows_trained_on(monkeypatch):
    y = np.array(["a", "b"] * 12)
    parts = [train for train, _ in KFold(3).split(MANY)]  # of 16 rows
    for most, told in ((17, True), (16, False)):
        monkeypatch.setattr(graph_features, "MOST_ROWS", most)
        first, *_ = fit_side_by_side(classifier(), MANY, y, parts)
        rows = [MANY[i] for i in parts[0]]
        alone = classifier().fit(rows, y[parts[0]])
        for model in (first, alone):
            assert (model.predictor_.encoder.graphs is not None) == told
            assert model.predictor_.checkpoint.options["graph_dropout"] == (0.5 if told else 0)


def test_parts_may_be_masks_or_count_from_the_end_but_hold_no_row_twice():
    y, mask = np.arange(24.0), np.arange(24) % 3 > 0
    first, last = np.flatnonzero(mask), np.flatnonzero(~mask)
    parts = [(first, last), (mask, ~mask), (first - 24, last - 24)]
    each = [lgan.cross_validate(regressor(), MANY, y, cv=[part]) for part in parts]
    assert each[0] == each[1] == each[2]
    with pytest.raises(ValueError, match="every row once at most"):
        lgan.cross_validate(regressor(), MANY, y, cv=[(np.r_[first, first[:1]], last)])


def test_no_model_has_seen_its_test_part():
    parts = [train for train, _ in KFold(3).split(MANY)]
    y = np.arange(24.0)
    first = fit_side_by_side(regressor(), MANY, y, parts)
    for part, model in zip(parts, first, strict=True):
        seen = model.predictor_.seen(model.predictor_.read(MANY))
        assert seen.nonzero().flatten().tolist() == part.tolist()
        known = model.predictor_.checkpoint.out_of_fold
        assert set(known.y[:, 0].tolist()) <= set(y[part].tolist())
    test = np.setdiff1d(np.arange(24), parts[1])
    changed = y.copy()
    changed[test] += 100
    second = fit_side_by_side(regressor(), MANY, changed, parts)[1]
    assert np.array_equal(second.predict(MANY), first[1].predict(MANY))
    assert not np.array_equal(
        fit_side_by_side(regressor(), MANY, changed, parts)[0].predict(MANY),
        first[0].predict(MANY),
    )


def test_groups_tables_and_rows_that_cannot_be_read():
    smiles = [*MANY[:5], "C1CC", *MANY[5:]]
    y = pd.Series(np.arange(25.0), index=range(50, 75))
    table = pd.DataFrame({"smiles": smiles}, index=y.index)
    groups = np.arange(25) // 4
    with pytest.warns(UserWarning, match="1 of 25 graphs cannot be read and are left out"):
        scores = lgan.cross_validate(
            regressor(), table, y, cv=GroupKFold(3), groups=groups, scoring=_mean_error
        )
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


def _mean_error(model, smiles, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what cannot be read is tested on too
        return float(np.nanmean(np.abs(model.predict(smiles) - np.asarray(y))))


def test_a_number_of_folds_is_stratified_for_classes():
    scores = lgan.cross_validate(classifier(), SMILES, NAMES, cv=2)
    assert scores.shape == (2,)
    assert lgan.cross_validate(regressor(), SMILES, NUMBERS).shape == (5,)


def test_networks_go_the_way_they_went():
    union = lgan.load("triangles")
    build = lambda: lgan.LGAN(union.num_features, 4, 2, num_layers=1)  # noqa: E731
    config = lgan.TrainConfig(epochs=1, iterations=1)
    result = lgan.cross_validate(build, union, folds=2, config=config)
    expected = lgan.train.cross_validate(build, union, folds=2, config=config)
    assert torch.equal(result.test, expected.test)


def test_other_estimators_are_sent_to_scikit_learn():
    with pytest.raises(TypeError, match=r"got LinearRegression\. Use `sklearn\.model_selection"):
        lgan.cross_validate(LinearRegression(), [[1]], [1])


def test_several_scores_and_no_split_are_refused():
    for scoring in (["accuracy", "roc_auc"], {"a": "accuracy"}):
        with pytest.raises(TypeError, match=r"one name or one scorer.*cross_validate`"):
            lgan.cross_validate(classifier(), SMILES, NAMES, cv=2, scoring=scoring)
    with pytest.raises(ValueError, match="a split or more, got none"):
        lgan.cross_validate(classifier(), SMILES, NAMES, cv=[])
