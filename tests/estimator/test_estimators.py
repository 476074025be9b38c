import pickle
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingRegressor,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, get_scorer, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from torch_geometric.data import Data

import lgan
from lgan import LGANClassifier, LGANRegressor
from lgan.estimator import estimators
from lgan.train.folds import choose_groups
from small_estimators import NAMES, NUMBERS, SMALL, SMILES, classifier, regressor

pytest.importorskip("rdkit", reason="molecules need rdkit")
pytestmark = pytest.mark.filterwarnings("ignore:The rarest class has")
BOTH = [LGANClassifier, LGANRegressor]
MISSING = np.tile([[0, 1], [1, np.nan], [np.nan, 0], [1, 1.0]], (4, 1))


@pytest.mark.parametrize("kind", BOTH)
def test_parameters_are_kept_as_given_and_cloned(kind):
    given = {name: object() for name in kind().get_params()}
    made = kind(**given)
    assert made.get_params() == given
    assert made.set_params(members=3).members == 3
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        made.set_params(colour="blue")
    copy = clone(kind(**SMALL))
    assert copy.get_params() == kind(**SMALL).get_params()
    assert not hasattr(copy, "predictor_")


def test_each_says_what_it_is():
    assert is_classifier(LGANClassifier())
    assert is_regressor(LGANRegressor())


def test_nothing_is_answered_before_fit():
    for call in ("predict", "predict_proba", "predict_set", "explain"):
        with pytest.raises(NotFittedError):
            getattr(classifier(), call)(SMILES)
    for call in ("predict", "predict_std", "predict_interval"):
        with pytest.raises(NotFittedError):
            getattr(regressor(), call)(SMILES)
    with pytest.raises(NotFittedError):
        classifier().save("nowhere")


def test_a_pickled_model_says_the_same(classes, numbers):
    again = pickle.loads(pickle.dumps(classes))
    assert np.array_equal(again.predict_proba(SMILES), classes.predict_proba(SMILES))
    assert again.get_params() == classes.get_params()
    other = pickle.loads(pickle.dumps(numbers))
    assert np.array_equal(other.predict_interval(SMILES), numbers.predict_interval(SMILES))


def test_a_saved_model_says_the_same(classes, tmp_path):
    classes.save(tmp_path / "model.safetensors")
    loaded = lgan.load_model(tmp_path / "model.safetensors")
    assert loaded.predict(SMILES).tolist() == classes.predict(SMILES).tolist()


def test_a_second_fit_with_the_same_seed_is_the_same_model(classes):
    again = clone(classes).fit(SMILES, NAMES)
    assert np.array_equal(again.predict_proba(SMILES), classes.predict_proba(SMILES))
    other = clone(classes).set_params(random_state=np.random.RandomState(3)).fit(SMILES, NAMES)
    assert not np.array_equal(other.predict_proba(SMILES), classes.predict_proba(SMILES))


@pytest.mark.parametrize(
    "labels",
    [["b", "a"], [7, 3], [True, False], [0.5, -1.5], [2, 0, 1], ["inactive", "active"],
     ["Yes", "No"], [10, 9, 2]],
    ids=str,
)  # fmt: skip
def test_labels_come_back_as_they_were_given(labels):
    y = np.resize(labels, 16)
    model = classifier(epochs=30, members=1).fit(SMILES, y)
    assert np.array_equal(model.classes_, np.unique(y))
    assert model.classes_.dtype == y.dtype
    said, shares = model.predict(SMILES), model.predict_proba(SMILES)
    assert said.dtype == y.dtype
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-6)
    assert np.array_equal(said, model.classes_[shares.argmax(1)])
    # The model file names the same class.
    assert model.predictor_.predict(SMILES).tolist() == [str(v) for v in said.tolist()]
    assert np.take_along_axis(model.predict_set(SMILES), shares.argmax(1)[:, None], 1).all()


def test_a_column_of_probabilities_belongs_to_its_class():
    """Oxygen or not, and a name for either that sorts the other way than what the task has."""
    y = np.array(["active" if "O" in s else "inactive" for s in SMILES])
    model = classifier(epochs=60, members=3, options={"hidden": 16, "lr": 0.01}).fit(SMILES, y)
    assert list(model.classes_) == ["active", "inactive"]
    assert model.score(SMILES, y) == accuracy_score(y, model.predict(SMILES)) > 0.8
    assert cross_val_score(model, SMILES, y, cv=2, scoring="roc_auc").mean() > 0.6


