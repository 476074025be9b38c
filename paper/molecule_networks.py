"""Our side of the table of molecules: members by `lgan train`'s recipe on all rows but the test
part, the splits of a kind side by side in one program.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from lgan.data.graph_features import AUTO, decided_features
from lgan.experiment import factory, network_spec, settings_for, with_data_options
from lgan.graph import GraphUnion
from lgan.nn import LGAN
from lgan.train import OUTSIDE, train_ensembles
from lgan.train.environment import choose_device, environment, peak_memory
from lgan.train.folds import choose_groups
from paper.attentive_fp import AttentiveNetwork
from paper.edge_states import EdgeStateNetwork
from paper.learned_descriptors import LearnedDescriptors
from paper.molecule_peers import forest, link
from paper.molecule_sets import DESCRIPTORS, TEST, PreparedSet


class Network(NamedTuple):
    """A network of the table.

    Attributes:
        zoo: The network of the zoo that is trained, or by whose recipe.
        options: Its options.
        told: What is told of whole molecules.
        built: Another network than the zoo's.
        beside: Trees on fingerprints that answer with it: the mean of both is what is said.
        learned: Of what is told nothing is read: it is learned beside the targets, and this is
            what its error is multiplied by.
    """

    zoo: str
    options: Mapping[str, Any] = MappingProxyType({})
    told: tuple[str, ...] = ()
    built: type[AttentiveNetwork] | type[EdgeStateNetwork] | None = None
    beside: str = ""
    learned: float = 0.0


NETWORKS = {
    "lgan": Network("lgan", told=(AUTO,)),
    "lgan+alone": Network("lgan", {"companion": "none"}, told=(AUTO,)),
    "lgan+none": Network("lgan"),
    **{f"lgan+{kind}": Network("lgan", told=(kind,)) for kind in DESCRIPTORS},
    "lgan+morgan+rdkit2d": Network("lgan", told=DESCRIPTORS),
    "lgan+learned": Network("lgan", told=("rdkit2d",), learned=0.3),
    "lgan+learned-1": Network("lgan", told=("rdkit2d",), learned=1.0),
    "lgan+rf-tuned": Network("lgan", beside="rf-tuned"),
    "lgan+rings": Network("lgan", {"pair_code": "rings"}),
    "lgan+edge-states": Network("lgan", built=EdgeStateNetwork),
    "gine": Network("gin"),
    "attentivefp": Network("gin", built=AttentiveNetwork),
}


def networks(
    folder: str,
    name: str,
    split: str,
    seeds: Sequence[int],
    model: str,
    members: int,
    judged: int = TEST,
    change: Mapping[str, Any] = MappingProxyType({}),
    keep: bool = False,
) -> dict[str, Any]:
    """Train members on every split of a kind, and predict its test part or its validation part.

    Args:
        folder: Where the set is prepared.
        name: The set.
        split: ``random``, ``scaffold`` or ``ogb``.
        seeds: Seeds of the split; of ``ogb``, of which there is one, those of the training.
        model: A name of `NETWORKS`.
        members: Models of an ensemble, each with another fold of the rest held out; one holds out
            a tenth.
        judged: The part that is predicted; members read neither it nor the test part.
        change: Settings that differ from the recipe's.
        keep: Return what every member says too.
    """
    place = choose_device("auto")
    data = PreparedSet.load(Path(folder), name)
    network = NETWORKS[model]
    union = data.union
    told = decided_features(network.told, molecules=True, rows=union.num_graphs)
    if told:
        union = replace(union, graph_x=torch.cat([data.descriptors[kind] for kind in told], 1))
    options = {**network.options, **change}
    if code := options.get("pair_code"):
        union = replace(union, lines=union.lines.coded(code))
    union = union.to(place)
    read = () if network.learned else told
    settings = settings_for(
        network.zoo, "", recipe="default", compress=False, graph_features=read, **options
    )
    programs = [(list(seeds), 0)] if split != "ogb" else [([0], seed) for seed in seeds]
    train, ask, said, each, epochs = [], [], [], [], []
    for splits, seed in programs:
        parts = [data.parts[split, one] for one in splits]
        seen = [(part != TEST) & (part != judged) for part in parts]
        inside = sum(int(rows.sum()) for rows in seen) // len(parts)
        own = with_data_options(settings.with_seed(seed), union, graphs=inside)
        build: Callable[[], nn.Module] = factory(own, union)
        if network.learned:
            build = partial(_learning, factory(own, replace(union, graph_x=None)), network, union)
        captured = network_spec(network.zoo).captured
        about = own.about()
        if network.built is not None:
            outputs, edge_dim = union.known_task.num_outputs, union.num_edge_features
            build = partial(network.built, union.num_features, outputs, edge_dim=edge_dim)
            if network.built is EdgeStateNetwork:
                build = partial(build, head_layers=own.options.get("head_layers", 1))
            captured, about = network.built.CAPTURED, {"name": model, **network.built.SIZES}
        begin = time.perf_counter()
        trained = train_ensembles(
            build, union, [_folds(union, rows, members, seed) for rows in seen],
            members=members, config=own.training, captured=captured, device=place,
        )  # fmt: skip
        train += [(time.perf_counter() - begin) / len(parts)] * len(parts)
        for part, ensemble in zip(parts, trained, strict=True):
            rows = (part == judged).nonzero()[:, 0]
            begin = time.perf_counter()
            each.append(ensemble.answers(union, rows).numpy())
            ask.append(time.perf_counter() - begin)
            said.append(each[-1].mean(0).tolist())
            epochs.append(ensemble.epoch)
    alone = said
    if network.beside:
        trees = [forest(folder, name, split, seed, network.beside, judged) for seed in seeds]
        classes = union.known_task.has_classes
        said = []
        for k, grown in enumerate(trees):
            both = [np.asarray(alone[k]), link(grown["predictions"], classes=classes)]
            said.append(np.mean(both, axis=0).tolist())
            train[k] += grown["train_seconds"]
            ask[k] += grown["predict_seconds"]
        about |= trees[0]["settings"]
    return {
        "predictions": said,
        **({"each": each} if keep else {}),
        **({"alone": alone} if network.beside else {}),
        "epochs": epochs,
        "train_seconds": train,
        "predict_seconds": ask,
        "peak_memory": peak_memory(place),
        "settings": {**about, **asdict(own.training)},
        "environment": environment(place),
    }


def _learning(build: Callable[[], nn.Module], network: Network, union: GraphUnion) -> nn.Module:
    """A network that learns what is told of whole molecules."""
    made = build()
    assert isinstance(made, LGAN)
    return LearnedDescriptors(made, union.num_graph_features, network.learned)


def _folds(union: GraphUnion, seen: Tensor, members: int, seed: int) -> Tensor:
    """The fold of every row that is trained on, as `lgan train` draws them."""
    inside = seen.nonzero()[:, 0]
    number = 10 if members == 1 else max(5, members)
    fold = torch.full((union.num_graphs,), OUTSIDE)
    fold[inside] = choose_groups(union.select(inside.to(union.device)), number, seed)[0]
    return fold
