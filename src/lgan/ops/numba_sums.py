"""Compiled loops over pairs and the nodes that see them, on the CPU."""

import numpy as np

from lgan.ops.jit import njit
from lgan.ops.numba_rows import FAST, Array, add_row

# The ego line graphs: pairs, multiplicity, ptr, opposite, triangles.
Structure = tuple[Array, Array, Array, Array, Array]


@njit(nogil=True, cache=True, inline="always")
def _weights(ku: float, kv: float, own: bool) -> tuple[float, float, float, float, float]:
    """Entries of B_t at both ends, of B_n at both ends, and of B_n at every opposite node."""
    if own:
        return ku - 1.0, 0.0, (ku - 1.0) * (ku - 2.0) * 0.5, 0.0, ku * (ku - 1.0) * 0.5
    return kv, ku, (ku - 1.0) * kv, (kv - 1.0) * ku, ku * kv


@njit(nogil=True, cache=True, inline="always")
def sent(
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


# Four rows at a time share what is read and written beside them (measured on rows of 64: a third
# less time). Unsigned places cannot be negative, which spares the test.


@njit(nogil=True, cache=True, fastmath=FAST)
def _add_to_each(
    flat: Array, width: int, index: Array, begin: int, end: int, first: int, values: Array
) -> None:
    """Add the same values to the rows that an index lists, from column ``first`` on."""
    w, f, size = np.uint64(width), np.uint64(first), np.uint64(values.size)
    e = begin
    while e + 3 < end:
        p0, p1 = np.uint64(index[e]) * w + f, np.uint64(index[e + 1]) * w + f
        p2, p3 = np.uint64(index[e + 2]) * w + f, np.uint64(index[e + 3]) * w + f
        for j in range(size):
            value = values[j]
            flat[p0 + j] += value
            flat[p1 + j] += value
            flat[p2 + j] += value
            flat[p3 + j] += value
        e += 4
    for rest in range(e, end):
        place = np.uint64(index[rest]) * w + f
        for j in range(size):
            flat[place + j] += values[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def _add_up(
    flat: Array, width: int, index: Array, begin: int, end: int, first: int, total: Array
) -> None:
    """Add the rows that an index lists, from column ``first`` on, to a total."""
    w, f, size = np.uint64(width), np.uint64(first), np.uint64(total.size)
    e = begin
    while e + 3 < end:
        p0, p1 = np.uint64(index[e]) * w + f, np.uint64(index[e + 1]) * w + f
        p2, p3 = np.uint64(index[e + 2]) * w + f, np.uint64(index[e + 3]) * w + f
        for j in range(size):
            total[j] += (flat[p0 + j] + flat[p1 + j]) + (flat[p2 + j] + flat[p3 + j])
        e += 4
    for rest in range(e, end):
        place = np.uint64(index[rest]) * w + f
        for j in range(size):
            total[j] += flat[place + j]


@njit(nogil=True, cache=True, inline="always")
def _clear(plane: Array, branches: int, width: int, c0: int, c1: int) -> None:
    """Set some columns of every branch to zero."""
    for i in range(plane.shape[0]):
        for branch in range(branches):
            row = plane[i, c0 + branch * width : c1 + branch * width]
            for j in range(row.size):
                row[j] = 0


@njit(nogil=True, cache=True, fastmath=FAST)
def ego_sum_forward(
    a: Array,
    table: Array,
    code: Array,
    structure: Structure,
    width: int,
    relu: bool,
    out: Array,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """``out = (B_t Z_t ‖ B_n Z_n)`` with ``Z = relu(a_u + a_v + table[code])``.

    ``a`` holds the two branches side by side, ``width`` columns each, or only the first.
    """
    pairs, multiplicity, ptr, opposite, _ = structure
    branches = a.shape[2] // width
    floor = a.dtype.type(0) if relu else a.dtype.type(-np.inf)
    z = np.empty(c1 - c0, a.dtype)
    for k in range(k0, k1):
        _clear(out[k], branches, width, c0, c1)
        flat = out[k].reshape(-1)
        for p in range(pairs.shape[1]):
            u, v = pairs[0, p], pairs[1, p]
            tu, tv, nu, nv, across = _weights(multiplicity[u], multiplicity[v], u == v)
            for branch in range(branches):
                silent = nu == 0.0 and nv == 0.0 and ptr[p] == ptr[p + 1]
                if branch == 1 and silent:
                    break
                first, last = c0 + branch * width, c1 + branch * width
                au, av = a[k, u, first:last], a[k, v, first:last]
                sent(au, av, table, code, k, p, first, floor, z)
                if branch == 0:
                    add_row(out[k, u, first:last], tu, z)
                    add_row(out[k, v, first:last], tv, z)
                    continue
                if nu > 0.0:
                    add_row(out[k, u, first:last], nu, z)
                if nv > 0.0:
                    add_row(out[k, v, first:last], nv, z)
                weight = a.dtype.type(across)
                for j in range(z.size):
                    z[j] *= weight
                _add_to_each(flat, out.shape[2], opposite, ptr[p], ptr[p + 1], first, z)


@njit(nogil=True, cache=True, fastmath=FAST)
def ego_sum_backward(
    grad: Array,
    a: Array,
    table: Array,
    code: Array,
    structure: Structure,
    width: int,
    relu: bool,
    grad_a: Array,
    grad_table: Array,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """Gradients of :func:`ego_sum_forward`, that of the table added to what is there; the mask is
    computed again.
    """
    pairs, multiplicity, ptr, opposite, _ = structure
    branches = a.shape[2] // width
    zero = a.dtype.type(0)
    z = np.empty(c1 - c0, a.dtype)
    for k in range(k0, k1):
        _clear(grad_a[k], branches, width, c0, c1)
        flat = grad[k].reshape(-1)
        for p in range(pairs.shape[1]):
            u, v = pairs[0, p], pairs[1, p]
            tu, tv, nu, nv, across = _weights(multiplicity[u], multiplicity[v], u == v)
            for branch in range(branches):
                silent = nu == 0.0 and nv == 0.0 and ptr[p] == ptr[p + 1]
                if branch == 1 and silent:
                    break
                first, last = c0 + branch * width, c1 + branch * width
                wu, wv = a.dtype.type(tu), a.dtype.type(tv)
                if branch == 1:
                    wu, wv = a.dtype.type(nu), a.dtype.type(nv)
                z[:] = zero
                if branch == 1:
                    _add_up(flat, grad.shape[2], opposite, ptr[p], ptr[p + 1], first, z)
                    wt = a.dtype.type(across)
                    for j in range(z.size):
                        z[j] *= wt
                if wu != zero or wv != zero:
                    gu, gv = grad[k, u, first:last], grad[k, v, first:last]
                    for j in range(z.size):
                        z[j] += wu * gu[j] + wv * gv[j]
                au, av = a[k, u, first:last], a[k, v, first:last]
                if relu and code.size > 0:
                    shift = table[k, code[p], first:last]
                    for j in range(z.size):
                        value, keep = z[j], au[j] + av[j] + shift[j]
                        z[j] = value if keep > zero else zero
                elif relu:
                    for j in range(z.size):
                        value, keep = z[j], au[j] + av[j]
                        z[j] = value if keep > zero else zero
                add_row(grad_a[k, u, first:last], 1.0, z)
                add_row(grad_a[k, v, first:last], 1.0, z)
                if code.size > 0:
                    add_row(grad_table[k, code[p], first:last], 1.0, z)


@njit(nogil=True, cache=True, fastmath=FAST)
def linear_sum(
    a: Array,
    structure: Structure,
    width: int,
    transposed: bool,
    out: Array,
    k0: int,
    k1: int,
    c0: int,
    c1: int,
) -> None:
    """The collapsed linear form ``T_t = Σ (a_t + a_p)``, ``S_t = Σ c_tp a_p``, or its transpose."""
    pairs, multiplicity, _, _, tau = structure
    branches = a.shape[2] // width
    z = np.empty(c1 - c0, a.dtype)
    for k in range(k0, k1):
        _clear(out[k], branches, width, c0, c1)
        for p in range(pairs.shape[1]):
            u, v = pairs[0, p], pairs[1, p]
            tu, tv, _, _, _ = _weights(multiplicity[u], multiplicity[v], u == v)
            wu, wv = a.dtype.type(tu), a.dtype.type(tv)
            au, av = a[k, u, c0:c1], a[k, v, c0:c1]
            if transposed:
                for j in range(z.size):
                    z[j] = wu * au[j] + wv * av[j]
                tu = tv = 1.0
            else:
                for j in range(z.size):
                    z[j] = au[j] + av[j]
            add_row(out[k, u, c0:c1], tu, z)
            add_row(out[k, v, c0:c1], tv, z)
            if branches == 1 or tau[p] == 0:
                continue
            first, last = c0 + width, c1 + width
            au, av = a[k, u, first:last], a[k, v, first:last]
            if u == v:
                add_row(out[k, u, first:last], float(wu) * tau[p], au)
            elif transposed:
                add_row(out[k, u, first:last], float(wv) * tau[p], av)
                add_row(out[k, v, first:last], float(wu) * tau[p], au)
            else:
                add_row(out[k, u, first:last], float(wu) * tau[p], av)
                add_row(out[k, v, first:last], float(wv) * tau[p], au)
