"""Timing: sides in turn, medians, nothing but the work inside the clock."""

import time
from collections.abc import Callable, Collection, Mapping
from statistics import median

import torch

from benchmarks.row import Bar, Row

OURS = "lgan"


def synchronize(device: torch.device) -> None:
    """Wait until the device has done all it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def interleaved(
    sides: Mapping[str, Callable[[], object]],
    *,
    repeats: int,
    once: Collection[str] = (),
    inner: int = 1,
    device: torch.device | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, list[float]]:
    """Seconds of every run of every side.

    Each round runs all sides, one after another, so that whatever else the machine does falls on
    all of them. A first round, which compiles and warms up, is not counted.

    Args:
        sides: What to run, by name.
        repeats: Rounds that count.
        once: Sides too slow to repeat: run in the first round that counts, without a warm-up.
        inner: Calls in one measurement, for work much shorter than a millisecond.
        device: Where the work is done; its queue is empty at both ends of the clock.
        progress: Told the side and the round.
    """
    device = device or torch.device("cpu")
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(repeats + 1):
        for name, run in sides.items():
            if name in once and turn != 1:
                continue
            if progress is not None:
                progress(f"{name}, {'warm-up' if turn == 0 else f'{turn} of {repeats}'}")
            synchronize(device)
            begin = time.perf_counter()
            for _ in range(inner):
                run()
            synchronize(device)
            if turn:
                seconds[name].append((time.perf_counter() - begin) / inner)
    return seconds


def spread(samples: Mapping[str, list[float]]) -> dict[str, float]:
    """Number, least and greatest of the repeats of every side, for the record."""
    found: dict[str, float] = {}
    for name, seconds in samples.items():
        if seconds:
            found |= {f"{name} repeats": len(seconds), f"{name} least": min(seconds),
                      f"{name} most": max(seconds)}  # fmt: skip
    return found


def comparison(
    name: str,
    what: str,
    samples: Mapping[str, list[float]],
    *,
    peer: str | None = None,
    bar: Bar | None = None,
    size: int | None = None,
    note: str = "",
    detail: Mapping[str, float] | None = None,
) -> Row:
    """A row of medians: our side, ``lgan``, beside the side ``peer``."""
    named = {key: samples[key] for key in (OURS, peer) if key is not None and samples.get(key)}
    return Row(
        name=name,
        what=what,
        seconds=median(samples[OURS]),
        peer=peer,
        peer_seconds=median(named[peer]) if peer in named else None,
        bar=bar,
        size=size,
        note=note,
        detail=spread(named) | dict(detail or {}),
    )


def peak_bandwidth(device: torch.device, *, size: int = 1 << 28) -> float:
    """Bytes read and written per second when a large array is copied, the best of ten."""
    source = torch.ones(size // 4, device=device)
    target = torch.empty_like(source)
    timed = interleaved({"copy": lambda: target.copy_(source)}, repeats=10, inner=3, device=device)
    return 2 * source.numel() * source.element_size() / min(timed["copy"])


def cache_bandwidth(device: torch.device, *, size: int = 1 << 23) -> float:
    """Bytes read per second from an array that stays in the cache, the best of ten.

    It is read again and again by one kernel, as rows that many entries of a matrix name are.
    """
    source = torch.ones(size // 4 // 64, 64, device=device)
    again = source.expand(64, *source.shape)
    timed = interleaved({"read": lambda: again.sum((0, 1))}, repeats=10, inner=3, device=device)
    return again.numel() * source.element_size() / min(timed["read"])


def launch_seconds(device: torch.device) -> float:
    """From one kernel of next to no work to the next, the least of ten."""
    nothing = torch.ones(1, device=device)
    timed = interleaved({"add": lambda: nothing.add_(1)}, repeats=10, inner=100, device=device)
    return min(timed["add"])


def matmul_rate(device: torch.device, *, size: int = 2048) -> float:
    """Operations per second of a large matrix product in float32, the best of five."""
    a = torch.ones(size, size, device=device)
    timed = interleaved({"product": lambda: a @ a}, repeats=5, device=device)
    return 2 * size**3 / min(timed["product"])
