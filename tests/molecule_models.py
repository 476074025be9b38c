"""Models of molecules with fresh weights, for tests."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

import lgan
from lgan.data import Encoder, load_raw
from lgan.predictor.predictor import Predictor
from lgan.task import TargetScale
from lgan.train.checkpoint import Checkpoint

SMILES = ["CCO", "c1ccccc1C(=O)O", "CC(=O)Nc1ccccc1", "C1CC", "O=C(O)CCl"]


def predictor(values: Sequence[Any] | Mapping[str, Any], **options: Any) -> Predictor:
    """A model with fresh weights on the molecules above, of one target or of several by name."""
    raw = load_raw(SMILES, targets=values if isinstance(values, Mapping) else {"y": values})
    encoder = Encoder.fit(raw)
    options = {"num_layers": 2, "pair_code": "rings", **options}
    if encoder.num_edge_features:
        options["edge_dim"] = encoder.num_edge_features
    torch.manual_seed(0)
    model = lgan.LGAN(encoder.num_features, 8, encoder.num_outputs, **options).eval()
    stored = Checkpoint(
        model="lgan", options=options, in_channels=encoder.num_features, hidden_channels=8,
        out_channels=encoder.num_outputs, dataset="molecules", features="all",
        state=model.state_dict(), info={"compress": True, "config": {"seed": 0}},
        encoder=encoder.to_json(),
    )  # fmt: skip
    scale = None
    if encoder.task.kind == "regression":
        scale = TargetScale(torch.tensor([10.0]), torch.tensor([4.0]))
    return Predictor(model, stored, encoder, scale, stored.trained_on)