def test_values_that_training_never_saw_are_told_once(classes, numbers):
    calls = [classes.predict, classes.predict_proba, classes.predict_set, classes.explain,
             numbers.predict, numbers.predict_std, numbers.predict_interval]  # fmt: skip
    for call in calls:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            call(["CCO", "C[Si](C)(C)O[Si](C)(C)C"])
        [one] = told
        assert "not trained on: node element Si (2)" in str(one.message)


def test_a_graph_that_cannot_be_read_costs_its_row():
    ring = torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    graphs = [Data(x=torch.full((3, 1), i / 5), edge_index=ring) for i in range(16)]
    graphs[3].x[1] = torch.nan
    with pytest.warns(
        UserWarning, match="1 of 16 graphs cannot be read and are left out.*row 4: `x`"
    ):
        model = regressor().fit(graphs, NUMBERS)
    assert len(model.predictor_.trained_on) == 15
    with pytest.warns(UserWarning, match="1 of 16 rows cannot be read"):
        assert np.flatnonzero(np.isnan(model.predict(graphs))).tolist() == [3]


@pytest.mark.parametrize("dtype", ["Float32", "float32", object])
def test_labels_of_any_column_of_a_table_are_found_again(dtype):
    y = pd.Series(np.array([0.1, 0.2] * 8, dtype=np.float32), name="y").astype(dtype)
    if dtype is object:
        y = pd.Series(list(np.array([0.1, 0.2] * 8, dtype=np.float32)), name="y", dtype=object)
    for column in (y, y.to_frame(), y.to_numpy(dtype=object)):
        model = classifier().fit(SMILES, column)
        assert model.predict_proba(SMILES).shape == (16, 2)
        assert 0 <= model.score(SMILES, column) <= 1


def test_numbers_are_no_classes():
    wanted = "must hold classes, got 24 different numbers for 24 graphs in 'y'.*`LGANRegressor`"
    for y in (np.arange(24) * 0.37, pd.Series(np.arange(24) * 0.37, dtype="Float32", name="y")):
        with pytest.raises(ValueError, match=wanted):
            classifier().fit((SMILES * 2)[:24], y)
        with pytest.raises(ValueError, match=wanted):
            lgan.cross_validate(classifier(), (SMILES * 2)[:24], y)
    assert len(classifier().fit(SMILES * 3, np.arange(48) % 24 / 2).classes_) == 24


def test_missing_labels_are_left_out():
    model = classifier().fit(SMILES, ["a", "b", None, "b"] * 4)
    assert list(model.classes_) == ["a", "b"]
    assert len(model.predictor_.checkpoint.out_of_fold.y) <= 12
    assert np.array_equal(classifier().fit(SMILES, [0, 1, np.nan, 1] * 4).classes_, [0, 1])


def test_score_is_that_of_scikit_learn(classes, numbers):
    weight = np.arange(16)
    y = np.array(NAMES)
    assert classes.score(SMILES, y) == accuracy_score(y, classes.predict(SMILES))
    assert classes.score(SMILES, y, weight) == pytest.approx(
        accuracy_score(y, classes.predict(SMILES), sample_weight=weight)
    )
    for w in (None, weight):
        expected = r2_score(NUMBERS, numbers.predict(SMILES), sample_weight=w)
        assert numbers.score(SMILES, NUMBERS, w) == pytest.approx(expected)
    assert 0 <= classes.score(["CCO"], ["yes"]) <= 1


def test_tables_and_series_are_read_by_position(classes):
    rows = pd.Index(range(100, 116))
    table = pd.DataFrame({"name": "x", "SMILES": SMILES}, index=rows)
    expected = classes.predict_proba(SMILES)
    for x in (table, table["SMILES"], np.array(SMILES), np.array(SMILES)[:, None], tuple(SMILES)):
        for y in (pd.Series(NAMES, index=rows), pd.DataFrame({"t": NAMES}), np.array(NAMES)):
            model = classifier().fit(x, y)
            assert np.array_equal(model.predict_proba(x), expected)
    assert model.predictor_.task.targets == ("y",)
    assert classifier().fit(SMILES, pd.DataFrame({"t": NAMES})).predictor_.task.targets == ("t",)
    assert classifier().fit(SMILES, pd.Series(NAMES, dtype="category")).classes_[0] == "no"
    with pytest.raises(ValueError, match=r"must have one column `smiles`.*got name, other"):
        classes.predict(pd.DataFrame({"name": SMILES, "other": SMILES}))


