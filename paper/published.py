"""Figures other people published, with their source; none of them is a result of this library."""

from dataclasses import dataclass

# The sets of the paper's Table 1, under the names of the registry. Its PTC is `PTC_GIN`.
SETS = ("MUTAG", "PTC_GIN", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI", "COLLAB")

TABLE_1 = "Du et al., LGAN, AAAI 2026, Table 1"
ERRICA = "Errica et al., A Fair Comparison of Graph Neural Networks, ICLR 2020"
GSN = "Bouritsas et al., GSN, TPAMI 2022 (figures from secondary sources)"


@dataclass(frozen=True)
class Published:
    """A figure as printed, in percent.

    Attributes:
        mean: Accuracy.
        std: Its deviation; ``None`` where none was printed.
        source: Where it was printed.
    """

    mean: float
    std: float | None
    source: str

    def __str__(self) -> str:
        return f"{self.mean:.1f}" if self.std is None else f"{self.mean:.1f} ± {self.std:.1f}"


def _row(source: str, *figures: str) -> dict[str, Published]:
    """Figures of the six sets as ``mean`` or ``mean±std``; ``-`` for none."""
    row = {}
    for name, figure in zip(SETS, figures, strict=True):
        if figure != "-":
            mean, _, std = figure.partition("±")
            row[name] = Published(float(mean), float(std) if std else None, source)
    return row


# The paper's Table 1. Several of its baselines were measured under other protocols than the rule
# `gin`: it quotes them from their own papers.
ACCURACY: dict[str, dict[str, Published]] = {
    "rw": _row(TABLE_1, "79.2±2.1", "55.9±0.3", "59.6±0.1", "-", "-", "-"),
    "sp": _row(TABLE_1, "81.7", "58.9", "76.4", "59.2", "40.5", "-"),
    "pk": _row(TABLE_1, "76.0±2.7", "59.5±2.4", "73.7±0.7", "-", "-", "-"),
    "wl": {},
    "2-wl": _row(TABLE_1, "77.0", "61.9", "75.2", "72.6", "50.6", "-"),
    "delta-2-lwl": _row(TABLE_1, "-", "-", "75.1±0.3", "73.3±0.5", "50.2±0.6", "-"),
    "dcnn": _row(TABLE_1, "-", "-", "61.3±1.6", "49.1±1.4", "33.5±1.4", "52.1±0.7"),
    "patchy-san": _row(
        TABLE_1, "92.6±4.2", "60.0±4.8", "75.9±2.8", "71.0±2.2", "45.2±2.8", "72.6±2.2"
    ),
    "dgcnn": _row(TABLE_1, "85.8±1.7", "58.6±2.5", "75.5±0.9", "70.0±0.9", "47.8±0.9", "73.8±0.5"),
    "gin": _row(TABLE_1, "89.4±5.6", "64.6±7.0", "76.2±2.8", "75.1±5.1", "52.3±2.8", "80.2±1.9"),
    "1-2-3-gnn": _row(TABLE_1, "86.1", "60.9", "75.5", "74.2", "49.5", "-"),
    "ppgn": _row(TABLE_1, "90.6±8.7", "66.2±6.5", "77.2±4.7", "73.0±5.8", "50.5±3.6", "81.4±1.4"),
    "cwn": _row(TABLE_1, "92.7±6.1", "68.2±5.6", "77.0±4.3", "75.6±3.7", "52.7±3.1", "-"),
    "lgan": _row(TABLE_1, "92.5±6.3", "67.4±6.2", "77.3±3.7", "76.7±4.0", "53.3±3.2", "82.8±1.5"),
    "lgan-res": _row(
        TABLE_1, "92.0±5.8", "66.6±7.0", "76.8±3.6", "76.6±3.1", "53.5±2.7", "82.7±1.7"
    ),
}

# Models that are not in the zoo, shown for orientation.
PEERS: dict[str, dict[str, Published]] = {
    "GSN": _row(GSN, "92.2", "68.2", "76.6", "77.8", "54.3", "85.5"),
}

# Nested model selection, the rule `fair`.
FAIR: dict[str, dict[str, Published]] = {
    "gin": _row(ERRICA, "-", "-", "73.3", "71.2", "48.5", "75.6"),
}

# Pairs of BREC told apart, of 400: Wang and Zhang, An Empirical Study of Realized GNN
# Expressiveness, ICML 2024; most from memory of its table.
BREC_COUNTS: dict[str, int] = {
    "N2-GNN": 287,
    "I2-GNN": 281,
    "KP-GNN": 275,
    "3-WL": 270,
    "GSN": 254,
    "PPGN": 233,
    "SUN": 223,
    "δ-2-LGNN": 216,
    "NGNN": 166,
    "1-WL": 0,
}


def published(model: str, dataset: str, rule: str = "gin") -> Published | None:
    """The published figure of a model on a set, read by a rule; ``None`` where there is none.

    Example:
        >>> str(published("gin", "MUTAG")), published("gin", "COLLAB", "fair").mean
        ('89.4 ± 5.6', 75.6)
    """
    figures = {"gin": ACCURACY, "fair": FAIR}.get(rule, {})
    return figures.get(model, {}).get(dataset)
