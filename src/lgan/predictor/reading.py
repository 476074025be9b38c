"""How a model reads a source: with the features that it was trained with."""

from collections.abc import Mapping
from typing import Any

from lgan.catalogue import DATASETS
from lgan.data import Encoder, RawGraphs, load_raw
from lgan.data.encoder import STRUCTURAL
from lgan.data.molecules.features import MoleculeFeatures
from lgan.data.sources import is_one_graph
from lgan.explain.atoms import MOLECULES
from lgan.explain.molecule import graphs_from_smiles
from lgan.train.checkpoint import Checkpoint


def read_as_trained(
    stored: Checkpoint, encoder: Encoder, source: Any, reading: Mapping[str, Any]
) -> RawGraphs:
    """The graphs of a source as a model reads them, with further options of `load_raw`."""
    how: dict[str, Any] = {"targets": [], **reading}
    if encoder.graphs is not None and not isinstance(how.get("columns"), Mapping):
        how["columns"] = (*how.get("columns", ()), *encoder.graphs.columns)
    if encoder.featuriser is not None:
        how["molecules"] = MoleculeFeatures.from_json(encoder.featuriser)
        listed = source if isinstance(source, list | tuple) else ()
        if is_one_graph(next((entry for entry in listed if entry is not None), None)):
            raise TypeError(
                "The model reads molecules, got a list with graphs of networkx or PyG. Pass "
                "SMILES, molecules of RDKit, or a table of them."
            )
    if encoder.directed:
        how["directed"] = True
    if encoder.symmetrise:
        how["symmetrise"] = True
    if stored.features == "all":  # other attributes may be on some nodes only
        for part, known in (("node", encoder.nodes), ("edge", encoder.pairs)):
            names = (*known.names, *known.number_names)
            none_read = part == "edge" and not names and encoder.featuriser is None
            if none_read or (names and not set(names) & set(STRUCTURAL)):
                how.setdefault(f"{part}_features", names)
    if encoder.featuriser is None and stored.dataset in MOLECULES and (texts := _smiles(source)):
        return graphs_from_smiles(texts, stored.dataset)
    raw = load_raw(source, **how)
    if (raw.featuriser is None) != (encoder.featuriser is None):
        kinds = ("graphs whose features come with them", "molecules")
        reads, got = kinds if encoder.featuriser is None else kinds[::-1]
        raise ValueError(
            f"The model reads {reads}, got {got} ({raw.name}). Give a source of that kind, or "
            f"train a model on {raw.name}."
        )
    if raw.name in DATASETS:  # whose labels are numbers that mean something there alone
        names = encoder.feature_names(raw, stored.features)
        stored.check_meaning(raw.name, names, raw.classes if raw.targets else stored.classes)
    return raw


def _smiles(source: Any) -> list[str | None]:
    """The SMILES that a source lists; empty where it is something else."""
    if isinstance(source, str | Mapping | RawGraphs) or hasattr(source, "columns"):
        return []
    texts = list(source) if hasattr(source, "__len__") else []
    return texts if all(text is None or isinstance(text, str) for text in texts) else []