def test_several_labels_with_missing_ones():
    model = classifier().fit(SMILES, MISSING)
    assert model.predictor_.task.kind == "multilabel"
    assert model.predict_proba(SMILES).shape == (16, 2)
    assert set(np.unique(model.predict(SMILES))) <= {0, 1}
    assert model.predict_set(SMILES).shape == (16, 2, 2)
    said, there = model.predict(SMILES), ~np.isnan(MISSING)
    assert model.score(SMILES, MISSING) == (said == MISSING)[there].mean()
    names = pd.DataFrame({"a": ["active", "inactive"] * 8, "b": ["inactive", None] * 8})
    worded = classifier().fit(SMILES, names)
    shares = worded.predict_proba(SMILES)
    assert np.array_equal(worded.predict(SMILES) == "inactive", shares > 0.5)
    own = worded.predictor_.predict(SMILES)
    assert np.array_equal(own, worded.predict(SMILES))


@pytest.mark.parametrize("labels", [(0, 1), ("active", "inactive")], ids=str)
@pytest.mark.parametrize("targets", [2, 3])
def test_probabilities_of_several_targets_are_taken_column_by_column(labels, targets):
    """A model with two targets has as many rows of classes as each of them has classes."""
    y = np.array([[row >> target & 1 for target in range(targets)] for row in range(16)])
    named = np.array(labels)[y]
    model = classifier().fit(SMILES, named)
    assert model.classes_.tolist() == [list(labels)] * targets
    said = cross_val_predict(classifier(), SMILES, named, cv=2, method="predict_proba")
    assert said.shape == (16, targets)
    if labels != (0, 1):
        return
    for scoring in ("roc_auc", "average_precision", "f1_macro", "accuracy"):
        for scores in (
            cross_val_score(classifier(), SMILES, y, cv=2, scoring=scoring, error_score="raise"),
            lgan.cross_validate(classifier(), SMILES, y, cv=2, scoring=scoring),
        ):
            assert np.isfinite(scores).all()
    expected = roc_auc_score(y, model.predict_proba(SMILES))
    assert get_scorer("roc_auc")(model, SMILES, y) == pytest.approx(expected)
    search = GridSearchCV(classifier(), {"members": [1, 2]}, cv=2, scoring="roc_auc").fit(SMILES, y)
    assert clone(search.best_estimator_).members == search.best_params_["members"]


def test_several_numbers_with_missing_ones():
    y = MISSING + np.arange(16)[:, None]
    model = regressor().fit(SMILES, y)
    assert model.predict(SMILES).shape == model.predict_std(SMILES).shape == (16, 2)
    assert model.predict_interval(SMILES).shape == (16, 2, 2)
    there = ~np.isnan(y)
    each = [r2_score(y[there[:, i], i], model.predict(SMILES)[there[:, i], i]) for i in range(2)]
    assert model.score(SMILES, y) == pytest.approx(np.mean(each))


def test_shapes_of_one_number(numbers):
    assert numbers.predict(SMILES).shape == numbers.predict_std(SMILES).shape == (16,)
    assert numbers.predict_interval(SMILES, 0.5).shape == (16, 2)


def test_graphs_of_networkx():
    graphs = [nx.cycle_graph(3 + i % 4) for i in range(12)]
    model = classifier().fit(graphs, [i % 2 for i in range(12)])
    assert set(model.predict(graphs)) <= {0, 1}
    assert model.explain(graphs[0]).edge_scores.numel() == 6


def test_graphs_of_pyg_with_targets_of_their_own():
    path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graphs = [Data(x=torch.full((3, 1), float(i % 3)), edge_index=path, y=torch.tensor([5]))
              for i in range(12)]  # fmt: skip
    model = classifier().fit(graphs, ["a", "b"] * 6)
    assert model.predictor_.task.targets == ("y",)
    assert set(model.predict(graphs)) <= {"a", "b"}


