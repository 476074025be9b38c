"""All settings of an experiment, from what was given, tuned, published, or usual."""

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from lgan.catalogue import DATASETS
from lgan.experiment.tuned import TUNED
from lgan.train import TrainConfig
from lgan.zoo import KernelSpec, NetworkSpec, model_spec

__all__ = ["BASE", "OWN_DATA", "Settings", "default_options", "settings_for"]

# What holds for every network unless its paper, a search or the user says otherwise.
BASE: dict[str, Any] = {"hidden": 32, "num_layers": 4, "dropout": 0.0}
# What holds on data nobody has tuned for: no published protocol, and no search.
OWN_DATA: dict[str, Any] = {
    "hidden": 64,
    "dropout": 0.2,
    "epochs": 100,
    "iterations": 0,
    "batch_size": 64,
    "lr": 0.003,
    "lr_halving": 25,
    "readout": "sum",
    "features": "all",
    "edge_features": "all",
}
TRAINING = {f.name for f in fields(TrainConfig)}
DATA = {"features", "edge_features", "compress"}
SIZES = {"hidden", "num_layers"}
# By the type a setting is declared with: what a value must be, and how to say so.
FITTING: dict[Any, tuple[Any, str]] = {
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
    float: ((int, float), "a number"),
    str: (str, "a word"),
}


@dataclass(frozen=True)
class Settings:
    """Everything that decides an experiment but folds and seeds.

    Attributes:
        model: Name of the model.
        dataset: Name of the data set.
        hidden: Width of a network.
        options: Other options of the model.
        training: Settings of the training.
        features: Node features.
        compress: Whether twins are merged.
        edge_features: Features of edges; ``none`` where the model reads none.
    """

    model: str
    dataset: str
    hidden: int
    options: dict[str, Any]
    training: TrainConfig
    features: str
    compress: bool
    edge_features: str = "none"

    @property
    def pair_code(self) -> str:
        """The structural code that the data set must carry."""
        return str(self.options.get("pair_code", "none"))

    def about(self) -> dict[str, Any]:
        """Name and options of the model, for a record."""
        data: dict[str, Any] = {"features": self.features, "compress": self.compress}
        data |= {"edge_features": self.edge_features} if self.edge_features != "none" else {}
        return {"name": self.model, "hidden": self.hidden, **self.options, **data}

    def flat(self) -> dict[str, Any]:
        """All settings in one dictionary, as :func:`settings_for` takes them."""
        rest: dict[str, Any] = {"features": self.features, "edge_features": self.edge_features}
        rest |= {"compress": self.compress, "hidden": self.hidden}
        return {**rest, **self.options, **asdict(self.training)}

    def with_seed(self, seed: int) -> "Settings":
        """The same settings with another seed."""
        return replace(self, training=replace(self.training, seed=seed))


def settings_for(model: str, dataset: str, **given: Any) -> Settings:
    """The settings of a model on a data set.

    What is given wins over what a search found best for this model on this set, that over the
    settings of the model's own paper, and those over the usual ones.

    Args:
        model: Name of the model.
        dataset: Name of the data set; one that is not in the registry has no published protocol
            and gets :data:`OWN_DATA`.
        given: Settings by name; ``None`` stands for "not given". Beside ``hidden``, ``features``
            and ``compress``: fields of :class:`lgan.TrainConfig` and options of the model.

    Example:
        >>> settings_for("lgan", "MUTAG", dropout=0.5).options["dropout"]
        0.5
    """
    spec, about = model_spec(model), DATASETS.get(dataset)
    known = accepted(spec)
    given = {key: value for key, value in given.items() if value is not None}
    unknown = sorted(set(given) - known - TRAINING - DATA - {"hidden"})
    if unknown:
        raise ValueError(
            f"The model {model!r} has no option {unknown[0]!r}. "
            f"Choose from: {', '.join(sorted(known | TRAINING | DATA | {'hidden'}))}."
        )
    _check_types(given, spec)
    of_data = OWN_DATA if about is None else {"readout": about.readout, "features": about.features}
    usual = {**BASE, **of_data, "compress": True}
    usual.setdefault("edge_features", "none")  # the published tables are without
    usual["seed"] = TrainConfig.seed  # some kernels draw at random too
    tuned = TUNED.get(model, {}).get(dataset, {})
    chosen = {**default_options(spec), **usual, **spec.defaults, **tuned, **given}
    if not reads_edges(spec):
        if given.get("edge_features", "none") not in ("none", "all"):
            raise ValueError(
                f"The model {model!r} reads no features of edges, got `edge_features="
                f"{given['edge_features']!r}`. Choose 'none', or a model that does: lgan, gin."
            )
        chosen["edge_features"] = "none"
    compress = bool(chosen["compress"]) and isinstance(spec, NetworkSpec) and spec.compress
    return Settings(
        model=model,
        dataset=dataset,
        hidden=int(chosen["hidden"]),
        options={key: chosen[key] for key in sorted(known & set(chosen))},
        training=TrainConfig(**{key: chosen[key] for key in sorted(TRAINING) if key in chosen}),
        features=str(chosen["features"]),
        compress=compress,
        edge_features=str(chosen["edge_features"]),
    )


def reads_edges(spec: NetworkSpec | KernelSpec) -> bool:
    """Whether a model reads features of edges."""
    return "edge_dim" in accepted(spec)


def accepted(spec: NetworkSpec | KernelSpec) -> set[str]:
    """Options that a model takes, by the signature of what builds it."""
    return {p.name for p in _parameters(spec) if p.kind is p.KEYWORD_ONLY} - {"progress"}


def default_options(spec: NetworkSpec | KernelSpec) -> dict[str, Any]:
    """What a model takes for its options unless told, or unless the data set decides."""
    names = accepted(spec).difference(
        spec.data_option_names if isinstance(spec, NetworkSpec) else ()
    )
    return {
        p.name: p.default
        for p in _parameters(spec)
        if p.name in names and p.default not in (p.empty, None)
    }


def _parameters(spec: NetworkSpec | KernelSpec) -> list[inspect.Parameter]:
    build: Callable[..., Any] = spec.build if isinstance(spec, NetworkSpec) else spec.grams
    return list(inspect.signature(build).parameters.values())


def _check_types(given: dict[str, Any], spec: NetworkSpec | KernelSpec) -> None:
    """Refuse a text for a number, a fraction for a count, and the like."""
    types: dict[str, Any] = {"hidden": int, "compress": bool}
    types |= {"features": str, "edge_features": str}
    types |= {f.name: f.type for f in fields(TrainConfig)}
    types |= {p.name: p.annotation for p in _parameters(spec)}
    for name, value in given.items():
        fitting, wanted = FITTING.get(types.get(name), (object, ""))  # a model knows its own words
        if not isinstance(value, fitting) or (
            isinstance(value, bool) and fitting not in (bool, object)
        ):
            raise ValueError(f"`{name}` must be {wanted}, got {value!r}.")
        if name in SIZES and value < 1:
            raise ValueError(f"`{name}` must be 1 or more, got {value}.")
