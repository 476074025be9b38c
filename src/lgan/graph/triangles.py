"""Triangle listing by the forward algorithm in degree order, memory bounded by a budget."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from lgan.graph.edges import undirected_pairs
from lgan.graph.free_memory import free_memory
from lgan.graph.segments import concat_ranges, group_by, lengths_to_ptr

if TYPE_CHECKING:
    import numpy as np

Backend = Literal["numba", "torch"]

# Triangles (numba) or wedges (torch) handled at a time by one thread: 3 x 4 bytes and about
# 40 bytes each. A block never has to hold more than one adjacency list, at most sqrt(2 m) long.
BLOCK = 1 << 20
# Bytes that a triangle takes at most while it is listed and what lies opposite is sorted
# (measured: 61 on the CPU), or its nodes are (96).
BYTES, BYTES_OF_NODES = 64, 100


def triangles(edge_index: Tensor, num_nodes: int, *, backend: Backend | None = None) -> Tensor:
    """Every triangle of an undirected graph, once, as sorted node ids ``[3, T]``.

    Direction, duplicates and self-loops of ``edge_index`` are ignored. The order of the columns
    is fixed for a given input but otherwise free. O(m · arboricity) time; beyond the result, the
    working memory is O(n + m) and one block a thread, whatever the number of wedges.

    Args:
        edge_index: Edges ``[2, E]``, either direction or both.
        num_nodes: Number of nodes.
        backend: ``"numba"`` (compiled, CPU) or ``"torch"`` (any device); the first by default
            on the CPU, the second elsewhere.

    Example:
        >>> k4 = torch.tensor([[0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]])
        >>> sorted(triangles(k4, num_nodes=4).t().tolist())
        [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
    """
    pair_index = undirected_pairs(edge_index, num_nodes)
    found = pair_triangles(pair_index, num_nodes, backend=backend, bytes_each=BYTES_OF_NODES)
    ij, ik, jk = found.long()
    nodes = torch.stack([*opposite_nodes(pair_index, ij, ik, jk)])
    return nodes.sort(dim=0).values


def opposite_nodes(
    pair_index: Tensor, ij: Tensor, ik: Tensor, jk: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The node opposite each pair of a triangle: k for ``ij``, j for ``ik``, i for ``jk``."""
    ends = pair_index.sum(0)  # i + j identifies the third node once all three sums are known
    half = (ends[ij] + ends[ik] + ends[jk]) // 2  # i + j + k
    return half - ends[ij], half - ends[ik], half - ends[jk]


def opposite_lists(
    pair_index: Tensor, num_nodes: int, *, backend: Backend | None = None
) -> tuple[Tensor, Tensor]:
    """The nodes opposite each pair in a triangle, pair after pair ``[M]``, and how many each has
    ``[P]``; to a pair ``(c, c)`` of twins all neighbours of ``c`` are opposite.
    """
    num_pairs = pair_index.size(1)
    own = pair_index[0] == pair_index[1]
    proper = (~own).nonzero().squeeze(1)
    between = pair_index[:, proper]
    found = pair_triangles(between, num_nodes, backend=backend)
    ij, ik, jk = found.long() if found.size(1) < 1 << 22 else found
    opposite = torch.cat(opposite_nodes(between.to(found.dtype), ij, ik, jk))
    if proper.numel() == num_pairs:
        key = found.flatten()
    else:
        key = proper.to(found.dtype)[found.flatten()]
        # An edge {c, d} gives c the pair {d, d}, if d stands for two nodes or more.
        own_pair = torch.full((num_nodes,), -1, dtype=found.dtype, device=found.device)
        own_pair[pair_index[0, own]] = own.nonzero().squeeze(1).to(found.dtype)
        side = torch.cat([own_pair[between[0]], own_pair[between[1]]])
        across = torch.cat([between[1], between[0]]).to(opposite.dtype)
        key = torch.cat([key, side[side >= 0]])
        opposite = torch.cat([opposite, across[side >= 0]])
    return group_by(key, opposite, num_pairs)


def pair_triangles(
    pair_index: Tensor, num_nodes: int, *, backend: Backend | None = None, bytes_each: int = BYTES
) -> Tensor:
    """Every triangle once, as the ids of its three pairs ``[3, T]`` int32.

    Where they may not fit into the memory that is free, they are counted before any is kept.

    Args:
        pair_index: Pairs ``[2, P]`` as :func:`undirected_pairs` returns them.
        num_nodes: Number of nodes.
        backend: See :func:`triangles`.
        bytes_each: What the caller needs for a triangle at most, this list included.

    Raises:
        ValueError: Where they do not fit.
    """
    backend = backend or ("numba" if pair_index.device.type == "cpu" else "torch")
    if backend not in ("numba", "torch"):
        raise ValueError(f"`backend` must be 'numba' or 'torch', got {backend!r}.")
    blocks = _numba_blocks if backend == "numba" else _torch_blocks
    found = list(blocks(pair_index, num_nodes, bytes_each))
    if not found:
        return pair_index.new_empty((3, 0), dtype=torch.int32)
    return found[0] if len(found) == 1 else torch.cat(found, dim=1)


def _check_fits(
    wedges: int, count: Callable[[], int], bytes_each: int, device: torch.device
) -> None:
    """Refuse triangles that take more memory than is free; there are no more than wedges."""
    if wedges <= BLOCK or wedges * bytes_each <= free_memory(device):
        return
    number = count()
    needed, free = number * bytes_each, free_memory(device)
    if needed > free:
        raise ValueError(
            f"The graphs have {number:,} triangles to list, which take {needed / 2**30:.1f} GiB, "
            f"but {free / 2**30:.1f} GiB are free. Merge twins (`compress=True`), leave triangles "
            "out for a model that does not read them (`triangles=False`), or take fewer graphs."
        )


def _numba_blocks(pair_index: Tensor, num_nodes: int, bytes_each: int = BYTES) -> Iterator[Tensor]:
    import numpy as np

    from lgan.ops.listing_numba import list_oriented, orient

    u, v = pair_index.to(torch.int32).numpy()
    row_ptr, head, pair, wedges = orient(u, v, num_nodes)
    work = np.cumsum(wedges)
    total = int(work[-1]) if num_nodes else 0
    threads = torch.get_num_threads() if total > BLOCK else 1
    bounds = np.searchsorted(work, total * np.arange(1, threads) / threads).tolist()
    longest = int(np.diff(row_ptr).max()) if num_nodes else 0
    capacity = max(min(BLOCK, total), longest, 1)

    def scan(row: int, stop: int) -> "Iterator[np.ndarray[Any, Any]]":
        near, mark = np.zeros(num_nodes, np.bool_), np.empty(num_nodes, np.int32)
        out = np.empty((3, capacity), np.int32)
        edge = 0
        while row < stop:
            row, edge, filled = list_oriented(row_ptr, head, pair, row, edge, stop, near, mark, out)
            yield out[:, :filled]

    def counted(row: int, stop: int) -> int:
        return sum(block.shape[1] for block in scan(row, stop))

    def listed(row: int, stop: int) -> list[Tensor]:
        return [torch.from_numpy(block.copy()) for block in scan(row, stop) if block.size]

    starts, stops = [0, *bounds], [*bounds, num_nodes]
    if threads == 1:
        _check_fits(total, lambda: counted(0, num_nodes), bytes_each, pair_index.device)
        yield from listed(0, num_nodes)
        return
    with ThreadPoolExecutor(threads) as pool:
        _check_fits(
            total, lambda: sum(pool.map(counted, starts, stops)), bytes_each, pair_index.device
        )
        for found in pool.map(listed, starts, stops):
            yield from found


def _torch_blocks(pair_index: Tensor, num_nodes: int, bytes_each: int = BYTES) -> Iterator[Tensor]:
    u, v = pair_index
    degree = torch.bincount(pair_index.flatten(), minlength=num_nodes)
    rank = torch.empty_like(degree)
    rank[torch.argsort(degree, stable=True)] = torch.arange(num_nodes, device=u.device)
    tail, head = torch.minimum(rank[u], rank[v]), torch.maximum(rank[u], rank[v])
    key, pair = torch.sort(tail * num_nodes + head)  # oriented edges, row after row
    tail, head = tail[pair], head[pair]
    row_ptr = lengths_to_ptr(torch.bincount(tail, minlength=num_nodes))

    # The wedges of edge e = (i, j) are the edges (j, k); it closes if (i, k) is an edge.
    length = row_ptr[head + 1] - row_ptr[head]
    reach = torch.cumsum(length, 0)
    num_edges = int(pair.numel())

    def listed() -> Iterator[Tensor]:
        start = 0
        while start < num_edges:
            done = int(reach[start - 1]) if start else 0
            stop = max(int(torch.searchsorted(reach, done + BLOCK, right=True)), start + 1)
            edge = torch.repeat_interleave(
                torch.arange(start, stop, device=u.device), length[start:stop]
            )
            far = concat_ranges(row_ptr[head[start:stop]], length[start:stop])
            wanted = tail[edge] * num_nodes + head[far]
            place = torch.searchsorted(key, wanted).clamp_(max=num_edges - 1)
            hit = (key[place] == wanted).nonzero().squeeze(1)
            if hit.numel():
                found = [pair[edge[hit]], pair[place[hit]], pair[far[hit]]]
                yield torch.stack(found).to(torch.int32)
            start = stop

    wedges = int(reach[-1]) if num_edges else 0
    _check_fits(wedges, lambda: sum(block.size(1) for block in listed()), bytes_each, u.device)
    yield from listed()
