"""Cross-validation records, as far as a table reads them."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from lgan.data import DATASETS
from lgan.data.encoder import STRUCTURAL
from lgan.experiment import UNLABELLED, default_options, settings_for
from lgan.experiment.settings import reads_graphs
from lgan.train import TrainConfig
from lgan.zoo import MODELS, KernelSpec, NetworkSpec

# Keys of the folds published with GIN (`fold_key`), by which records that used them are known.
GIN_FOLDS = {
    "MUTAG": "95e71e97d38d785c",
    "PTC_GIN": "fb9593f35ad31e96",
    "PTC_MR": "09b2cfe54e9a248f",
    "PROTEINS": "d9e9eef294d7670f",
    "IMDB-BINARY": "9640c755ff8cf4c8",
    "IMDB-MULTI": "4186c1466ecedfa9",
    "COLLAB": "e2778c1bfdf52b43",
}
# They change no result, or only which of several equal runs this is.
NOT_SETTINGS = ("name", "seed", "memory_budget", "compress")


@dataclass(frozen=True)
class Run:
    """One record.

    Attributes:
        path: Its file.
        model: Name of the model, without options.
        dataset: Name of the data set.
        settings: Options and training but the seed, those a record leaves out filled in.
        seed: Seed of weights and batches.
        folds: Key of the folds, see :func:`fold_key`.
        test_share: Test graphs over training graphs, mean over folds.
        inner_share: The same where an inner hold-out is left out of the training too.
        results: Accuracy of every fold by rule, from 0 to 1.
        environment: Versions, machine, time.
        compress: Whether twins were merged.
        members: Models of a fold that the rule ``bagged`` averages; 0 where there are none.
    """

    path: Path
    model: str
    dataset: str
    settings: dict[str, Any]
    seed: int
    folds: str
    test_share: float
    inner_share: float
    results: dict[str, tuple[float, ...]]
    environment: dict[str, Any]
    compress: bool = True
    members: int = 0

    @property
    def row(self) -> str:
        """The row of the table it belongs to."""
        about = DATASETS.get(self.dataset)
        told = about is not None and about.features not in STRUCTURAL
        return row_name(self.model, self.settings, labelled=told)

    @property
    def published_folds(self) -> bool:
        """Whether the folds are those published with GIN."""
        return GIN_FOLDS.get(self.dataset) == self.folds

    @property
    def independent_seeds(self) -> bool:
        """Whether all its models began from seeds of their own.

        Before 0.2.0 model ``k`` of seed ``s`` began from ``s + k``, so that seeds shared most of
        their initial weights.
        """
        version = str(self.environment.get("lgan", "0.1")).split(".")
        return (int(version[0]), int(version[1])) >= (0, 2)

    @property
    def time(self) -> str:
        """When it was made, in a form that sorts."""
        return str(self.environment.get("time", ""))


def row_name(model: str, settings: dict[str, Any], *, labelled: bool = False) -> str:
    """A model with a pair code is a row of its own, unless codes are what the model is about; so is
    one that was trained by another recipe than the tables', and by that without what it tells of
    whole graphs whose nodes are ``labelled``, or without a companion that reads this too.

    Example:
        >>> row_name("lgan", {"pair_code": "full"}), row_name("lgan-code", {"pair_code": "full"})
        ('lgan + full', 'lgan-code')
        >>> row_name("gin", {"recipe": "default"}, labelled=True)
        'gin (default recipe, graphs alone)'
        >>> row_name("gin", {"recipe": "default", "graph_features": "shape"}, labelled=True)
        'gin (default recipe, networks alone)'
    """
    code = settings.get("pair_code") or "none"
    coded = model in MODELS and "pair_code" in MODELS[model].defaults
    recipe = settings.get("recipe", "paper")
    coded |= recipe == "default" and code == UNLABELLED["pair_code"]
    name = model if code == "none" or coded else f"{model} + {code}"
    if recipe == "paper":
        return name
    usual = labelled and model in MODELS and reads_graphs(MODELS[model])
    alone = ""
    if usual and not settings.get("graph_features"):
        alone = ", graphs alone"
    elif usual and settings.get("companion", "none") == "none":
        alone = ", networks alone"
    return f"{name} ({recipe} recipe{alone})"


def fold_key(folds: Sequence[int]) -> str:
    """A short key of the test folds of all graphs, -1 for a graph in none.

    Example:
        >>> fold_key([0, 1, -1]) == fold_key([0, 1, -1]) != fold_key([1, 0, -1])
        True
    """
    few = max(folds, default=0) < 255
    plain = bytes(fold + 1 for fold in folds) if few else str(list(folds)).encode()
    return hashlib.sha256(plain).hexdigest()[:16]


def read_runs(folder: Path | str) -> list[Run]:
    """All cross-validation records of a folder, by name, and those of runs in its subfolders.

    Raises:
        ValueError: Where a file is no such record.
    """
    names = ("*.json", "*/result.json", "*/seed-*.json")
    return [_read(path) for name in names for path in sorted(Path(folder).glob(name))]


def default_settings(model: str, dataset: str, pair_code: str | None = None) -> dict[str, Any]:
    """The settings ``lgan cv DATASET --model MODEL`` runs with, in the form of a :class:`Run`."""
    settings = settings_for(model, dataset, pair_code=pair_code)
    return _normal(settings.about(), asdict(settings.training), dataset)


def _read(path: Path) -> Run:
    plain = _json(path)
    check_accuracy(plain, path)
    try:
        model, config, info = plain["model"], plain["config"], plain["info"]
        folds, sizes = info["folds"], plain["fold_sizes"]
        kernel = isinstance(MODELS.get(model["name"]), KernelSpec)  # fitted to all but the test
        inner_sizes = (not kernel and plain.get("inner_sizes")) or [0] * len(sizes)
        graphs = len(folds)
        return Run(
            path=path,
            model=model["name"],
            dataset=plain["dataset"],
            settings=_normal(model, config, plain["dataset"]),
            seed=int(config.get("seed", 0)),
            folds=fold_key(folds),
            test_share=fmean(size / (graphs - size) for size in sizes),
            inner_share=fmean(
                size / (graphs - size - inner)
                for size, inner in zip(sizes, inner_sizes, strict=True)
            ),
            results={rule: tuple(read["folds"]) for rule, read in plain["results"].items()},
            environment=info.get("environment", {}),
            compress=bool(model.get("compress", True)),
            members=int(plain.get("bagged_members", 0)),
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise ValueError(
            f"Expected a record of `lgan cv` in {path}, got a file without or with another "
            f"{error}. Move it to another folder, or run it again."
        ) from error


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Expected a record of `lgan cv` in {path}, got no JSON object: {error}. Move it to "
            "another folder, or run it again."
        ) from error


def check_accuracy(plain: dict[str, Any], path: Path) -> None:
    """Refuse the record of another metric: tables call what they show accuracy."""
    if (metric := plain.get("metric", "accuracy")) != "accuracy":
        raise ValueError(
            f"Expected a record of accuracy in {path}, got one of {metric}. Move it to another "
            "folder, or run it again with `--metric accuracy`."
        )


def _normal(about: dict[str, Any], config: dict[str, Any], dataset: str) -> dict[str, Any]:
    """Settings that can be compared: what an older record does not name had its default then."""
    name = about["name"]
    usual = default_options(MODELS[name]) if name in MODELS else {}
    if isinstance(MODELS.get(name), NetworkSpec):
        usual |= asdict(TrainConfig())
    if dataset in DATASETS:
        usual["features"] = DATASETS[dataset].features
    given = {**usual, **about, **config}
    plain: dict[str, Any] = json.loads(json.dumps(given))
    return {key: plain[key] for key in sorted(plain) if key not in NOT_SETTINGS}