def test_it_works_in_a_pipeline_and_in_a_search():
    trimmed = FunctionTransformer(lambda rows: [row.strip() for row in rows])
    padded = [f" {s} " for s in SMILES]
    pipeline = make_pipeline(trimmed, classifier()).fit(padded, NAMES)
    assert np.array_equal(pipeline.predict(padded), classifier().fit(SMILES, NAMES).predict(SMILES))
    search = GridSearchCV(classifier(), {"members": [1, 2]}, cv=2).fit(SMILES, NAMES)
    assert search.best_params_["members"] in (1, 2)
    assert search.best_estimator_.predictor_.checkpoint.members == search.best_params_["members"]


def _bits(smiles):
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    words = GetMorganGenerator(radius=2, fpSize=64)
    return np.array([words.GetFingerprintAsNumPy(MolFromSmiles(s)) for s in np.ravel(smiles)])


def test_it_joins_a_forest_on_fingerprints():
    forest = make_pipeline(FunctionTransformer(_bits), RandomForestClassifier(5, random_state=0))
    parts, y = [("lgan", classifier()), ("forest", forest)], np.array(NAMES)
    both = VotingClassifier(parts, voting="soft").fit(SMILES, y)
    mean = np.mean([each.predict_proba(SMILES) for each in both.estimators_], axis=0)
    np.testing.assert_allclose(both.predict_proba(SMILES), mean)
    assert both.classes_.tolist() == ["no", "yes"]
    stacked = StackingClassifier(parts, cv=2).fit(SMILES, y)
    assert stacked.transform(SMILES).shape == (16, 2)
    sure = CalibratedClassifierCV(VotingClassifier(parts, voting="soft"), cv=2).fit(SMILES, y)
    np.testing.assert_allclose(sure.predict_proba(SMILES).sum(1), 1)
    table = pd.DataFrame({"smiles": SMILES})
    bagged = BaggingRegressor(regressor(), n_estimators=2, random_state=0).fit(table, NUMBERS)
    each = [one.predict(SMILES) for one in bagged.estimators_]
    np.testing.assert_allclose(bagged.predict(table), np.mean(each, axis=0))


def test_logarithms_of_probabilities(classes):
    said = cross_val_predict(classifier(), SMILES, NAMES, cv=2, method="predict_log_proba")
    np.testing.assert_allclose(np.exp(said).sum(1), 1, rtol=1e-6)
    assert np.array_equal(classes.predict_log_proba(SMILES), np.log(classes.predict_proba(SMILES)))


def test_scaffolds_are_groups_of_scikit_learn():
    rings = ["c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CC1", "C1CCC1", "c1ccoc1"]
    smiles = [ring + tail for ring in rings for tail in ("C", "CO", "CN")]
    scores = cross_val_score(
        classifier(), smiles, ["a", "b", "a"] * 6, groups=lgan.scaffolds(smiles),
        cv=GroupKFold(3), scoring="roc_auc",
    )  # fmt: skip
    assert scores.shape == (3,)
    assert np.all((scores >= 0) & (scores <= 1))


def test_graphs_of_a_group_are_held_out_together():
    groups = np.repeat(["p", "q", "r", "s"], 4)
    order = np.random.default_rng(0).permutation(16)
    smiles = [SMILES[i] for i in order]
    smiles[5] = "C1CC"  # what cannot be read must not shift the groups
    with pytest.warns(UserWarning, match="1 of 16 graphs cannot be read and are left out.*row 6"):
        model = classifier(members=4).fit(smiles, ["a", "b"] * 8, groups=groups[order])
    fold = model.predictor_.checkpoint.out_of_fold.fold.numpy()
    kept = np.delete(groups[order], 5)
    assert len(fold) == 15
    assert len(set(zip(fold.tolist(), kept.tolist(), strict=True))) == 4


def test_unreadable_molecules_keep_their_place(classes, numbers):
    with pytest.warns(UserWarning, match="1 of 3 rows cannot be read"):
        shares = classes.predict_proba(["CCO", "C1CC", "CCN"])
    assert np.isnan(shares[1]).all()
    np.testing.assert_allclose(shares[[0, 2]], classes.predict_proba(["CCO", "CCN"]), rtol=1e-5)
    with pytest.warns(UserWarning, match="cannot be read"):
        assert np.isnan(numbers.predict(["C1CC", "CCO"])).tolist() == [True, False]
    with (
        pytest.warns(UserWarning, match="cannot be read"),
        pytest.raises(ValueError, match="1 of 2 graphs cannot be read, the first of them row 2"),
    ):
        classes.predict(["CCO", "C1CC"])


