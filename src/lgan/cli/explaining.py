"""A stored model and the graphs it explains, for `lgan explain` and `lgan demo`."""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn

from lgan._version import __version__
from lgan.cli.screen import activity
from lgan.data import RawGraphs, dataset_spec
from lgan.experiment import Settings, feature_names, network_spec, settings_for
from lgan.explain import Attribution, attribute
from lgan.explain.entry import Entry, explained, select_graphs, uncompressed
from lgan.explain.integrated_gradients import METHOD
from lgan.explain.methods import method_spec
from lgan.explain.molecule import molecule_from_smiles
from lgan.explain.provenance import typed_command
from lgan.explain.report import Report
from lgan.train.checkpoint import Checkpoint

__all__ = ["Explainer", "confusion_tables"]

# Of one logit nothing follows: softmax ignores a shift of all of them. People ask why this class
# rather than another.
WHAT: Final = "log-odds"


@dataclass(frozen=True)
class Explainer:
    """A trained model and what is asked of it.

    Attributes:
        stored: The checkpoint it is from.
        settings: Its settings on the data set of the graphs.
        model: The model.
        device: Where it is.
        target: Class to explain; ``None`` for the predicted one.
        steps: Points of the path to begin with.
        method: How edges are scored.
        seed: Seed of generated sets and of methods that draw random numbers.
    """

    stored: Checkpoint
    settings: Settings
    model: nn.Module
    device: torch.device
    target: int | None = None
    steps: int = 32
    method: str = METHOD
    seed: int = 0

    @staticmethod
    def restore(
        stored: Checkpoint, dataset: str, device: torch.device, **asked: object
    ) -> "Explainer":
        """The model of a checkpoint, to explain graphs of a data set."""
        settings = settings_for(
            stored.model, dataset, features=stored.features, hidden=stored.hidden_channels,
            compress=stored.compress, **stored.options,
        )  # fmt: skip
        model = stored.restore(network_spec(stored.model).build).to(device)
        return Explainer(stored, settings, model, device, **asked)  # type: ignore[arg-type]

    @property
    def held_out(self) -> set[int] | None:
        """Graphs of the data set that the model was not trained on, where that is known."""
        return self.stored.held_out(self.settings.dataset, self.seed)

    def check(self, raw: RawGraphs) -> None:
        """Refuse a set with other features or classes than the model was trained for."""
        names = feature_names(raw, self.stored.features)
        self.stored.check_meaning(raw.name, names, raw.classes)

    def graphs(self, raw: RawGraphs, index: list[int]) -> list[Entry]:
        """Graphs of the data set, explained."""
        chosen, held_out = select_graphs(raw, index), self.held_out
        return [
            explained(
                scores, chosen, i, name=f"{raw.name} {graph}", truth=int(raw.y[graph]),
                held_out=None if held_out is None else graph in held_out,
            )
            for i, (graph, scores) in enumerate(zip(index, self._scores(chosen), strict=True))
        ]  # fmt: skip

    def molecules(self, smiles: list[str]) -> list[Entry]:
        """Molecules from SMILES, explained; all are read before the first is."""
        dataset = self.stored.dataset
        entries = []
        for each in [molecule_from_smiles(text, dataset) for text in smiles]:
            raw = each.graph(dataset)
            entries.append(explained(self._scores(raw)[0], raw, 0, name=each.name, drawn=each))
        return entries

    def report(
        self, entries: list[Entry], classes: tuple[str, ...], confusions: dict[str, Tensor]
    ) -> Report:
        """Everything that is known of some explained graphs."""
        stored, dataset = self.stored, self.settings.dataset
        about = dataset_spec(dataset)
        options = (f"{key} {value}" for key, value in stored.options.items())
        training = (f"{key} {value}" for key, value in stored.info.get("config", {}).items())
        return Report(
            title=f"Why {stored.model} decides as it does",
            lead=f"A model trained on {stored.dataset}: {about.description}. Each card shows one "
            "graph, what the model says of it, and which edges made it say so.",
            classes=classes,
            entries=entries,
            confusions=confusions,
            facts={
                "command": typed_command(),
                "version": f"lgan {__version__}",
                "data set": f"{dataset}: {about.description}",
                "model": ", ".join([stored.model, f"width {stored.hidden_channels}", *options]),
                "node features": f"{stored.features} ({stored.in_channels})",
                "training": ", ".join(training),
                "method": f"{self.method}: {method_spec(self.method).reference}",
                "what is explained": f"the {WHAT} of the class named on the card",
                "seed": str(self.seed),
            },
        )

    def _scores(self, raw: RawGraphs) -> list[Attribution]:
        """Scores of every graph of a small set."""
        union = uncompressed(
            raw, self.stored.features, num_features=self.stored.in_channels,
            pair_code=self.settings.pair_code,
        ).to(self.device)  # fmt: skip
        found = []
        with activity() as tell:
            for i in range(union.num_graphs):
                tell(f"explaining {i + 1} of {union.num_graphs}")
                one = union.batch(torch.tensor([i], device=self.device))
                scores = attribute(
                    self.model, one, self.target, steps=self.steps, of=WHAT, method=self.method,
                    seed=self.seed,
                )  # fmt: skip
                found.append(scores.to("cpu"))
        return found


def confusion_tables(
    probability: Tensor, y: Tensor, name: str, held_out: set[int] | None
) -> dict[str, Tensor]:
    """Counts of true against predicted classes, of the held-out graphs and of all ``[C, C]``."""
    classes, guess = probability.size(1), probability.argmax(1)

    def counted(ids: Tensor) -> Tensor:
        cells = y[ids] * classes + guess[ids]
        return torch.bincount(cells, minlength=classes**2).view(classes, classes)

    everything = {f"all graphs of {name}": counted(torch.arange(y.numel()))}
    if held_out is None:
        return everything
    return {"held-out graphs": counted(torch.tensor(sorted(held_out)))} | everything
