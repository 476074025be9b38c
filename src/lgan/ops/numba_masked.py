"""Compiled loops over pairs that are there to some degree, on the CPU.

Twins are not merged here. Values and tables that all masks share have a single plane.
"""

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import Array, add_row

# Threads share out planes alone, each with all columns, so that sums may be reordered.
FAST = {"nsz", "reassoc", "contract"}


@njit(nogil=True, cache=True, inline="always")
def _sent(
    au: Array, av: Array, table: Array, code: Array, k: int, p: int, first: int, floor: float,
    z: Array,
) -> None:  # fmt: skip
    """What a pair sends; column ``first`` of plane ``k`` of the table is that of ``z[0]``."""
    if code.size > 0:
        shift = table[k, code[p], first : first + z.size]
        for j in range(z.size):
            z[j] = max(au[j] + av[j] + shift[j], floor)
    else:
        for j in range(z.size):
            z[j] = max(au[j] + av[j], floor)


@njit(nogil=True, cache=True, fastmath=FAST)
def masked_sum_forward(
    a: Array,
    table: Array,
    mask: Array,
    side_mask: Array,
    code: Array,
    pairs: Array,
    ptr: Array,
    opposite: Array,
    width: int,
    relu: bool,
    out: Array,
    k0: int,
    k1: int,
) -> None:
    """Every pair sends ``m z`` to its ends, and through triangles ``m m m z`` to the nodes
    opposite; added to zeros.
    """
    floor = a.dtype.type(0) if relu else a.dtype.type(-np.inf)
    z = np.empty(width, a.dtype)
    for k in range(k0, k1):
        own, plane = a[min(k, a.shape[0] - 1)], min(k, table.shape[0] - 1)
        for p in range(pairs.shape[1]):
            u, v = pairs[0, p], pairs[1, p]
            _sent(own[u, :width], own[v, :width], table, code, plane, p, 0, floor, z)
            add_row(out[k, u, :width], mask[k, p], z)
            add_row(out[k, v, :width], mask[k, p], z)
            if a.shape[2] == width or ptr[p] == ptr[p + 1]:
                continue
            _sent(own[u, width:], own[v, width:], table, code, plane, p, width, floor, z)
            for e in range(ptr[p], ptr[p + 1]):
                add_row(out[k, opposite[e], width:], side_mask[k, e], z)


@njit(nogil=True, cache=True, inline="always")
def _passed_on(
    z: Array, grad: Array, floor: float, to_u: Array, to_v: Array, to_table: Array
) -> None:
    """Add the gradient of what a pair sends to that of its values, unless it was clipped."""
    zero = grad.dtype.type(0)
    for j in range(z.size):
        value, sent = grad[j], z[j]
        value = value if sent > floor else zero
        grad[j] = value
        to_u[j] += value
        to_v[j] += value
    for j in range(to_table.size):
        to_table[j] += grad[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def masked_sum_backward(
    grad: Array,
    a: Array,
    table: Array,
    mask: Array,
    side_mask: Array,
    code: Array,
    pairs: Array,
    ptr: Array,
    opposite: Array,
    width: int,
    relu: bool,
    grad_a: Array,
    grad_table: Array,
    grad_mask: Array,
    grad_side: Array,
    k0: int,
    k1: int,
) -> None:
    """Gradients of :func:`masked_sum_forward`; those of values and table are added to zeros."""
    floor = a.dtype.type(0) if relu else a.dtype.type(-np.inf)
    z, g = np.empty(width, a.dtype), np.empty(width, a.dtype)
    for k in range(k0, k1):
        own, plane = a[min(k, a.shape[0] - 1)], min(k, table.shape[0] - 1)
        for p in range(pairs.shape[1]):
            u, v = pairs[0, p], pairs[1, p]
            row = code[p] if code.size > 0 else 0
            _sent(own[u, :width], own[v, :width], table, code, plane, p, 0, floor, z)
            gu, gv, m = grad[k, u, :width], grad[k, v, :width], mask[k, p]
            total = a.dtype.type(0)
            for j in range(width):
                both = gu[j] + gv[j]
                total += both * z[j]
                g[j] = m * both
            grad_mask[k, p] = total
            to_table = grad_table[k, row, : width if code.size > 0 else 0]
            _passed_on(z, g, floor, grad_a[k, u, :width], grad_a[k, v, :width], to_table)
            if a.shape[2] == width:
                for e in range(ptr[p], ptr[p + 1]):
                    grad_side[k, e] = 0
                continue
            if ptr[p] == ptr[p + 1]:
                continue
            _sent(own[u, width:], own[v, width:], table, code, plane, p, width, floor, z)
            g[:] = 0
            for e in range(ptr[p], ptr[p + 1]):
                across, m = grad[k, opposite[e], width:], side_mask[k, e]
                total = a.dtype.type(0)
                for j in range(width):
                    total += across[j] * z[j]
                    g[j] += m * across[j]
                grad_side[k, e] = total
            to_table = grad_table[k, row, width if code.size > 0 else grad_table.shape[2] :]
            _passed_on(z, g, floor, grad_a[k, u, width:], grad_a[k, v, width:], to_table)
