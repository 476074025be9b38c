"""How `lgan app` bears many people at once: a minute of questions, a burst, and its memory.

    python benchmarks/app_load.py MODEL [--clients 8] [--seconds 60] [--burst 50]

Starts the page on the model and prints the figures as JSON, with where they were taken.
"""

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psutil
import torch

from lgan.train.environment import environment

MOLECULES = ("CCO", "c1ccccc1", "CC(=O)Nc1ccc(O)cc1", "Cn1c(=O)c2c(ncn2C)n(C)c1=O", "CCN(CC)CC")


async def _ask(client: httpx.AsyncClient, smiles: str) -> tuple[int, float]:
    begun = time.perf_counter()
    answer = await client.post("/api/predict", json={"smiles": [smiles]})
    return answer.status_code, time.perf_counter() - begun


async def _measure(
    address: str, process: psutil.Process, asked: argparse.Namespace
) -> dict[str, Any]:
    limits = httpx.Limits(max_connections=200)
    async with httpx.AsyncClient(base_url=address, timeout=60, limits=limits) as client:
        for _ in range(20):  # loops are compiled on first use
            await _ask(client, MOLECULES[0])
        memory, found = [process.memory_info().rss], list[tuple[int, float]]()
        end = time.perf_counter() + asked.seconds

        async def person(number: int) -> None:
            while time.perf_counter() < end:
                found.append(await _ask(client, MOLECULES[(number + len(found)) % len(MOLECULES)]))

        async def look() -> None:
            while time.perf_counter() < end:
                await asyncio.sleep(asked.seconds / 6)
                memory.append(process.memory_info().rss)

        await asyncio.gather(look(), *(person(number) for number in range(asked.clients)))
        burst = await asyncio.gather(*(_ask(client, MOLECULES[1]) for _ in range(asked.burst)))
    times = sorted(seconds for _, seconds in found)
    return {
        "clients": asked.clients,
        "answers": len(found),
        "errors": sum(status != 200 for status, _ in found),
        "median_ms": round(1e3 * statistics.median(times), 1),
        "p95_ms": round(1e3 * times[int(0.95 * len(times))], 1),
        "burst": asked.burst,
        "burst_errors": sum(status != 200 for status, _ in burst),
        "burst_slowest_ms": round(1e3 * max(seconds for _, seconds in burst), 1),
        "memory_mib": [round(each / 2**20) for each in memory],
    }


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--burst", type=int, default=50)
    asked = parser.parse_args()
    with started(asked.model) as (address, process):
        tell(asyncio.run(_measure(address, process, asked)))


def tell(figures: dict[str, Any]) -> None:
    """Print a record."""
    print(json.dumps({**figures, "environment": environment(torch.device("cpu"))}, indent=1))


@contextmanager
def started(model: str) -> Iterator[tuple[str, psutil.Process]]:
    """`lgan app` on a model: its address and its process."""
    command = [sys.executable, "-m", "lgan", "app", model, "--port", "0", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        line = re.search(r"http://\S+", server.stdout.readline())
        if line is None:
            raise SystemExit("The page did not start.")
        yield line[0], psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait(20)


if __name__ == "__main__":
    main()
