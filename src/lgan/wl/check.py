"""Ask a network which graphs it tells apart, with permuted copies as control."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from lgan.wl.compare import refine
from lgan.wl.graphs import LabelledGraphs


@dataclass(frozen=True)
class CheckResult:
    """What a network says about pairs of graphs.

    Attributes:
        differences: Largest difference of the outputs for each pair, relative to their size.
        controls: The same between a graph and permuted copies of it: rounding.
        separated: Whether the difference of each pair clearly exceeds all controls.
        beyond: Pairs the network separates but the test it was compared with does not.
    """

    differences: tuple[float, ...]
    controls: tuple[float, ...]
    separated: tuple[bool, ...]
    beyond: tuple[int, ...] = ()

    @property
    def num_separated(self) -> int:
        """How many pairs the network tells apart."""
        return sum(self.separated)

    @property
    def largest_control(self) -> float:
        """The largest difference between a graph and a permuted copy."""
        return max(self.controls, default=0.0)

    @property
    def smallest_separation(self) -> float | None:
        """The smallest difference that counts as a separation, or ``None`` without any."""
        pairs = zip(self.differences, self.separated, strict=True)
        return min((difference for difference, counts in pairs if counts), default=None)


def check(
    model: Callable[[Any], Tensor],
    pairs: Sequence[tuple[Any, Any]],
    *,
    transform: Callable[[Any], Any] | None = None,
    test: str | None = None,
    seeds: Sequence[int] | None = None,
    copies: int = 2,
    tolerance: float = 1e-9,
    margin: float = 1e3,
) -> CheckResult:
    """Run a network on pairs of graphs in float64 and report which it tells apart.

    A pair counts as separated if its outputs differ by more than ``tolerance`` and by more than
    ``margin`` times the largest difference any graph shows to a permuted copy of itself.

    Args:
        model: From a PyG ``Data`` object to an output vector. A module is copied, made float64
            and put in evaluation mode; anything else is called as it is.
        pairs: Pairs of networkx graphs (labels become one-hot ``x``, those of edges categories
            ``edge_attr``) or of PyG ``Data``.
        transform: Applied to every graph before the model sees it, after it was permuted; for
            :class:`lgan.LGAN` this is ``lgan.EgoLineGraph()``.
        test: A name of ``TESTS`` that bounds the model; pairs separated beyond it are listed.
        seeds: Draw the weights of the module anew with each of these, by its method
            ``reset_parameters``; a pair is separated if it is with one of them. Without, the
            weights stay as they are.
        copies: Permuted copies of every graph.
        tolerance: Least relative difference that counts.
        margin: How many times the largest control a difference must exceed.

    Example:
        >>> import networkx as nx
        >>> def degrees(data):
        ...     return torch.bincount(torch.bincount(data.edge_index[0]), minlength=4).double()
        >>> path, star = nx.path_graph(4), nx.star_graph(3)
        >>> check(degrees, [(path, star), (path, nx.path_graph(4))], test="1-wl").separated
        (True, False)
    """
    graphs = [graph for pair in pairs for graph in pair]
    union = LabelledGraphs.of(graphs)
    data = _as_data(graphs, union)
    generator = torch.Generator().manual_seed(0)
    # Per graph: itself, then permuted copies.
    inputs = [[one, *(_permuted(one, generator) for _ in range(copies))] for one in data]
    if transform is not None:
        inputs = [[transform(one) for one in group] for group in inputs]

    differences, controls = [0.0] * len(pairs), [0.0] * len(pairs)
    for network in _networks(model, seeds):
        outputs = [torch.stack([_output(network, one) for one in group]) for group in inputs]
        for i in range(len(pairs)):
            a, b = outputs[2 * i : 2 * i + 2]
            size = float(torch.cat([a.flatten(), b.flatten()]).abs().amax().clamp(min=1e-300))
            control = max(float((out - out[0]).abs().amax()) for out in (a, b)) / size
            if a.shape != b.shape:
                raise ValueError(
                    f"The model must give vectors of one size, got {list(a.shape[1:])} and "
                    f"{list(b.shape[1:])} for pair {i}. Read out the nodes first."
                )
            differences[i] = max(differences[i], float((a[0] - b[0]).abs().amax()) / size)
            controls[i] = max(controls[i], control)
    threshold = max(tolerance, margin * max(controls, default=0.0))
    separated = tuple(difference > threshold for difference in differences)
    beyond: tuple[int, ...] = ()
    if test is not None:
        classes = refine(union, test=test).classes.tolist()
        claimed = (i for i, counts in enumerate(separated) if counts)
        beyond = tuple(i for i in claimed if classes[2 * i] == classes[2 * i + 1])
    return CheckResult(tuple(differences), tuple(controls), separated, beyond)


def _networks(
    model: Callable[[Any], Tensor], seeds: Sequence[int] | None
) -> list[Callable[[Any], Tensor]]:
    if not isinstance(model, nn.Module):
        if seeds is not None:
            raise ValueError(
                f"`seeds` draw the weights of a module anew, got a {type(model).__name__}. "
                "Pass a `torch.nn.Module`, or leave `seeds` out."
            )
        return [model]
    if seeds is None:
        return [copy.deepcopy(model).double().eval()]
    if not callable(getattr(model, "reset_parameters", None)):
        raise ValueError(
            f"`seeds` need a module with a method `reset_parameters`, {type(model).__name__} has "
            "none. Add one, or leave `seeds` out."
        )
    networks: list[Callable[[Any], Tensor]] = []
    for seed in seeds:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network: Any = copy.deepcopy(model).double()
            network.reset_parameters()
        networks.append(network.eval())
    return networks


def _output(network: Callable[[Any], Tensor], data: Any) -> Tensor:
    with torch.no_grad():
        out = network(data).detach().double().flatten()
    if not bool(torch.isfinite(out).all()):
        raise ValueError("The model gave an output that is not finite. Check its weights.")
    return out


def _as_data(graphs: list[Any], union: LabelledGraphs) -> list[Any]:
    """Every graph as PyG ``Data`` with float64 features; labels become one-hot."""
    from torch_geometric.data import Data

    num_labels = int(union.labels.max(initial=0)) + 1
    one_hot = torch.nn.functional.one_hot(torch.from_numpy(union.labels).long(), num_labels)
    converted = []
    for i, graph in enumerate(graphs):
        if isinstance(graph, Data):
            data = copy.copy(graph)
            for name in ("x", "edge_attr"):
                value = getattr(data, name)
                if value is not None and value.is_floating_point():
                    data[name] = value.double()
        else:
            start, stop = union.node_ptr[i : i + 2].tolist()
            own = slice(*union.pair_ptr[i : i + 2].tolist())
            edges = torch.from_numpy(union.pairs[:, own] - start)
            data = Data(
                x=one_hot[start:stop].double(),
                edge_index=torch.cat([edges, edges.flip(0)], 1),
                num_nodes=stop - start,
            )
            if union.labelled_edges:
                data.edge_attr = torch.from_numpy(union.edge_labels[own]).repeat(2)
        converted.append(data)
    return converted


def _permuted(data: Any, generator: torch.Generator) -> Any:
    """The same graph with nodes and edges in another order."""
    order = torch.randperm(int(data.num_nodes), generator=generator)  # old name of each new node
    name = torch.empty_like(order)
    name[order] = torch.arange(order.numel())
    edges = torch.randperm(data.edge_index.size(1), generator=generator)
    permuted = copy.copy(data)
    for key, value in data.to_dict().items():
        if not isinstance(value, Tensor):
            continue
        if data.is_node_attr(key):
            permuted[key] = value[order]
        elif key != "edge_index" and data.is_edge_attr(key):
            permuted[key] = value[edges]
    permuted.edge_index = name[data.edge_index][:, edges]
    return permuted