@pytest.mark.parametrize(
    ("smiles", "y", "message"),
    [
        (SMILES, NAMES[:3], "one value for each of 16 graphs, got 3"),
        (SMILES, ["yes"] * 16, r"two classes or more, got \['yes'\]"),
        (SMILES, [None] * 16, r"two classes or more, got \[\]"),
        (SMILES, [" a", "a"] * 8, "must differ by more than blanks"),
        (SMILES, ["a"] * 15 + ["b"], "two graphs or more that can be read.*got 1 of 'b'"),
        ([], [], "must hold 4 graphs or more.*got 0"),
        (["nothing"] * 4, [0, 1] * 2, "must have a graph that can be read, got none in 4"),
    ],
    ids=["lengths", "one class", "no class", "blanks", "lonely", "empty", "unreadable"],
)
@pytest.mark.filterwarnings("ignore:.*cannot be read")
def test_bad_targets_and_graphs_are_refused(smiles, y, message):
    with pytest.raises(ValueError, match=message):
        classifier().fit(smiles, y)


@pytest.mark.filterwarnings("ignore:.*cannot be read")
def test_a_class_that_only_unreadable_graphs_have_is_none():
    model = classifier().fit([*SMILES, "C1CC"], [*NAMES, "odd"])
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.predictor_.task.kind == "binary"
    assert model.predict_proba(SMILES).shape == (16, 2)
    with pytest.raises(ValueError, match=r"two classes or more, got \['a'\]"):
        classifier().fit([*SMILES, "C1CC"], ["a"] * 16 + ["odd"])


def test_a_second_fit_that_fails_leaves_the_first_as_it_was():
    model = classifier().fit(SMILES, NAMES)
    before = model.predict_proba(SMILES)
    with pytest.raises(ValueError, match="got 1 of 'c'"):
        model.fit(SMILES, ["a"] * 10 + ["b"] * 5 + ["c"])
    assert model.classes_.tolist() == ["no", "yes"]
    assert np.array_equal(model.predict_proba(SMILES), before)


def test_numbers_of_numpy_are_settings(tmp_path):
    """As searches over `numpy.arange` or distributions of scipy hand them out."""
    options = {"hidden": np.int64(4), "num_layers": np.int32(2), "dropout": np.float64(0.1)}
    asked = {"epochs": np.int64(1), "members": np.int64(2), "random_state": np.int64(0)}
    model = classifier(**asked, options=options).fit(SMILES, NAMES)
    model.save(tmp_path / "model.safetensors")
    loaded = lgan.load_model(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.predict_proba(SMILES), model.predict_proba(SMILES))
    search = GridSearchCV(regressor(), {"epochs": np.arange(1, 3)}, cv=2, error_score="raise")
    assert search.fit(SMILES, NUMBERS).best_params_["epochs"] in (1, 2)


def test_what_cannot_be_read_is_told_once_and_nothing_else(numbers):
    for call in (numbers.predict, numbers.predict_std, numbers.predict_interval):
        with pytest.warns(UserWarning, match="1 of 1 rows cannot be read"):
            assert np.isnan(call(["C1CC"])).all()


def test_numbers_are_spread_over_folds_as_lgan_train_spreads_them():
    smiles = ["C" * (1 + row % 12) + "O" for row in range(60)]
    y = torch.arange(60.0) ** 3
    fold = regressor(members=5).fit(smiles, y.numpy()).predictor_._known().fold
    union = lgan.load(smiles, targets={"y": y.tolist()})
    assert torch.equal(fold, choose_groups(union, 5, 0)[0])


def test_a_rare_class_makes_fewer_folds_and_says_so():
    with pytest.warns(UserWarning, match="has 2 graphs, so that 2 folds .* on 50% of the graphs"):
        model = classifier().fit(SMILES, ["a"] * 14 + ["b"] * 2)
    assert model.predictor_.predict_proba(SMILES).shape == (16, 2)


