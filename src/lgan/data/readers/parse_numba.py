"""Compiled parts of the TU reader; imported when a set is read, since numba loads slowly."""

# mypy: allow-untyped-decorators
import numpy as np
from numpy.typing import NDArray

from lgan.ops.jit import njit

OK, NOT_A_NUMBER, OUT_OF_RANGE, WRONG_COUNT, BLANK_LINE, EMPTY_COLUMN = range(6)

_TAB, _NEWLINE, _RETURN, _SPACE, _PLUS, _COMMA, _MINUS, _POINT = 9, 10, 13, 32, 43, 44, 45, 46
_ZERO, _NINE, _UPPER_E, _LOWER_E = 48, 57, 69, 101
_MANTISSA = 10**17  # beyond it, further digits of an int64 mantissa only move the exponent
_EXACT_POWER = 22  # 10.0**22 is the last power of ten that a float64 holds exactly


@njit(nogil=True, cache=True)
def _is_space(c: int) -> bool:
    return c in (_SPACE, _TAB, _RETURN)


@njit(nogil=True, cache=True)
def _ends_number(c: int) -> bool:
    return _is_space(c) or c in (_COMMA, _NEWLINE)


@njit(nogil=True, cache=True)
def _scaled(mantissa: int, exponent: int) -> float:
    if -_EXACT_POWER <= exponent < 0:  # a quotient of two exact numbers is rounded once
        return float(mantissa / 10.0**-exponent)
    return float(mantissa * 10.0**exponent) if mantissa else 0.0


@njit(nogil=True, cache=True)
def _parse_number(text: NDArray[np.uint8], i: int) -> tuple[float, int]:
    """The number at ``text[i]`` and where it ends; the end is ``i`` where there is none."""
    begin = i
    negative = text[i] == _MINUS
    if negative or text[i] == _PLUS:
        i += 1
    mantissa, exponent, digits = 0, 0, 0
    while _ZERO <= text[i] <= _NINE:
        if mantissa < _MANTISSA:
            mantissa = mantissa * 10 + (text[i] - _ZERO)
        else:
            exponent += 1
        digits += 1
        i += 1
    if text[i] == _POINT:
        i += 1
        while _ZERO <= text[i] <= _NINE:
            if mantissa < _MANTISSA:
                mantissa = mantissa * 10 + (text[i] - _ZERO)
                exponent -= 1
            digits += 1
            i += 1
    if digits == 0:
        return 0.0, begin
    if text[i] == _LOWER_E or text[i] == _UPPER_E:
        i += 1
        below = text[i] == _MINUS
        if below or text[i] == _PLUS:
            i += 1
        if not _ZERO <= text[i] <= _NINE:
            return 0.0, begin
        power = 0
        while _ZERO <= text[i] <= _NINE:
            power = min(power * 10 + (text[i] - _ZERO), 9999)
            i += 1
        exponent += -power if below else power
    value = _scaled(mantissa, exponent)
    return (-value if negative else value), i


@njit(nogil=True, cache=True)
def parse_lines(
    text: NDArray[np.uint8],
    columns: int,
    low: float,
    high: float,
    whole: bool,
    blank: bool,
    out: NDArray[np.float64],
) -> tuple[int, int, int, int, bool]:
    """Numbers of a text of whole lines, separated by spaces or by one comma each, row by row into
    ``out``, which has room for half as many as the text has bytes.

    Blank lines may only end a file, so that line ``i`` always holds row ``i``: ``blank`` says
    whether the text before this one ended with one.

    Returns:
        The number of lines read, what stopped the reading (``OK`` at the end), the span of
        the offending text, and whether the last line was blank.
    """
    i, lines, count = 0, 0, 0
    while i < len(text):
        line, column, comma = i, 0, False
        while True:
            while _is_space(text[i]):
                i += 1
            if text[i] == _COMMA and column > 0 and not comma:
                comma = True
                i += 1
                continue
            if text[i] == _COMMA or (comma and text[i] == _NEWLINE):
                while text[i] != _NEWLINE:
                    i += 1
                return lines, EMPTY_COLUMN, line, i, blank
            comma = False
            if text[i] == _NEWLINE:
                break
            if blank:
                return lines, BLANK_LINE, line, i, blank
            begin = i
            value, i = _parse_number(text, begin)
            if i == begin or not _ends_number(text[i]):
                status = NOT_A_NUMBER
            elif column == columns:
                status = WRONG_COUNT
            elif whole and value != np.floor(value):
                status = NOT_A_NUMBER
            elif not low <= value <= high:
                status = OUT_OF_RANGE
            else:
                status = OK
            if status != OK:
                while text[i] != _NEWLINE and (status == WRONG_COUNT or not _ends_number(text[i])):
                    i += 1
                return lines, status, line if status == WRONG_COUNT else begin, i, blank
            out[count] = value
            count += 1
            column += 1
        if column == 0:
            blank = True
        elif column < columns:
            return lines, WRONG_COUNT, line, i, blank
        else:
            lines += 1
        i += 1
    return lines, OK, i, i, blank


@njit(nogil=True, cache=True)
def pair_edges(
    ends: NDArray[np.int32],
    num_nodes: int,
    order: NDArray[np.int64],
    pair_of: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Undirected pairs ``u < v`` of edges in any direction, sorted, each once, without loops.

    Two counting sorts, first by the larger end and then by the smaller: linear in edges and
    nodes. ``order`` is room for as many integers as there are edges, and ``pair_of`` receives the
    pair of every edge, ``-1`` for a loop.

    Shapes:
        ``ends [M, 2]``; returns ``[2, P]``.
    """
    below = np.zeros(num_nodes + 1, np.int64)  # where the edges of each node begin, by larger end
    above = np.zeros(num_nodes + 1, np.int64)  # the same by smaller end
    for e in range(len(ends)):
        u, v = ends[e]
        if u != v:
            below[max(u, v) + 1] += 1
            above[min(u, v) + 1] += 1
    for node in range(num_nodes):
        below[node + 1] += below[node]
        above[node + 1] += above[node]
    kept = below[num_nodes]

    by_larger = pair_of  # its room is free until the end
    for e in range(len(ends)):
        u, v = ends[e]
        if u != v:
            by_larger[below[max(u, v)]] = e
            below[max(u, v)] += 1
    for k in range(kept):
        u, v = ends[by_larger[k]]
        order[above[min(u, v)]] = by_larger[k]
        above[min(u, v)] += 1

    pair_of[:] = -1
    num_pairs, last_u, last_v = 0, -1, -1
    for k in range(kept):
        u, v = min(ends[order[k]]), max(ends[order[k]])
        if u != last_u or v != last_v:
            num_pairs += 1
            last_u, last_v = u, v
        pair_of[order[k]] = num_pairs - 1

    pairs = np.empty((2, num_pairs), np.int64)
    for k in range(kept):
        pair = pair_of[order[k]]
        pairs[0, pair] = min(ends[order[k]])
        pairs[1, pair] = max(ends[order[k]])
    return pairs
