"""Questions that arrive together are answered together."""

from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from lgan.app.answers import predicted
from lgan.app.limits import Limits
from lgan.app.one_thread import OneThread
from lgan.app.subjects import read_smiles
from lgan.predictor import Predictor

# A pass over one molecule takes almost as long as one over so many.
TOGETHER = 64


class Predictions:
    """Predictions of SMILES; those that wait for the model at the same time share a pass over it.

    With eight people asking at once each waits for two passes rather than for eight.
    """

    def __init__(self, predictor: Predictor, model: OneThread, limits: Limits):
        self.predictor, self.model, self.limits = predictor, model, limits
        self._waiting: list[tuple[list[str], Future[list[dict[str, Any]]]]] = []

    async def rows(self, smiles: list[str]) -> list[dict[str, Any]]:
        """The rows of `lgan predict` for these molecules."""
        own: Future[list[dict[str, Any]]] = Future()
        self._waiting.append((smiles, own))

        def work() -> list[dict[str, Any]]:
            while not own.done():
                self._answer_waiting()
            return own.result()

        try:
            return await self.model.run(work)
        finally:
            with suppress(ValueError):  # refused before its turn
                self._waiting.remove((smiles, own))

    def _answer_waiting(self) -> None:
        """Answer those who came first, as many as make a good pass; one at least."""
        chosen = [self._waiting.pop(0)]
        count = len(chosen[0][0])
        while self._waiting and count + len(self._waiting[0][0]) <= TOGETHER:
            chosen.append(self._waiting.pop(0))
            count += len(chosen[-1][0])
        try:
            together = [text for smiles, _ in chosen for text in smiles]
            subjects = read_smiles(self.predictor, together, self.limits)
            rows = predicted(self.predictor, subjects, details=False)["rows"]
        except Exception as error:
            for _, own in chosen:
                own.set_exception(error)
            return
        for smiles, own in chosen:
            own.set_result(rows[: len(smiles)])
            rows = rows[len(smiles) :]