def test_other_bad_input_is_refused(classes):
    with pytest.raises(TypeError, match=r"list of graphs or SMILES, got a text.*\[X\]"):
        classifier().fit("CCO", ["a"])
    with pytest.raises(TypeError, match="got a text"):
        classes.predict("CCO")
    with pytest.raises(TypeError, match="list of graphs or SMILES, got int"):
        classes.predict(7)
    with pytest.raises(TypeError, match=r"got dict\..*pandas\.DataFrame"):
        classes.predict({"smiles": SMILES})
    twice = pd.DataFrame([[0, 1]] * 16, columns=["a", "a"])
    with pytest.raises(ValueError, match=r"different names, got \['a', 'a'\]"):
        classifier().fit(SMILES, twice)
    with pytest.raises(TypeError, match=r"got one Graph\. Pass a list of one"):
        classes.predict(nx.path_graph(3))
    with pytest.raises(TypeError, match=r"got one Graph\. Pass a list of one"):
        lgan.load(nx.path_graph(3))
    with pytest.raises(TypeError, match=r"got one Data\. Pass a list of one"):
        lgan.load(Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]])))
    with pytest.raises(TypeError, match="labels of one kind"):
        classifier().fit(SMILES, np.array(["a", 1] * 8, dtype=object))
    with pytest.raises(ValueError, match="`groups` must have one value for each of 16 graphs"):
        classifier().fit(SMILES, NAMES, groups=[1, 2])
    with pytest.raises(ValueError, match="at least as many groups as folds"):
        classifier().fit(SMILES, NAMES, groups=[1] * 16)
    with pytest.raises(ValueError, match="A regression needs numbers, got text"):
        regressor().fit(SMILES, NAMES)
    with pytest.raises(ValueError, match="`members` must be 1 or more, got 0"):
        classifier(members=0).fit(SMILES, NAMES)
    with pytest.raises(ValueError, match="has no option 'colour'"):
        classifier(options={"colour": 1}).fit(SMILES, NAMES)
    with pytest.raises(ValueError, match="`alpha` must lie between 0 and 1, got 2"):
        classes.predict_set(SMILES, 2)


