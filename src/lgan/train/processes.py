"""Several processes that train as one: how they find each other."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import torch
from torch import distributed
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from lgan.ops import together


@contextmanager
def joined() -> Iterator[bool]:
    """Train together with the processes that torchrun started beside this one; alone without it.

    Gives whether this process is the one that writes files and speaks.

    Every process reads the data and the state of a run by itself: their folders must be ones that
    all processes see.
    """
    if "WORLD_SIZE" not in os.environ and not distributed.is_initialized():
        yield True
        return
    if "TORCHELASTIC_RUN_ID" in os.environ:
        _end_without(os.getppid())
    if distributed.is_initialized() or os.environ["WORLD_SIZE"] == "1":
        with together.sharing():
            yield together.rank() == 0
        return
    gpus = torch.cuda.is_available()
    if gpus:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    # torchrun may keep its store when it starts lost processes anew: without a prefix of their own
    # they may read where a process listened that is gone, and wait for it. Over several machines
    # each counts for itself how often it did: there the store must be a new one, and has none.
    store, rank, number = next(rendezvous("env://"))
    kept = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") if kept else "0"
    distributed.init_process_group(
        "cpu:gloo,cuda:nccl" if gpus else "gloo",
        store=PrefixStore(f"attempt-{attempt}", store),
        rank=rank,
        world_size=number,
    )
    try:
        with together.sharing():
            yield together.rank() == 0
            distributed.barrier()  # whoever is ready early waits for files to be written
    finally:
        distributed.destroy_process_group()


def _end_without(launcher: int) -> None:
    """End this process when torchrun is gone: it would hold the folder of the run, or wait for the
    other processes, and nobody would stop it.
    """

    def watch() -> None:
        while os.getppid() == launcher:
            time.sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()
