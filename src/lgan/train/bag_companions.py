"""Companions of the members of every bag, for the rule ``bagged``."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lgan.graph import GraphUnion
from lgan.train.companion import compared
from lgan.train.config import TrainConfig
from lgan.train.jobs import Job
from lgan.train.loop import default_metric
from lgan.train.objective import Objective


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
        metric = task.metric(default_metric(union))
        for bag in sorted({job.bag for job in jobs if job.bag >= 0}):
            members = [k for k, job in enumerate(jobs) if job.bag == bag]
            own = [jobs[k] for k in members]
            inside = torch.ones(union.num_graphs, dtype=torch.bool)
            inside = inside.index_fill(0, own[0].test, False)
            known = compared(union, config, inside, len(own))
            if known is None:
                return None
            seen, held_out = [job.train for job in own], [job.validation for job in own]
            objective = Objective.of(task, metric, union.y, torch.stack(seen))
            companion = known.fit(objective, seen, held_out)
            said = []
            for place, k in enumerate(members):
                inner[k] = known.answers(companion, place, held_out[place], task)
                said.append(known.answers(companion, place, own[0].test, task))
            test.append(torch.stack(said).mean(0))
        return Beside(inner, test)
