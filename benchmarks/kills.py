"""What is left of a run that loses a process at a random moment.

    python -m benchmarks.kills [--kills 20] [--seed 0] [--output results/scale/kills.json]

Every run is a command as a user types it. At a moment drawn from the time between its first file
and its end, one of its processes is killed (SIGKILL): a worker, which the others must make up for,
or the one that was typed, after which the same command is given again. The result must be that of a
run that nobody disturbed: shards and predictions byte by byte, models to rounding.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import torch

from lgan.data import load_tensors, replaced
from lgan.train.environment import environment

ROWS = 4000
SMILES = ("CCO", "c1ccccc1Br", "CC(=O)Nc1ccc(O)cc1", "C1CC", "Cn1c(=O)c2c(ncn2C)n(C)c1=O", "CCN")
ENDS_IN = 300  # seconds that a command is given
TRAINED = ["--members", "2", "--hidden", "8", "--layers", "1", "--epochs", "8"]
TRAINED += ["--iterations", "20", "--no-report"]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


@dataclass(frozen=True)
class Case:
    """A command, what it leaves, and who of it is killed.

    Attributes:
        name: What is killed in what.
        words: The command behind the interpreter, but for its output.
        worker: Kill a child of the process that was typed, which then ends well by itself.
        again: Words that are added when the command is given again.
        same: Whether two outputs are the same.
    """

    name: str
    words: list[str]
    worker: bool
    again: list[str]
    same: Callable[[Path, Path], bool]


def same_files(first: Path, second: Path) -> bool:
    """Whether two folders hold the same files of shards or predictions, byte by byte."""
    names = [
        sorted(path.name for pattern in ("shard-*", "manifest.json", "part-*")
               for path in folder.glob(pattern))
        for folder in (first, second)
    ]  # fmt: skip
    return bool(names[0]) and names[0] == names[1] and all(
        (first / name).read_bytes() == (second / name).read_bytes() for name in names[0]
    )  # fmt: skip


def same_model(first: Path, second: Path) -> bool:
    """Whether two folders hold a model with the same weights, to rounding."""
    models = [load_tensors(folder / "model.safetensors")[0] for folder in (first, second)]
    return models[0].keys() == models[1].keys() and all(
        torch.allclose(tensor.double(), models[1][name].double(), rtol=0, atol=1e-5, equal_nan=True)
        for name, tensor in models[0].items()
    )


def cases(folder: Path) -> list[Case]:
    """All cases, on the table in a folder and the shards and the model that they need."""
    table, lgan = str(folder / "table.csv"), ["-m", "lgan"]
    prepare = [*lgan, "data", "prepare", table, "--shards", "8", "--processes", "2"]
    train = [*lgan, "train", str(folder / "shards"), *TRAINED]
    predict = [*lgan, "predict", str(folder / "model" / "model.safetensors"), table]
    predict += ["--shards", "8"]
    restarted, resume = ["--max-restarts=5"], ["--resume"]
    return [
        Case("prepare, the command", prepare, False, [], same_files),
        Case("prepare, its helper", prepare, True, [], same_files),
        Case("train, one process", train, False, resume, same_model),
        Case("train, torchrun", [*TORCHRUN, *train], False, resume, same_model),
        Case("train, a worker of torchrun", [*TORCHRUN, *restarted, *train], True, [], same_model),
        Case("predict, the command", predict, False, [], same_files),
    ]


def run(words: list[str], output: Path) -> "subprocess.Popen[bytes]":
    """Start a command that writes to a folder."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *words, "--output", str(output)], env=env,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def finished(words: list[str], output: Path) -> bool:
    """Whether a command succeeds, given again and again: what a killed one left running may hold
    its folder for a while.
    """
    end = time.monotonic() + ENDS_IN
    while time.monotonic() < end:
        if run(words, output).wait(ENDS_IN) == 0:
            return True
        time.sleep(1)
    return False


def working(process: "subprocess.Popen[bytes]", output: Path) -> bool:
    """Wait for the first file of a command; whether it came before the command ended."""
    while process.poll() is None:
        if output.is_dir() and any(output.iterdir()):
            return True
        time.sleep(0.02)
    return False


def disturbed(case: Case, output: Path, moment: float) -> dict[str, Any]:
    """Run a case, kill a process so many seconds after its first file, and see it through."""
    shutil.rmtree(output, ignore_errors=True)
    process, killed = run(case.words, output), False
    working(process, output)
    time.sleep(moment)
    while process.poll() is None and not killed:
        with suppress(psutil.Error):  # it ends at this very moment
            typed = psutil.Process(process.pid)
            victims = typed.children() if case.worker else [typed]
            if victims:
                victims[-1].kill()
                killed = True
        time.sleep(0.02)
    try:
        code = process.wait(ENDS_IN)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    ended = code == 0
    if not ended and not case.worker:
        ended = finished([*case.words, *case.again], output)
    return {"case": case.name, "moment": round(moment, 2), "killed": killed, "ended": ended}


def kills(number: int, seed: int, tell: Callable[[str], None]) -> list[dict[str, Any]]:
    """So many runs, case after case, each disturbed once at a random moment."""
    draw = random.Random(seed)
    with TemporaryDirectory(prefix="lgan-kills-") as made:
        folder = Path(made)
        lines = (f"{SMILES[i % len(SMILES)]}{'C' * (i % 7)},{i % 2}" for i in range(ROWS))
        (folder / "table.csv").write_text("smiles,y\n" + "\n".join(lines) + "\n")
        chosen = cases(folder)
        right, seconds = {}, {}
        for case in chosen:
            right[case.name] = folder / case.name.replace(" ", "-").replace(",", "")
            process = run(case.words, right[case.name])
            working(process, right[case.name])
            begin = time.monotonic()
            if process.wait(ENDS_IN):
                raise SystemExit(f"`{case.name}` must succeed where nobody disturbs it.")
            seconds[case.name] = time.monotonic() - begin
            tell(f"{case.name}: {seconds[case.name]:.1f} s from its first file on")
            # What later cases need.
            if case.worker is False and "data" in case.words:
                shutil.copytree(right[case.name], folder / "shards")
            if case.name == "train, one process":
                shutil.copytree(right[case.name], folder / "model")
        found = []
        for place in range(number):
            case = chosen[place % len(chosen)]
            for _ in range(5):  # a moment after the end kills nobody
                moment = draw.uniform(0, seconds[case.name])
                one = disturbed(case, folder / "disturbed", moment)
                if one["killed"]:
                    break
            one["right"] = one["ended"] and case.same(folder / "disturbed", right[case.name])
            tell(json.dumps(one))
            found.append(one)
    return found


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("results/scale/kills.json"))
    asked = parser.parse_args()
    found = kills(asked.kills, asked.seed, lambda text: print(text, flush=True))
    right = sum(one["right"] and one["killed"] for one in found)
    print(f"{right} of {len(found)} ended with the right result")
    record = {
        "seed": asked.seed, "right": right, "runs": found,
        "environment": environment(torch.device("cpu")),
    }  # fmt: skip
    with replaced(asked.output) as temporary:
        temporary.write_text(json.dumps(record, indent=1) + "\n")
    sys.exit(right < len(found))


if __name__ == "__main__":
    main()
