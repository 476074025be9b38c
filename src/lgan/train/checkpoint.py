"""Trained models on disk: weights as safetensors, everything else as JSON inside them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lgan._version import __version__
from lgan.catalogue import DATASETS
from lgan.data.cache import load_tensors, save_tensors
from lgan.task import TargetScale
from lgan.train.companion import Companion
from lgan.train.memory import outline
from lgan.train.out_of_fold import OutOfFold
from lgan.train.stack import stack
from lgan.train.tensor_file import checksum, json_object, not_finite, read_metadata
from lgan.train.training_molecules import TrainingMolecules

# Format 3 has no companion, and models without one are still written in it; format 2 has one model.
# Format 1, of lgan 0.1, had no encoder to read graphs with.
OLDEST, FORMAT = 2, 4
# Tensors beside the weights: what the targets were scaled by, which graphs were trained on, and
# what was said of graphs by members that had not seen them; of molecules, what tells near ones;
# what answers beside the network.
BESIDE = (
    "scale_mean", "scale_std", "trained_on",
    *OutOfFold.NAMES, *TrainingMolecules.NAMES, *Companion.NAMES,
)  # fmt: skip
NAMES = ("feature_names", "classes")
REMEDY = "Give the file `model.safetensors` that `lgan train` wrote."


@dataclass(frozen=True)
class Checkpoint:
    """A trained model and what is needed to use it.

    Attributes:
        model: Name of the model.
        options: Options it was built with, beyond its sizes.
        in_channels: Node features, or categories.
        hidden_channels: Width.
        out_channels: Classes.
        dataset: Data set it was trained on.
        features: Kind of node features it expects.
        state: Weights and statistics by name, ``[K, …]`` where there are several members.
        info: Settings, accuracy, environment; ``compress``, whether twins were merged.
        feature_names: What every feature or category stands for; empty where that is not known.
        classes: Names of the classes in the order of the outputs; empty where they are not known.
        encoder: What turns graphs of a source into what the model reads, as JSON.
        target_scale: Scale of numeric targets: the model's outputs are in its units.
        trained_on: Keys of the graphs the model was trained on ``[n]``.
        members: Models side by side that predict as one.
        out_of_fold: What members said of graphs that they had not seen.
        molecules: What is kept of the molecules it was trained on, where they were molecules.
        companion: What answers beside the network, where something does.
    """

    model: str
    options: dict[str, Any]
    in_channels: int
    hidden_channels: int
    out_channels: int
    dataset: str
    features: str
    state: dict[str, Tensor]
    info: dict[str, Any]
    feature_names: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    encoder: dict[str, Any] = field(default_factory=dict)
    target_scale: TargetScale | None = None
    trained_on: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64))
    members: int = 1
    out_of_fold: OutOfFold | None = None
    molecules: TrainingMolecules | None = None
    companion: Companion | None = None

    def save(self, path: Path | str) -> None:
        """Write the checkpoint, whole or not at all."""
        written = FORMAT if self.companion is not None else FORMAT - 1
        header = {"format": written, "version": __version__, **self.describe()}
        state = {name: tensor.detach().cpu().contiguous() for name, tensor in self.state.items()}
        beside = {"trained_on": self.trained_on}
        if self.target_scale is not None:
            beside |= {"scale_mean": self.target_scale.mean, "scale_std": self.target_scale.std}
        for part in (self.out_of_fold, self.molecules, self.companion):
            beside |= {} if part is None else part.tensors()
        state |= {f"about.{name}": tensor for name, tensor in beside.items()}
        metadata = {"lgan": json.dumps(header), "checksum": checksum(state)}
        save_tensors(Path(path), state, metadata)

    @staticmethod
    def load(path: Path | str) -> "Checkpoint":
        """Read a checkpoint, or say what is wrong with it."""
        path = Path(path)
        if not path.is_file():
            inside = path / "model.safetensors"
            make = "Make one with `lgan train DATASET`."
            raise FileNotFoundError(
                f"There is no checkpoint {path}. "
                + (f"Expected a file, got a folder: give {inside}." if inside.is_file() else make)
            )
        try:
            metadata = read_metadata(path)
            if "lgan" not in metadata:
                raise ValueError("its header is missing")
            header = json_object(metadata["lgan"])
            written, version = header.pop("format", None), header.pop("version", "of unknown age")
            if written not in range(OLDEST, FORMAT + 1):
                raise ValueError(
                    f"lgan {version} wrote it in format {written}, and this is lgan "
                    f"{__version__}, which reads formats {OLDEST} to {FORMAT}; train again, or "
                    "install that version"
                )
            values = _checked(header)
            state, _ = load_tensors(path)
            if metadata.get("checksum") != checksum(state):
                raise ValueError("its weights do not have the checksum they were saved with")
            there = [name for name in BESIDE if f"about.{name}" in state]
            beside = _beside({name: state.pop(f"about.{name}") for name in there})
            if (name := not_finite(state)) is not None:
                raise ValueError(f"its weights `{name}` are not finite")
        except ValueError as error:
            raise ValueError(f"{path} is not a checkpoint of lgan: {error}. {REMEDY}") from error
        return Checkpoint(**values, state=state, **beside)

    def restore(self, build: Callable[..., nn.Module]) -> nn.Module:
        """The trained model in evaluation mode; several members side by side as one module.

        Args:
            build: Builds the model, see the registry of the zoo.
        """
        # A count that is larger than the file can fill would take forever to find out.
        for name, value in self.options.items():
            if name.endswith("layers") and isinstance(value, int) and value > len(self.state):
                raise self._unfit(f"{name} is {value}, and there are {len(self.state)} tensors")
        sizes = (self.in_channels, self.hidden_channels, self.out_channels)
        construct = partial(build, *sizes, **self.options)
        try:
            shapes = {name: tuple(t.shape) for name, t in outline(construct).state_dict().items()}
        except (AttributeError, TypeError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"The model {self.model!r} does not take the options {self.options} of the "
                f"checkpoint ({error}). Use it with the version of lgan that wrote it."
            ) from error
        leading = () if self.members == 1 else (self.members,)
        expected = {name: (*leading, *shape) for name, shape in shapes.items()}
        got = {name: tuple(t.shape) for name, t in self.state.items()}
        if expected != got:
            wrong = sorted(set(expected.items()) ^ set(got.items()))[0]
            raise self._unfit(f"they differ at `{wrong[0]}` {list(wrong[1])}")
        model = construct()
        model = model if self.members == 1 else stack([model] * self.members)
        model.load_state_dict(self.state)
        return model.eval().requires_grad_(False)

    def check_meaning(
        self, dataset: str, feature_names: tuple[str, ...], classes: tuple[str, ...]
    ) -> None:
        """Refuse a data set whose features or classes are not those the model was trained on."""
        for what, size, expected, got in (
            ("features", self.in_channels, self.feature_names, feature_names),
            ("classes", self.out_channels, self.classes, classes),
        ):
            if size != len(got):
                difference = f"has {len(got)} {what}, not {size}"
            elif expected and expected != got:
                theirs, ours = next((b, a) for a, b in zip(expected, got, strict=True) if a != b)
                difference = f"has other {what}: {theirs!r} in place of {ours!r}"
            else:
                continue
            raise ValueError(
                f"The model was trained on {self.dataset}, but {dataset} {difference}. "
                f"Train a model on {dataset}."
            )

    @property
    def compress(self) -> bool:
        """Whether twins were merged in the data it was trained on."""
        return bool(self.info.get("compress", True))

    def held_out(self, dataset: str, seed: int = 0) -> set[int] | None:
        """Graphs of a data set that the model was not trained on; ``None`` where it is not known
        which it was trained on, or it was trained on none. Of a generated set the seed counts.
        """
        generated = dataset in DATASETS and DATASETS[dataset].kind == "synthetic"
        if dataset != self.dataset or (generated and self.info["config"]["seed"] != seed):
            return None
        return set(self.info.get("held_out_graphs", [])) or None

    def describe(self) -> dict[str, Any]:
        """Everything but the weights and other tensors."""
        tensors = (
            "state", "target_scale", "trained_on", "out_of_fold", "molecules", "companion",
        )  # fmt: skip
        return {key: value for key, value in self.__dict__.items() if key not in tensors}

    def _unfit(self, difference: str) -> ValueError:
        return ValueError(
            f"The weights do not belong to the model {self.model!r} with the options "
            f"{self.options}: {difference}. Use the checkpoint with the version of lgan that wrote "
            "it."
        )


def _checked(header: dict[str, Any]) -> dict[str, Any]:
    """The fields of a header, each of its type; ``ValueError`` for anything else."""
    header = {"members": 1, **header}
    info = header.get("info")
    info = info if isinstance(info, dict) else {}
    config = info.get("config", {})
    seed = config.get("seed", 0) if isinstance(config, dict) else None
    whole = ("in_channels", "hidden_channels", "out_channels", "members")
    fits = {
        **{name: isinstance(header.get(name), str) for name in ("model", "dataset", "features")},
        **{name: isinstance(header.get(name), dict) for name in ("options", "info", "encoder")},
        **{name: type(header.get(name)) is int and header[name] > 0 for name in whole},
        **{name: _list_of(str, header.get(name)) for name in NAMES},
        "info.compress": isinstance(info.get("compress", True), bool),
        "info.config": type(seed) is int,
        "info.held_out_graphs": _list_of(int, info.get("held_out_graphs", [])),
    }
    wrong = [name for name, fine in fits.items() if not fine] + sorted(set(header) - set(fits))
    if wrong:
        raise ValueError(f"`{wrong[0]}` in its header is missing or not what it should be")
    return {**header, **{name: tuple(header[name]) for name in NAMES}}


def _beside(tensors: dict[str, Tensor]) -> dict[str, Any]:
    """The scale and the keys of graphs, checked; ``ValueError`` for anything else."""
    keys = tensors.get("trained_on", torch.empty(0, dtype=torch.int64))
    if keys.dim() != 1 or keys.dtype != torch.int64:
        raise ValueError("`about.trained_on` must be a list of whole numbers")
    said = {name: tensors[name] for name in OutOfFold.NAMES if name in tensors}
    near = {name: tensors[name] for name in TrainingMolecules.NAMES if name in tensors}
    other = {name: tensors[name] for name in Companion.NAMES if name in tensors}
    beside = {
        "trained_on": keys,
        "out_of_fold": OutOfFold.from_tensors(said) if said else None,
        "molecules": TrainingMolecules.from_tensors(near) if near else None,
        "companion": Companion.from_tensors(other) if other else None,
    }
    mean, std = tensors.get("scale_mean"), tensors.get("scale_std")
    if mean is None or std is None:
        return beside
    fits = mean.dim() in (1, 2) and mean.shape == std.shape
    if not fits or not mean.is_floating_point() or not bool((std > 0).all()):
        raise ValueError("the scale of its targets must be two lists of numbers of one length")
    if not bool(mean.isfinite().all() and std.isfinite().all()):
        raise ValueError("the scale of its targets is not finite")
    return {**beside, "target_scale": TargetScale(mean, std)}


def _list_of(kind: type, values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is kind for value in values)
