"""Companions of the members of every bag, for the rule ``bagged``."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lgan.graph import GraphUnion
from lgan.train.companion import fitted
from lgan.train.config import TrainConfig
from lgan.train.jobs import Job


@dataclass(frozen=True)
class Beside:
    """What companions of the members of every bag say.

    Attributes:
        inner: Of the inner hold-out of every model ``[n, O]``, no rows where it has none.
        test: Of the test graphs of every bag, their mean ``[n, O]``.
    """

    inner: list[Tensor]
    test: list[Tensor]

    @staticmethod
    def of(union: GraphUnion, jobs: Sequence[Job], config: TrainConfig) -> "Beside | None":
        """The companions of the jobs of a variant; ``None`` where it has none."""
        task, test = union.known_task, []
        inner = [torch.empty(0, task.num_outputs)] * len(jobs)
        for bag in sorted({job.bag for job in jobs if job.bag >= 0}):
            members = [k for k, job in enumerate(jobs) if job.bag == bag]
            own = [jobs[k] for k in members]
            inside = torch.ones(union.num_graphs, dtype=torch.bool)
            inside = inside.index_fill(0, own[0].test, False)
            seen, held_out = [job.train for job in own], [job.validation for job in own]
            found = fitted(union, config, inside, seen, held_out)
            if found is None:
                return None
            for k, said in zip(members, found.held_out, strict=True):
                inner[k] = said
            each = [
                found.compared.answers(found.companion, place, own[0].test, task)
                for place in range(len(own))
            ]
            test.append(torch.stack(each).mean(0))
        return Beside(inner, test)
