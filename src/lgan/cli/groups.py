"""Options that come together: how a source is read, and how a network is made and trained."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import typer

from lgan.catalogue import archives_at_hand, known_dataset
from lgan.cli import options
from lgan.cli.setup import read_options

# The library is read by the functions that use it: a mistyped option needs no torch.
if TYPE_CHECKING:
    from lgan.experiment import Reading, Settings


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are groups (dataclasses) stand for the options in them."""
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    listed: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        group = groups.get(parameter.name)
        listed += [parameter] if group is None else inspect.signature(group).parameters.values()

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    run.__dict__["__signature__"] = signature.replace(
        parameters=[p.replace(kind=p.KEYWORD_ONLY) for p in listed]
    )
    run.__annotations__ = {p.name: p.annotation for p in listed}
    return run


@dataclass(frozen=True)
class SourceOptions:
    """How a source is read."""

    target: options.Target = None
    task: options.TaskKind = None
    smiles_column: options.SmilesColumn = None
    atoms: options.Atoms = "all"
    bonds: options.Bonds = "all"
    hydrogens: options.Hydrogens = False
    standardise: options.Standardise = False
    node_attributes: options.NodeAttributes = "all"
    edge_attributes: options.EdgeAttributes = "all"
    symmetrise: options.Symmetrise = False
    directed: options.Directed = False
    root: options.Root = Path("data")
    mirror: options.Mirror = None

    def check(self, source: str) -> None:
        """Refuse a source that is neither a path nor a name, before anything large is read."""
        path = Path(source)
        if path.exists():
            return
        if path.name != source or path.suffix:
            raise typer.BadParameter(f"There is no file or folder {source}. Check the path.")
        with options.bad_usage():
            known_dataset(source, archives_at_hand(root=self.root, mirror=self.mirror))

    def asked(self) -> dict[str, Any]:
        """What was said of a source beyond its name and place, by option."""
        return {
            field.name.replace("_", "-"): getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("root", "mirror") and getattr(self, field.name) != field.default
        }

    def reading(self, *, seed: int = 0, columns: tuple[str, ...] = ()) -> "Reading":
        """The same, as the library takes it."""
        from lgan.data.molecules.features import MoleculeFeatures
        from lgan.experiment import Reading

        molecules = None
        if (self.atoms, self.bonds) != ("all", "all") or self.hydrogens or self.standardise:
            with options.bad_usage():
                molecules = MoleculeFeatures.parse(
                    atoms=self.atoms, bonds=self.bonds, hydrogens=self.hydrogens,
                    standardise=self.standardise,
                )  # fmt: skip
        return Reading(
            targets=tuple(self.target) if self.target else None,
            task=self.task,
            columns=columns,
            smiles_column=self.smiles_column,
            molecules=molecules,
            node_features=_names(self.node_attributes),
            edge_features=_names(self.edge_attributes),
            symmetrise=self.symmetrise,
            directed=self.directed,
            root=self.root,
            mirror=self.mirror,
            seed=seed,
        )


@dataclass(frozen=True)
class NetworkOptions:
    """How a network is made and trained; what is not given has its usual value."""

    epochs: options.Epochs = None
    iterations: options.Iterations = None
    batch_size: options.BatchSize = None
    hidden: options.Hidden = None
    layers: options.Layers = None
    dropout: options.Dropout = None
    lr: options.LearningRate = None
    class_weight: options.ClassWeight = None
    readout: options.Readout = None
    pair_code: options.PairCode = None
    features: options.Features = None
    edge_features: options.EdgeFeatures = None
    graph_features: options.GraphFeatures = None
    recipe: options.Recipe = None
    compress: options.Compress = True
    more: options.Option = None

    def settings(self, model: str, dataset: str, *, seed: int) -> "Settings":
        """All settings of a model on a data set."""
        from lgan.experiment import settings_for

        given = vars(self) | {"num_layers": self.layers, "seed": seed} | read_options(self.more)
        given = {name: value for name, value in given.items() if name not in ("layers", "more")}
        try:
            return settings_for(model, dataset, **given)
        except (ValueError, TypeError) as error:
            raise typer.BadParameter(str(error)) from error


def _names(text: str) -> tuple[str, ...] | None:
    """Names with commas between them; nothing for ``all``, which reads what there is."""
    if text == "all":
        return None
    return () if text == "none" else tuple(name.strip() for name in text.split(",") if name.strip())
