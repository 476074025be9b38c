"""All settings of an experiment, from what was given, tuned, published, or usual."""

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from lgan.catalogue import DATASETS, known
from lgan.data.graph_features import AUTO, COMPUTED, feature_list
from lgan.experiment.recipes import LARGER, RECIPES, TUNED, UNEVEN, UNLABELLED
from lgan.train import TrainConfig
from lgan.zoo import MODELS, ModelSpec, NetworkSpec, model_spec

TRAINING = {f.name for f in fields(TrainConfig)}
DATA = {"features", "edge_features", "graph_features", "compress"}
SIZES = {"hidden", "num_layers"}
MOST_LAYERS = 1_000  # a model is built layer by layer, before it can be weighed
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
        graph_features: Features of whole graphs, see :class:`lgan.data.GraphFeatures`; ``auto``
            where the source decides.
        recipe: The recipe that what was not given comes from.
        unlabelled: Options in place of these where nodes tell no more than their degree.
        larger: Options in place of these where they tell more and graphs are many.
        uneven: Options in place of these where they tell more and some have far more edges.
        described: Options in place of these where a source is found to have features of whole
            graphs.
    """

    model: str
    dataset: str
    hidden: int
    options: dict[str, Any]
    training: TrainConfig
    features: str
    compress: bool
    edge_features: str = "none"
    graph_features: tuple[str, ...] = ()
    recipe: str = "paper"
    unlabelled: dict[str, Any] = field(default_factory=dict)
    larger: dict[str, Any] = field(default_factory=dict)
    uneven: dict[str, Any] = field(default_factory=dict)
    described: dict[str, Any] = field(default_factory=dict)

    @property
    def pair_code(self) -> str:
        """The structural code that the data set must carry."""
        return str(self.options.get("pair_code", "none"))

    def about(self) -> dict[str, Any]:
        """Name and options of the model, for a record."""
        data: dict[str, Any] = {"features": self.features, "compress": self.compress}
        data |= {"edge_features": self.edge_features} if self.edge_features != "none" else {}
        data |= {"graph_features": ",".join(self.graph_features)} if self.graph_features else {}
        data |= {"recipe": self.recipe} if self.recipe != "paper" else {}
        return {"name": self.model, "hidden": self.hidden, **self.options, **data}

    def flat(self) -> dict[str, Any]:
        """All settings in one dictionary, as :func:`settings_for` takes them; but for those that
        come with features of whole graphs where a source is found to have some.
        """
        rest: dict[str, Any] = {"features": self.features, "edge_features": self.edge_features}
        rest |= {"compress": self.compress, "hidden": self.hidden}
        told = ",".join(self.graph_features)
        if self.recipe != "paper":  # which reads none unless some are named
            rest |= {"recipe": self.recipe, "graph_features": told or "none"}
        elif told:
            rest["graph_features"] = told
        own = {name: value for name, value in self.options.items() if name not in self.described}
        return {**rest, **own, **asdict(self.training)}

    def with_seed(self, seed: int) -> "Settings":
        """The same settings with another seed."""
        return replace(self, training=replace(self.training, seed=seed))


def settings_for(model: str, dataset: str, *, recipe: str | None = None, **given: Any) -> Settings:
    """The settings of a model on a data set.

    What is given wins over what a search found best for this model on this set (recipe ``paper``
    only), that over the settings of the model's own paper, and those over the recipe.

    Args:
        model: Name of the model.
        dataset: Name of the data set.
        recipe: A name of :data:`lgan.experiment.RECIPES`; by default ``paper`` on registered sets
            and ``default`` on all others.
        given: Settings by name; ``None`` stands for "not given". Beside ``hidden``, ``features``
            and ``compress``: fields of :class:`lgan.TrainConfig` and options of the model.

    Example:
        >>> settings_for("lgan", "MUTAG", dropout=0.5).options["dropout"]
        0.5
    """
    spec, about = model_spec(model), DATASETS.get(dataset)
    options = accepted(spec)
    recipe = recipe or ("default" if about is None else "paper")
    usual = {**RECIPES[known(recipe, RECIPES, "recipe")], "compress": True}
    # Searches of scikit-learn and scipy hand out numbers of numpy.
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()}
    given = {key: value for key, value in plain.items() if value is not None}
    unknown = sorted(set(given) - options - TRAINING - DATA - {"hidden"})
    if unknown:
        raise ValueError(
            f"The model {model!r} has no option {unknown[0]!r}. "
            f"Choose from: {', '.join(sorted(options | TRAINING | DATA | {'hidden'}))}."
        )
    _check_types(given, spec)
    if about is not None:
        usual["features"] = about.features
        usual.setdefault("readout", about.readout)
    usual.setdefault("features", "all")
    # Those that take several read-outs at once take their names, whatever they are.
    several = any(p.name == "readout" and p.annotation is str for p in _parameters(spec))
    if "+" in usual.get("readout", "") and not several:
        usual["readout"] = "sum"
    asked = usual.pop("graph_features", None)
    if not reads_graphs(spec):
        asked = None
    told = feature_list(given.get("graph_features", asked))
    if told == (AUTO,) and not reads_graphs(spec):
        told = ()
    described: dict[str, Any] = {}
    if told == (AUTO,) and "graph_dropout" in {*usual} - {*given}:
        described["graph_dropout"] = usual["graph_dropout"]
    if not told or {*told} - {*COMPUTED}:
        usual.pop("graph_dropout", None)  # a column of the source is told by nothing else
    if not told or {*told} - {*COMPUTED, AUTO} or given.get("graph_dropout") == 0:
        usual.pop("companion", None)  # what is told is explained where nothing was withheld
    usual["seed"] = TrainConfig.seed  # some kernels draw at random too
    tuned = TUNED.get(model, {}).get(dataset, {}) if recipe == "paper" else {}
    chosen = {**default_options(spec), **usual, **spec.defaults, **tuned, **given}
    if not reads_edges(spec):
        if given.get("edge_features", "none") not in ("none", "all"):
            able = ", ".join(name for name, other in MODELS.items() if reads_edges(other))
            raise ValueError(
                f"The model {model!r} reads no features of edges, got `edge_features="
                f"{given['edge_features']!r}`. Choose 'none', or a model that does: {able}."
            )
        chosen["edge_features"] = "none"
    if told and not reads_graphs(spec):
        able = ", ".join(name for name, other in MODELS.items() if reads_graphs(other))
        raise ValueError(
            f"The model {model!r} reads no features of whole graphs, got `graph_features="
            f"{','.join(told)!r}`. Leave them out, or choose a model that does: {able}."
        )
    taken = {*given, *spec.defaults} if recipe == "default" else options
    unlabelled, larger, uneven = (
        {key: value for key, value in decided.items() if key in options - taken}
        for decided in (UNLABELLED, LARGER, UNEVEN)
    )
    if "pair_code" not in unlabelled:
        unlabelled.pop("code_map", None)  # reads the codes of these, and there may be none
    compress = bool(chosen["compress"]) and isinstance(spec, NetworkSpec) and spec.compress
    return Settings(
        model=model,
        dataset=dataset,
        hidden=int(chosen["hidden"]),
        options={key: chosen[key] for key in sorted(options & set(chosen))},
        training=TrainConfig(**{key: chosen[key] for key in sorted(TRAINING) if key in chosen}),
        features=str(chosen["features"]),
        compress=compress,
        edge_features=str(chosen["edge_features"]),
        graph_features=told,
        recipe=recipe,
        unlabelled=unlabelled,
        larger=larger,
        uneven=uneven,
        described=described,
    )


def reads_edges(spec: ModelSpec) -> bool:
    """Whether a model reads features of edges, kernels their labels."""
    return any(p.name in ("edge_dim", "edge_labels") for p in _parameters(spec))


def reads_graphs(spec: ModelSpec) -> bool:
    """Whether a model reads features of whole graphs."""
    return any(p.name == "graph_dim" for p in _parameters(spec))


def accepted(spec: ModelSpec) -> set[str]:
    """Options that a model takes, by the signature of what builds it."""
    options = {p.name for p in _parameters(spec) if p.kind is p.KEYWORD_ONLY}
    return options - {"edge_labels", "progress"}


def default_options(spec: ModelSpec) -> dict[str, Any]:
    """What a model takes for its options unless told, or unless the data set decides."""
    names = accepted(spec).difference(
        spec.data_option_names if isinstance(spec, NetworkSpec) else ()
    )
    return {
        p.name: p.default
        for p in _parameters(spec)
        if p.name in names and p.default not in (p.empty, None)
    }


def _parameters(spec: ModelSpec) -> list[inspect.Parameter]:
    build: Callable[..., Any] = spec.build if isinstance(spec, NetworkSpec) else spec.grams
    return list(inspect.signature(build).parameters.values())


def _check_types(given: dict[str, Any], spec: ModelSpec) -> None:
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
        if name.endswith(("layers", "depth")) and value > MOST_LAYERS:
            raise ValueError(f"`{name}` must be {MOST_LAYERS:,} or less, got {value:,}.")
