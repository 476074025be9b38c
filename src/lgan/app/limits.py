"""What one request may ask for, and how a refusal is said."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Sizes beyond which a request is refused with a reason.

    Attributes:
        json_bytes: Body of a question in JSON.
        file_bytes: A dropped file.
        rows: Molecules or graphs of one question.
        file_rows: Rows of a dropped file.
        letters: Characters of one SMILES.
        long: Characters from which the descriptors of a molecule may take seconds.
        long_rows: Molecules of so many that one question may hold, where the model reads them.
        edges: Bonds of a molecule, or edges of a graph, that is explained.
        waiting: Questions that wait for the model at once.
        batches: Files that wait or are kept.
        seconds: Time a question may take, its waiting included.
        body_seconds: Time a body may take to arrive.
    """

    json_bytes: int = 1 << 20
    file_bytes: int = 64 << 20
    rows: int = 1_000
    file_rows: int = 50_000
    letters: int = 2_000
    long: int = 300
    long_rows: int = 10
    edges: int = 400
    waiting: int = 100
    batches: int = 4
    seconds: float = 30.0
    body_seconds: float = 30.0


class RefusedError(Exception):
    """A request that is answered with a reason.

    Attributes:
        status: The status of HTTP: 413 too large, 422 not understood, 429 busy, 504 too slow.
        reason: Expected, got, and what to do, in words.
    """

    def __init__(self, status: int, reason: str):
        super().__init__(reason)
        self.status, self.reason = status, reason