class _Column:
    """A column of a table that is no sequence and has no `iloc`, as polars has them."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place]


def test_a_column_is_explained_row_by_row(classes):
    assert len(classes.explain(_Column(["CCO", "CCN"]))) == 2


def test_directed_graphs_are_refused_with_what_an_estimator_can_do():
    arcs = [Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]))] * 4
    for graphs in ([nx.DiGraph([(0, 1)])] * 4, arcs):
        with pytest.raises(ValueError, match=r"for estimators convert the graphs with `networkx"):
            regressor().fit(graphs, NUMBERS[:4])


def test_one_graph_and_a_list_are_explained(classes):
    one = classes.explain("CCO")
    [first, second] = classes.explain(["CCO", "CCN"])
    np.testing.assert_allclose(one.edge_scores, first.edge_scores, atol=1e-6)
    assert second.edge_scores.numel() == 4
    assert len(classes.explain(pd.Series(["CCO", "CCN"]))) == 2


def test_sample_weights_are_relative_and_follow_their_graphs():
    weight = np.arange(16) % 3
    options = {"options": {**SMALL["options"], "compress": False}}
    one = classifier(**options).fit(SMILES, NAMES, weight)
    assert np.array_equal(
        one.predict_proba(SMILES),
        classifier(**options).fit(SMILES, NAMES, sample_weight=7 * weight).predict_proba(SMILES),
    )
    alike = classifier(**options).fit(SMILES, NAMES, np.full(16, 3)).predict_proba(SMILES)
    plain = classifier(**options).fit(SMILES, NAMES).predict_proba(SMILES)
    assert np.array_equal(alike, plain)
    assert not np.array_equal(one.predict_proba(SMILES), plain)
    broken, rest = [*SMILES[:4], "C1CC", *SMILES[4:]], np.insert(weight, 4, 2)
    with pytest.warns(UserWarning, match="1 of 17 graphs cannot be read"):
        other = classifier(**options).fit(broken, [*NAMES[:4], "no", *NAMES[4:]], rest)
    assert np.array_equal(other.predict_proba(SMILES), one.predict_proba(SMILES))


def test_heavier_graphs_win():
    """One molecule with two numbers: what is said of it lies nearer to that with more weight."""
    smiles, y = ["CCO"] * 20, np.array([0.0, 1.0] * 10)
    for heavy in (0, 1):
        model = regressor(epochs=40).fit(smiles, y, np.where(y == heavy, 9, 1))
        assert (model.predict(["CCO"])[0] > 0.5) == heavy


@pytest.mark.parametrize(
    "weight", [[1] * 3, [-1] * 16, [0] * 16, [np.nan] * 16, [None] * 16, [[1]] * 16]
)
def test_bad_sample_weights_are_refused(weight):
    with pytest.raises(ValueError, match="`sample_weight` must h"):
        regressor().fit(SMILES, NUMBERS, weight)


def test_the_number_of_threads_changes_no_result(classes, monkeypatch):
    used, before = [], torch.get_num_threads()
    train = estimators.train_ensemble
    monkeypatch.setattr(
        estimators,
        "train_ensemble",
        lambda *args, **kw: (used.append(torch.get_num_threads()), train(*args, **kw))[1],
    )
    for jobs in (1, 3):
        model = classifier(n_jobs=jobs).fit(SMILES, NAMES)
        assert np.array_equal(model.predict_proba(SMILES), classes.predict_proba(SMILES))
    assert used == [1, 3]
    assert torch.get_num_threads() == before


def test_bad_sample_weights_are_told_as_plain_numbers():
    with pytest.raises(ValueError, match=r"got \[-1\.0, 1\.0, 1\.0.*\]\. Correct them"):
        regressor().fit(SMILES, NUMBERS, np.array([-1.0] + [1.0] * 15))


def test_a_weight_of_zero_leaves_a_row_out():
    wild = [*NUMBERS[:-1], 1e9]
    weight = pd.Series([2.0] * (len(SMILES) - 1) + [0.0], index=range(50, 50 + len(SMILES)))
    without = regressor().fit(SMILES[:-1], NUMBERS[:-1])
    found = regressor().fit(SMILES, wild, sample_weight=weight)
    assert np.ptp(found.predict_interval(SMILES, alpha=0.5)) < 1e4
    assert np.abs(found.predict(SMILES)).max() < 10 * np.abs(without.predict(SMILES)).max()


def test_weights_are_taken_by_position(classes):
    weight = pd.Series(np.arange(1.0, 17.0), index=range(99, 83, -1))
    expected = classes.score(SMILES, NAMES, weight.tolist())
    assert classes.score(SMILES, NAMES, weight) == expected


def test_a_class_is_explained_by_its_own_name():
    model = classifier().fit(SMILES, [2 if name == "yes" else 1 for name in NAMES])
    assert [model.explain("CCO", target=label).target for label in (1, 2)] == [0, 1]
    model = classifier().fit(SMILES, [name == "yes" for name in NAMES])
    assert [model.explain("CCO", target=label).target for label in (False, True)] == [0, 1]


def test_a_score_of_numbers_needs_what_can_be_read(numbers):
    wanted = "1 of 2 graphs cannot be read, the first of them row 2"
    with pytest.warns(UserWarning, match="row"), pytest.raises(ValueError, match=wanted):
        numbers.score(["CCO", "C1CC"], [1.0, 2.0])
    some = [None if i == 3 else value for i, value in enumerate(NUMBERS)]
    assert np.isfinite(numbers.score(SMILES, pd.Series(some, dtype="Float64")))


def test_a_missing_molecule_may_come_first(numbers):
    for missing in (None, np.nan, pd.NA):
        with pytest.warns(UserWarning, match="1 of 2 rows cannot be read"):
            found = numbers.predict([missing, "CCO"])
        assert np.isnan(found).tolist() == [True, False]


def test_a_table_with_a_column_twice_is_refused(numbers):
    twice = pd.concat([pd.Series(SMILES, name="smiles")] * 2, axis=1)
    with pytest.raises(ValueError, match="must have one column `smiles`"):
        numbers.predict(twice)


def test_the_class_compared_with_is_named_as_the_labels_are():
    model = classifier().fit(SMILES[:15], [1, 2, 3] * 5)
    found = model.explain("CCO", target=1, against=2)
    assert (found.target, found.against) == (0, 1)
    assert model.explain("CCO", target=1, against=3).against == 2


def test_a_class_that_reads_as_missing_is_told():
    """Sodium, say, whose rows are left out."""
    with pytest.warns(UserWarning, match="`y` holds 'Na', which is read as a missing label"):
        model = classifier().fit(SMILES, np.resize(["Na", "K", "Li", ""], 16))
    assert model.classes_.tolist() == ["K", "Li"]


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        ((s for s in SMILES), NUMBERS, TypeError, "`X` must be a list of graphs .* generator"),
        (SMILES, None, TypeError, "`y` must be a list .* got NoneType"),
        (SMILES, dict(enumerate(NUMBERS)), TypeError, "`y` must be a list .* got dict"),
        (SMILES, NUMBERS.reshape(8, 2, 1), ValueError, r"shape .*got \[8, 2, 1\]"),
        (SMILES, pd.DataFrame(index=range(16)), ValueError, "`y` must have a column or more"),
        ([*SMILES[:2], *["C1CC"] * 3], range(5), ValueError, "4 graphs or more .*got 2"),
    ],
    ids=["generator", "none", "dict", "three axes", "no column", "few read"],
)
@pytest.mark.filterwarnings("ignore:.*cannot be read")
def test_what_is_no_list_of_graphs_or_targets_is_refused(X, y, error, message):
    with pytest.raises(error, match=message):
        regressor().fit(X, y)


def test_parameters_of_another_kind_are_refused():
    with pytest.raises(TypeError, match="`members` must be a whole number, got '2'"):
        regressor(members="2").fit(SMILES, NUMBERS)
    with pytest.raises(TypeError, match=r"`options` must be a mapping by name, got \['hidden'\]"):
        regressor(options=["hidden"]).fit(SMILES, NUMBERS)
    with pytest.raises(ValueError, match=r"no argument of its own, got 'seed'.*`random_state="):
        regressor(options={"hidden": 4, "seed": 3}).fit(SMILES, NUMBERS)
    with pytest.raises(ValueError, match="device must be cpu, cuda or auto, got 'None'"):
        regressor(device=None).fit(SMILES, NUMBERS)
    assert regressor(device=torch.device("cpu")).fit(SMILES, NUMBERS).predict(SMILES).shape == (16,)
    with pytest.raises(TypeError, match="labels of one kind"):
        classifier().fit(SMILES, np.array([True, 2] * 8, dtype=object))


def test_a_score_needs_the_targets_and_weights_of_its_rows(classes, numbers):
    two = regressor().fit(SMILES, np.c_[NUMBERS, -NUMBERS])
    for model, y in ((two, NUMBERS), (numbers, np.c_[NUMBERS, NUMBERS]), (classes, MISSING)):
        with pytest.raises(ValueError, match=r"`y` must have one column for each of the . targets"):
            model.score(SMILES, y)
    for model, y in ((classes, NAMES), (numbers, NUMBERS)):
        for weight in ([1.0], [1.0] * 17):
            with pytest.raises(ValueError, match="`sample_weight` must have one value for each"):
                model.score(SMILES, y, weight)
        with pytest.raises(ValueError, match="that is not missing, got none to score by"):
            model.score(SMILES, [None] * 16)
    with pytest.raises(ValueError, match="`y` must hold numbers, got 'n/d' in 'y'"):
        numbers.score(SMILES, [*NUMBERS[1:].tolist(), "n/d"])
    one = np.c_[NUMBERS, np.full(16, np.nan)]
    expected = r2_score(NUMBERS, two.predict(SMILES)[:, 0])
    assert two.score(SMILES, one) == pytest.approx(expected)


def test_a_score_finds_the_targets_of_a_table_by_their_names():
    table = pd.DataFrame({"a": NUMBERS, "b": NUMBERS**2})
    model = regressor().fit(SMILES, table)
    assert model.score(SMILES, table[["b", "a"]]) == model.score(SMILES, table)


def test_graphs_are_read_with_as_many_threads_as_asked(monkeypatch):
    used, read = [], estimators.load_raw
    told = lambda *args, **kw: (used.append(torch.get_num_threads()), read(*args, **kw))[1]  # noqa: E731
    monkeypatch.setattr(estimators, "load_raw", told)
    for jobs in (1, 3):
        regressor(n_jobs=jobs).fit(SMILES, NUMBERS)
        lgan.cross_validate(regressor(n_jobs=jobs), SMILES, NUMBERS, cv=2)
    assert used == [1, 1, 3, 3]
