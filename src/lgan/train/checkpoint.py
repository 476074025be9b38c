"""Trained models on disk: weights as safetensors, everything else as JSON inside them."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from lgan._version import __version__
from lgan.data.cache import load_tensors, save_tensors

__all__ = ["Checkpoint"]

FORMAT = 1
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
        state: Weights and statistics by name.
        info: Settings, accuracy, environment.
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

    def save(self, path: Path | str) -> None:
        """Write the checkpoint, whole or not at all."""
        plain = {key: value for key, value in self.__dict__.items() if key != "state"}
        header = {"format": FORMAT, "version": __version__, **plain}
        state = {name: tensor.detach().cpu().contiguous() for name, tensor in self.state.items()}
        save_tensors(Path(path), state, {"lgan": json.dumps(header)})

    @staticmethod
    def load(path: Path | str) -> "Checkpoint":
        """Read a checkpoint, or say what is wrong with it."""
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(
                f"There is no checkpoint {path}. Make one with `lgan train DATASET`."
            )
        try:
            state, metadata = load_tensors(path)
        except ValueError as error:
            raise ValueError(
                f"{path} is not a checkpoint of lgan (not a whole safetensors file). {REMEDY}"
            ) from error
        if "lgan" not in metadata:
            raise ValueError(
                f"{path} is not a checkpoint of lgan (its header is missing). {REMEDY}"
            )
        header = json.loads(metadata["lgan"])
        version, written = header.pop("version"), header.pop("format")
        if written != FORMAT:
            raise ValueError(
                f"{path} was written by lgan {version} in format {written}, but this is lgan "
                f"{__version__}, which reads format {FORMAT}. Train again, or install that version."
            )
        return Checkpoint(**header, state=state)

    def restore(self, build: Callable[..., nn.Module]) -> nn.Module:
        """The trained model, in evaluation mode.

        Args:
            build: Builds the model, see the registry of the zoo.
        """
        sizes = (self.in_channels, self.hidden_channels, self.out_channels)
        try:
            model = build(*sizes, **self.options)
        except TypeError as error:
            raise ValueError(
                f"The model {self.model!r} does not take the options {self.options} of the "
                "checkpoint. Use it with the version of lgan that wrote it."
            ) from error
        expected = {name: tuple(t.shape) for name, t in model.state_dict().items()}
        got = {name: tuple(t.shape) for name, t in self.state.items()}
        if expected != got:
            wrong = sorted(set(expected.items()) ^ set(got.items()))[0]
            raise ValueError(
                f"The weights do not belong to the model {self.model!r} with the options "
                f"{self.options}: they differ at `{wrong[0]}` {list(wrong[1])}. "
                "Use the checkpoint with the version of lgan that wrote it."
            )
        model.load_state_dict(self.state)
        return model.eval()

    def describe(self) -> dict[str, Any]:
        """Everything but the weights."""
        return {key: value for key, value in asdict(self).items() if key != "state"}
