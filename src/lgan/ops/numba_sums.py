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


# Rows are places in flat arrays, and the loops over them stand where they are used: slices, and
# functions of a row, cost twice what is done with 64 columns (measured). Unsigned places cannot be
# negative, which spares the test.


# Four rows at a time share what is read and written beside them (measured on rows of 64: a third
# less time).


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


@njit(nogil=True, cache=True)
def _clear(plane: Array, branches: int, width: int, c0: int, c1: int) -> None:
    """Set some columns of every branch to zero."""
    flat, columns = plane.reshape(-1), plane.shape[1]
    if c1 - c0 == columns:
        flat[:] = 0
        return
    size = np.uint64(c1 - c0)
    for i in range(plane.shape[0]):
        for branch in range(branches):
            at = np.uint64(i * columns + c0 + branch * width)
            for j in range(size):
                flat[at + j] = 0


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
    columns, coded = a.shape[2], code.size > 0
    branches = columns // width
    floor = a.dtype.type(0) if relu else a.dtype.type(-np.inf)
    zero = a.dtype.type(0)
    z, size = np.empty(c1 - c0, a.dtype), np.uint64(c1 - c0)
    for k in range(k0, k1):
        _clear(out[k], branches, width, c0, c1)
        flat, from_a = out[k].reshape(-1), a[k].reshape(-1)
        from_table = table[k if coded else 0].reshape(-1)
        for p in range(pairs.shape[1]):
            u, v = pairs[0, p], pairs[1, p]
            tu, tv, nu, nv, across = _weights(multiplicity[u], multiplicity[v], u == v)
            row = code[p] if coded else 0
            for branch in range(branches):
                silent = nu == 0.0 and nv == 0.0 and ptr[p] == ptr[p + 1]
                if branch == 1 and silent:
                    break
                first = c0 + branch * width
                at_u, at_v = np.uint64(u * columns + first), np.uint64(v * columns + first)
                at_code = np.uint64(row * columns + first)
                if coded:
                    for j in range(size):
                        shift = from_table[at_code + j]
                        z[j] = max(from_a[at_u + j] + from_a[at_v + j] + shift, floor)
                else:
                    for j in range(size):
                        z[j] = max(from_a[at_u + j] + from_a[at_v + j], floor)
                wu, wv = a.dtype.type(tu), a.dtype.type(tv)
                if branch == 1:
                    wu, wv = a.dtype.type(nu), a.dtype.type(nv)
                if wu != zero or wv != zero:
                    for j in range(size):
                        flat[at_u + j] += wu * z[j]
                        flat[at_v + j] += wv * z[j]
                if branch == 0:
                    continue
                weight = a.dtype.type(across)
                for j in range(size):
                    z[j] *= weight
                _add_to_each(flat, columns, opposite, ptr[p], ptr[p + 1], first, z)


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
    columns, coded = a.shape[2], code.size > 0
    branches = columns // width
    zero = a.dtype.type(0)
    z, size = np.empty(c1 - c0, a.dtype), np.uint64(c1 - c0)
    for k in range(k0, k1):
        _clear(grad_a[k], branches, width, c0, c1)
        flat, to_a, from_a = grad[k].reshape(-1), grad_a[k].reshape(-1), a[k].reshape(-1)
        plane = k if coded else 0
        from_table, to_table = table[plane].reshape(-1), grad_table[plane].reshape(-1)
        for p in range(pairs.shape[1]):
            u, v = pairs[0, p], pairs[1, p]
            tu, tv, nu, nv, across = _weights(multiplicity[u], multiplicity[v], u == v)
            row = code[p] if coded else 0
            for branch in range(branches):
                silent = nu == 0.0 and nv == 0.0 and ptr[p] == ptr[p + 1]
                if branch == 1 and silent:
                    break
                first = c0 + branch * width
                at_u, at_v = np.uint64(u * columns + first), np.uint64(v * columns + first)
                at_code = np.uint64(row * columns + first)
                wu, wv = a.dtype.type(tu), a.dtype.type(tv)
                if branch == 1:
                    wu, wv = a.dtype.type(nu), a.dtype.type(nv)
                if branch == 0:
                    for j in range(size):
                        z[j] = wu * flat[at_u + j] + wv * flat[at_v + j]
                else:
                    z[:] = zero
                    _add_up(flat, columns, opposite, ptr[p], ptr[p + 1], first, z)
                    wt = a.dtype.type(across)
                    for j in range(size):
                        z[j] = z[j] * wt + (wu * flat[at_u + j] + wv * flat[at_v + j])
                if relu and coded:
                    for j in range(size):
                        keep = from_a[at_u + j] + from_a[at_v + j] + from_table[at_code + j]
                        value = z[j]
                        z[j] = value if keep > zero else zero
                elif relu:
                    for j in range(size):
                        value, keep = z[j], from_a[at_u + j] + from_a[at_v + j]
                        z[j] = value if keep > zero else zero
                for j in range(size):
                    to_a[at_u + j] += z[j]
                    to_a[at_v + j] += z[j]
                if coded:
                    for j in range(size):
                        to_table[at_code + j] += z[j]


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
