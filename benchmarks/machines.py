"""Training over two hosts that share nothing but a folder, also when one of them is lost.

    python -m benchmarks.machines [--output results/scale/machines.json]

The hosts are network namespaces, which needs Linux, root and iproute2; each has an address, a
loopback and a folder with the table of its own. A lost host is killed with all its processes
(SIGKILL) after the first epoch, and its command is given there again. Right are the predictions for
held-out molecules that one process makes.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import split
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks.kills import SMILES
from lgan.data import load_tensors
from lgan.data.cache import save_record
from lgan.train.environment import environment

ROWS = 200
ENDS_IN = 120  # seconds that a run is given
TRAIN = split(
    "-m lgan train table.csv --members 2 --hidden 8 --layers 1 --epochs 60 --iterations 20 "
    "--no-report"
)
TORCHRUN = split("-m torch.distributed.run --nproc-per-node=1")
BOTH = split("--nnodes=2 --max-restarts=3 --rdzv-backend=c10d --rdzv-endpoint=10.77.0.1:29400")
# A host that comes back knows nothing of a store that torchrun kept on the other one.
ENV = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
ENV |= {"GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1"}


class Hosts:
    """Hosts 1 and 2 in a folder, and the switch (0) between them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.names = folder, [f"lgan{os.getpid()}-{i}" for i in range(3)]
        lines = [f"{SMILES[i % len(SMILES)]}{'C' * (i % 7)},{i % 2}" for i in range(ROWS)]
        for host in ("1", "2"):
            (folder / host).mkdir()
            (folder / host / "table.csv").write_text("smiles,y\n" + "\n".join(lines) + "\n")

    def connect(self) -> None:
        """Make the namespaces and the links between them."""
        orders = [f"netns add {name}" for name in self.names]
        switch = f"-n {self.names[0]} link"
        orders.append(f"{switch} add name switch0 up type bridge")
        for i, host in enumerate(self.names[1:], 1):
            orders.append(f"{switch} add name port{i} type veth peer name eth0 netns {host}")
            orders.append(f"{switch} set dev port{i} master switch0 up")
            orders.append(f"-n {host} addr add 10.77.0.{i}/24 dev eth0")
            orders += [f"-n {host} link set dev {device} up" for device in ("lo", "eth0")]
        for order in orders:
            subprocess.run(["ip", *split(order)], check=True)

    def start(self, host: int, words: list[str]) -> "subprocess.Popen[bytes]":
        """Start Python on a host."""
        path = os.pathsep.join(entry for entry in sys.path if entry)
        return subprocess.Popen(
            ["ip", "netns", "exec", self.names[host], sys.executable, *words],
            cwd=self.folder / str(host), env={**os.environ, **ENV, "PYTHONPATH": path},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def kill(self, host: int) -> None:
        """Kill all processes of a host."""
        words = ["ip", "netns", "pids", self.names[host]]
        for process in subprocess.run(words, stdout=subprocess.PIPE, check=False).stdout.split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)

    def run(self, words: dict[int, list[str]], output: Path, lost: int | None) -> bool:
        """Run a command on hosts, one of which is lost and started again; whether all end well."""
        end, codes = time.monotonic() + ENDS_IN, []
        running = {host: self.start(host, typed) for host, typed in words.items()}
        if lost is not None:
            while not any(output.glob("state-*.safetensors")) and time.monotonic() < end:
                time.sleep(0.1)
            self.kill(lost)
            running[lost].wait()
            running[lost] = self.start(lost, words[lost])
        for host, process in running.items():
            with suppress(subprocess.TimeoutExpired):
                codes.append(process.wait(max(1.0, end - time.monotonic())))
            if process.poll() is None:
                self.kill(host)
        return codes == [0] * len(running)


@contextmanager
def connected_hosts() -> Iterator[Hosts]:
    """The hosts, which are removed whatever happens."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("ip") is None:
        raise SystemExit("Hosts are made by `ip netns`: run this as root on Linux with iproute2.")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with TemporaryDirectory(prefix="lgan-machines-", ignore_cleanup_errors=True) as made:
        hosts = Hosts(Path(made))
        try:
            hosts.connect()
            yield hosts
        finally:
            for place, name in enumerate(hosts.names):
                hosts.kill(place)
                subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def measured(hosts: Hosts) -> Iterator[dict[str, Any]]:
    """One process, two hosts, and two of which one is lost; where that does not end, once more."""
    alone = {1: [*TORCHRUN, "--standalone", *TRAIN]}
    own = {i: [f"--local-addr=10.77.0.{i}", f"--rdzv-conf=is_host={2 - i}"] for i in (1, 2)}
    both = {i: [*TORCHRUN, *BOTH, *own[i], *TRAIN] for i in (1, 2)}
    resumed = {i: [*words, "--resume"] for i, words in both.items()}
    right: torch.Tensor | None = None
    for name, words, place, lost in (
        ("one process", alone, "alone", None),
        ("two hosts", both, "two", None),
        ("two hosts, one lost and started again", both, "lost", 2),
        ("the same, started again on both", resumed, "lost", None),
    ):
        output, begin = hosts.folder / place, time.monotonic()
        words = {i: [*typed, "--output", str(output)] for i, typed in words.items()}
        row: dict[str, Any] = {"case": name, "ended": hosts.run(words, output, lost)}
        row["seconds"] = round(time.monotonic() - begin, 1)
        if row["ended"]:
            said = load_tensors(output / "model.safetensors")[0]["about.oof_predictions"]
            right = said if right is None else right
            row["difference"] = float((said - right).abs().max())
        print(json.dumps(row), flush=True)
        yield row
        if right is None or (lost and row["ended"]):
            break


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("results/scale/machines.json"))
    asked = parser.parse_args()
    with connected_hosts() as hosts:
        found = list(measured(hosts))
    save_record(asked.output, {"runs": found, "environment": environment(torch.device("cpu"))})
    agree = all(row["ended"] and row["difference"] <= 1e-6 for row in found)
    print("results agree" if agree else "not all ended, or results do not agree")
    sys.exit(not agree)


if __name__ == "__main__":
    main()
