"""Every method on the same model and graphs, scored."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from lgan.explain.attribution import plain
from lgan.explain.integrated_gradients import outputs_at_ends
from lgan.explain.maskable import MaskableGraph
from lgan.explain.masking import evaluating, prepared
from lgan.explain.methods import METHODS, MethodSpec, method_spec
from lgan.explain.question import Question, explained_by_default
from paper.faithfulness import Faithfulness, edge_auc, faithfulness, stability


@dataclass(frozen=True)
class MethodScores:
    """How one method did.

    Attributes:
        method: Its name.
        auc: Edge ROC-AUC over the edges of all graphs in one curve; NaN without a ground truth.
        auc_per_graph: The mean of the AUC of every graph.
        faithfulness: Fidelity+, fidelity- and unfaithfulness by sparsity.
        stability: Rank correlation of the scores with those of another seed; 1 for methods that
            draw nothing.
        seconds: Time of one explanation, learning included, on average.
    """

    method: str
    auc: float
    auc_per_graph: float
    faithfulness: Faithfulness
    stability: float
    seconds: float


@dataclass(frozen=True)
class Evaluation:
    """Methods on one model and the same graphs.

    Attributes:
        graphs: Number of graphs.
        edges: Number of undirected edges.
        counted: Number of edges the ground truth names.
        seed: Seed of the methods.
        rows: One for each method, by its name.
    """

    graphs: int
    edges: int
    counted: int
    seed: int
    rows: dict[str, MethodScores]

    def to_json(self) -> dict[str, Any]:
        """Plain values; ``None`` for what is not known."""
        values: dict[str, Any] = plain(asdict(self))
        return {**values, "rows": list(values["rows"].values())}


def evaluate(
    model: nn.Module,
    graphs: Sequence[Any],
    truths: Sequence[Tensor] | None = None,
    *,
    targets: Sequence[int] | None = None,
    methods: Iterable[str] = METHODS,
    seed: int = 0,
    repeated: int = 16,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Score methods of explanation against a ground truth and against the model itself.

    Args:
        model: The model.
        graphs: Graphs, each as :func:`lgan.attribute` takes it.
        truths: For every graph, whether each undirected edge counts ``[P]``, edges in the order
            of :func:`lgan.graph.undirected_pairs`; ``None`` where nobody knows.
        targets: Class to explain for each; the predicted ones by default.
        methods: Names of :data:`METHODS`.
        seed: Fixes methods that draw random numbers.
        repeated: Graphs explained with a second seed, for the stability.
        progress: Told which method is at work.

    Example:
        >>> import lgan, torch
        >>> from torch_geometric.data import Data
        >>> paw = Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 0, 1, 2], [1, 2, 2, 3]]))
        >>> truth = torch.tensor([True, True, True, False])  # the triangle
        >>> found = evaluate(lgan.LGAN(1, 8, 2), [paw], [truth], methods=["degree", "random"])
        >>> found.rows["degree"].auc
        0.8333333333333333
    """
    specs = {name: method_spec(name) for name in methods}
    with evaluating(model):
        graphs = prepared(model, graphs)
        known = None if truths is None else _checked_truths(graphs, truths)
        outputs = torch.stack([ends[:, 1].mean(0) for ends in outputs_at_ends(model, graphs)])
        chosen = outputs.argmax(-1).tolist() if targets is None else list(targets)
        default = explained_by_default(outputs.size(-1))

        def scored(spec: MethodSpec, count: int | None, seed: int) -> list[Tensor]:
            question = Question(model, graphs[:count], chosen[:count], default, seed=seed)
            return [found.pairs.mean(0).detach().cpu() for found in spec.explain(question)]

        rows = {}
        for name, spec in specs.items():
            if progress is not None:
                progress(name)
            begin = time.perf_counter()
            spec.check(name, None, default, "edges")
            scores = scored(spec, None, seed)
            seconds = (time.perf_counter() - begin) / max(1, len(graphs))
            areas = (math.nan, math.nan) if known is None else edge_auc(scores, known)
            steady = 1.0
            if spec.random:
                steady = stability(scores[:repeated], scored(spec, repeated, seed + 1))
            faithful = faithfulness(model, graphs, scores, chosen)
            rows[name] = MethodScores(name, *areas, faithful, steady, seconds)
    return Evaluation(
        graphs=len(graphs),
        edges=sum(graph.num_pairs for graph in graphs),
        counted=0 if known is None else sum(int(truth.sum()) for truth in known),
        seed=seed,
        rows=rows,
    )


def _checked_truths(graphs: Sequence[MaskableGraph], truths: Sequence[Tensor]) -> list[Tensor]:
    if len(truths) != len(graphs):
        raise ValueError(
            f"`truths` must have {len(graphs)} entries, one a graph, got {len(truths)}."
        )
    for i, (graph, truth) in enumerate(zip(graphs, truths, strict=True)):
        if truth.shape != (graph.num_pairs,):
            raise ValueError(
                f"`truths[{i}]` must have one value for each of {graph.num_pairs} undirected "
                f"edges, got shape {list(truth.shape)}. List every edge once, u < v, in order."
            )
    return [truth.bool().cpu() for truth in truths]
