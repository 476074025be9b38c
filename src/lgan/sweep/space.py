"""Search spaces: for every model, the settings to choose from."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from lgan.experiment import network_spec, settings_for
from lgan.train.jobs import PER_MODEL_SETTINGS

# Choices by name of the setting, as `lgan.experiment.settings_for` takes it.
Space = dict[str, tuple[Any, ...]]

# Settings with which models can train side by side in one program; all others change shapes.
KEEP_SHAPE = (*(name for name in PER_MODEL_SETTINGS if name != "seed"), "dropout")

_TRAINING: Space = {
    "lr": (0.001, 0.003, 0.01),
    "lr_halving": (50, 100),
    "weight_decay": (0.0, 0.0001),
    "dropout": (0.0, 0.25, 0.5),
}
_NETWORK: Space = {"hidden": (16, 32, 64), "batch_size": (32, 128)}
_LGAN: Space = {
    "hidden": (16, 32, 64, 128),
    "num_layers": (2, 3, 4, 5),
    "readout": ("sum", "mean"),
    "comb": ("deepsets", "linear"),
    "batch_size": (32, 128),
    **_TRAINING,
}

SPACES: dict[str, Space] = {
    # The paper tunes layers, width, dropout and learning rate.
    "lgan": _LGAN,
    "lgan-res": _LGAN,
    "lgan-code": {
        **_LGAN,
        "pair_code": ("triangles", "cycles", "full", "rings"),
        "code_map": ("linear", "spline"),
    },
    # Xu et al. tune width, batch size, dropout and the epoch.
    "gin": {"hidden": (16, 32, 64), "batch_size": (32, 128), "dropout": (0.0, 0.5)},
    # Small searches around what the papers of the others tune.
    "1-2-3-gnn": {**_NETWORK, "lr": (0.001, 0.01), "dropout": (0.0, 0.5)},
    "ppgn": {"lr": (0.00005, 0.0001, 0.0005, 0.001), "lr_halving": (20, 50)},
    "cwn": {
        "hidden": (16, 64),
        "batch_size": (32, 128),
        "init": ("mean", "sum"),
        "lr": (0.001, 0.01),
        "lr_halving": (20, 50),
        "dropout": (0.0, 0.5),
    },
    "dgcnn": {"lr": (0.00001, 0.0001, 0.001), "dropout": (0.0, 0.5)},
    "dcnn": {"lr": (0.001, 0.01, 0.05)},
    "patchy-san": {"lr": (0.0005, 0.001, 0.005), "dropout": (0.0, 0.5)},
}


def read_space(path: Path | str) -> Space:
    """A search space from a JSON file that maps settings to lists of choices."""
    try:
        plain = json.loads(Path(path).read_text())
        if not isinstance(plain, dict):
            raise TypeError(f"a {type(plain).__name__}")
        return {str(name): tuple(choices) for name, choices in plain.items()}
    except (ValueError, TypeError) as error:
        raise ValueError(
            f'Expected {{"lr": [0.01, 0.001], ...}} in {path}, got {error}. '
            "Give a list of choices for every setting."
        ) from error


def check_space(space: Space, model: str, dataset: str, fixed: Mapping[str, Any]) -> None:
    """Refuse a space that is empty, or names settings that the model does not have."""
    spec = network_spec(model)
    if not space or not all(space.values()):
        raise ValueError(
            f"Every setting of a search space needs a choice, got {space}. Add one, or remove it."
        )
    both = sorted(set(space) & set(fixed))
    if both:
        raise ValueError(
            f"`{both[0]}` is fixed and searched for at once. Fix it, or leave it in the space."
        )
    if "seed" in space:
        raise ValueError("`seed` is no setting to search for: choose it once, by `--seed`.")
    for name, choices in space.items():
        for choice in choices:
            settings = settings_for(model, dataset, **{**fixed, name: choice})
            if spec.data_options is None:  # otherwise some options come from the data set
                spec.build(1, 1, 1, **settings.options)


def all_fixed(space: Space, model: str, dataset: str, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting outside the space: those given, and the defaults of today.

    Defaults change when a search finds better ones, and what was run must not change with them.

    Example:
        >>> all_fixed({"lr": (0.1, 0.01)}, "gin", "MUTAG", {"epochs": 5})["hidden"]
        32
    """
    settings = settings_for(model, dataset, **fixed).flat()
    free = {*space, "seed"} | ({"graph_dropout"} - {*fixed} if "graph_features" in space else set())
    return {name: value for name, value in settings.items() if name not in free}


def shape_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that must agree for models to train side by side.

    Example:
        >>> shape_of({"hidden": 32, "lr": 0.01, "dropout": 0.5})
        {'hidden': 32}
    """
    return {name: value for name, value in params.items() if name not in KEEP_SHAPE}


def points(space: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """All points of a space, those of one shape one after another.

    Example:
        >>> [list(p.values()) for p in points({"lr": (1, 2), "hidden": (8, 16)})]
        [[8, 1], [8, 2], [16, 1], [16, 2]]
    """
    names = sorted(space, key=lambda name: name in KEEP_SHAPE)
    for values in product(*(space[name] for name in names)):
        yield dict(zip(names, values, strict=True))
