import pytest
import torch

from lgan.data import load_raw
from lgan.experiment.explain import check_fits, explainer_of, report_of, settings_of
from lgan.nn import LGAN
from lgan.train.checkpoint import Checkpoint


def stored(**options) -> Checkpoint:
    torch.manual_seed(0)
    options = {"num_layers": 2, "readout": "sum", "residual": True, **options}
    return Checkpoint(
        model="lgan", options=options, in_channels=1, hidden_channels=8, out_channels=2,
        dataset="triangles", features="labels", state=LGAN(1, 8, 2, **options).state_dict(),
        info={"compress": True, "config": {"seed": 0}, "held_out_graphs": [3, 4]},
    )  # fmt: skip


def test_a_stored_model_explains_graphs_and_knows_which_it_has_not_seen():
    explainer = explainer_of(stored(), "triangles", method="gradient")
    items = explainer.graphs(load_raw("triangles"), [3, 5])
    assert [item.held_out for item in items] == [True, False]
    assert {item.attribution.method for item in items} == {"gradient"}
    assert explainer_of(stored(), "triangles", seed=1).held_out is None


def test_a_model_with_codes_reads_graphs_with_codes():
    coded = stored(pair_code="triangles")
    assert settings_of(coded, "triangles").pair_code == "triangles"
    union = explainer_of(coded, "triangles").read(load_raw("triangles").select([1]))
    assert union.lines.code_table is not None


def test_another_set_is_refused():
    with pytest.raises(ValueError, match="Train a model on csl"):
        check_fits(stored(), load_raw("csl"))


def test_a_report_tells_how_it_was_made():
    explainer = explainer_of(stored(), "triangles")
    items = explainer.graphs(load_raw("triangles"), [3])
    facts = report_of(stored(), "triangles", explainer, items).facts
    assert facts["method"].startswith("consensus: the mean of")
    assert facts["model"] == "lgan, width 8, num_layers 2, readout sum, residual True"
