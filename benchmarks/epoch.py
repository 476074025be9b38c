"""One training epoch of one LGAN beside PyG's GIN of the same shape."""

from functools import partial

from benchmarks.config import BenchConfig
from benchmarks.measure import comparison
from benchmarks.peers import PeerTraining
from benchmarks.row import Bar, Row
from benchmarks.sets import load_both
from benchmarks.training import PEER, Training, train_beside
from lgan.nn import LGAN
from lgan.nn.lgan_conv import Comb

# Set, pair encoder, width, at most this part of GIN's time.
CASES: tuple[tuple[str, Comb, int, float], ...] = (
    ("MUTAG", "deepsets", 32, 1.2),
    ("PROTEINS", "deepsets", 32, 1.6),
    ("IMDB-BINARY", "deepsets", 64, 1.0),
    ("IMDB-MULTI", "deepsets", 64, 1.0),
    ("COLLAB", "deepsets", 64, 0.5),
    ("COLLAB", "linear", 64, 0.15),
)
# PyG's GIN takes minutes for an epoch of all of COLLAB.
SAMPLE = {"COLLAB": 500}


def epoch(config: BenchConfig) -> list[Row]:
    """Train on every graph of a set once: 4 layers, batches of 32, the library's own loop.

    No graph is held out; the loop tests on one graph, the smallest, and so does the peer.
    """
    cases = (CASES[0], CASES[-1]) if config.quick else CASES
    return [_row(name, comb, width, limit, config) for name, comb, width, limit in cases]


def _row(name: str, comb: Comb, width: int, limit: float, config: BenchConfig) -> Row:
    config.progress(f"{name}: reading")
    sample = None if config.full else SAMPLE.get(name)
    both = load_both(name, config, sample=sample)
    union, device = both.union, config.device
    smallest = min(range(len(both.graphs)), key=lambda g: int(both.graphs[g].num_nodes))
    build = partial(
        LGAN, union.num_features, width, union.num_classes, comb=comb, readout=both.readout
    )
    training = Training.on_all(union, build, tested=smallest, seed=config.seed)
    peer = PeerTraining(
        both.graphs, [both.graphs[smallest]], hidden_channels=width,
        num_classes=union.num_classes, device=device,
    )  # fmt: skip
    samples = train_beside(
        training, lambda _: peer.epoch(),
        repeats=2 if config.quick else 3 if name == "COLLAB" else 9,
        progress=lambda text: config.progress(f"{name} {comb}: {text}"),
    )  # fmt: skip
    return comparison(
        f"{name}, {comb}",
        f"one epoch of {union.num_graphs} graphs, 4 layers of width {width}",
        samples, peer=PEER, bar=Bar("ratio", limit), size=union.num_graphs, note=both.note,
    )  # fmt: skip
