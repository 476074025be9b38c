"""The routes of the page: one function each."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from lgan.app.about import about_model, example_graphs
from lgan.app.answers import explained, plain_pictures, predicted
from lgan.app.batch_report import batch_report
from lgan.app.batches import Batch, Batches, csv_of
from lgan.app.bodies import body_parts, read_json
from lgan.app.guard import Guard
from lgan.app.limits import Limits, RefusedError
from lgan.app.one_thread import OneThread
from lgan.app.predictions import Predictions
from lgan.app.static_files import read_files, served
from lgan.app.subjects import (
    Subjects,
    asked_object,
    check_smiles,
    node_link,
    read_graphs,
    read_smiles,
)
from lgan.app.what_if import changed
from lgan.predictor import Predictor

LOCAL = ("127.0.0.1", "localhost", "::1")
# Seconds between two looks at a file that is being predicted, and rows of it in one answer.
LOOK, PAGE = 0.15, 2_000
# The largest score that a picture may give the full colour.
LARGEST = 1e30
# What one question is about, its type, and what several are called.
ONE: dict[str, type | tuple[type, ...]] = {"smiles": str, "graph": dict}
SEVERAL = {"smiles": "smiles", "graph": "graphs"}


class Page:
    """What the routes share: the model, the thread that asks it, the dropped files."""

    def __init__(self, predictor: Predictor, limits: Limits):
        self.predictor, self.limits = predictor, limits
        self.model, self.pencil = OneThread(limits), OneThread(limits)
        self.predictions = Predictions(predictor, self.model, limits)
        self.batches = Batches(predictor, self.model, limits)
        self.static = read_files(files("lgan.app") / "static")
        self.about = about_model(predictor, limits)
        if self.about["molecules"]:  # so that nobody waits while loops are compiled
            self.model.submit(lambda: predictor.answers(predictor.read(["CCO"])))

    def routes(self) -> list[Route]:
        """All that can be asked."""
        names = "/api/batches/{batch}"
        return [
            Route("/", self.file),
            Route("/static/{name:path}", self.file),
            Route("/api/openapi.json", self.description),
            Route("/api/model", self.tell_model),
            Route("/api/examples", self.tell_examples),
            Route("/api/predict", self.predict, methods=["POST"]),
            Route("/api/explain", self.explain, methods=["POST"]),
            Route("/api/what-if", self.what_if, methods=["POST"]),
            Route("/api/pictures", self.draw, methods=["POST"]),
            Route("/api/batches", self.add_batch, methods=["POST"]),
            Route(names, self.tell_batch, methods=["GET"]),
            Route(names, self.cancel_batch, methods=["DELETE"]),
            Route(f"{names}/events", self.watch_batch),
            Route(f"{names}/rows", self.batch_rows),
            Route(f"{names}/graphs/{{row:int}}", self.batch_graph),
            Route(f"{names}/table.csv", self.batch_csv),
            Route(f"{names}/report.html", self.batch_html),
        ]

    async def file(self, request: Request) -> Response:
        """The page, or a file of it by a name that was known at the start."""
        return served(self.static, request.path_params.get("name", "index.html"), request)

    async def description(self, request: Request) -> Response:
        """The interface in the words of OpenAPI."""
        return served(self.static, "openapi.json", request)

    async def tell_model(self, request: Request) -> Response:
        """What is known of the model."""
        return JSONResponse(self.about)

    async def tell_examples(self, request: Request) -> Response:
        """Graphs to begin with."""
        graphs = await self.model.run(lambda: example_graphs(self.predictor))
        return JSONResponse({"graphs": graphs})

    async def predict(self, request: Request) -> Response:
        """Rows of predictions."""
        known = {"smiles": list, "graphs": list, "details": bool}
        body = asked_object(await read_json(request, self.limits), known)
        details = bool(body.get("details", False))
        if "smiles" in body and "graphs" not in body and not details:
            smiles = check_smiles(self.predictor, body["smiles"], self.limits)
            return JSONResponse({"rows": await _understood(self.predictions.rows(smiles))})

        def work() -> dict[str, Any]:
            return predicted(self.predictor, self._subjects(body), details=details)

        return JSONResponse(await self._ask(work))

    async def explain(self, request: Request) -> Response:
        """Scores of atoms and bonds, and their picture."""
        known = {**ONE, "class": (str, int), "numbers": bool, "limit": (int, float)}
        body = asked_object(await read_json(request, self.limits), known)
        options = {name: body[name] for name in ("numbers", "limit") if name in body}
        if not 0 <= body.get("limit", 0) <= LARGEST:
            raise RefusedError(422, f"`limit` must be a number from 0 to {LARGEST:g}.")

        def work() -> dict[str, Any]:
            raw = self._one(body).only
            return explained(self.predictor, raw, self.limits, target=body.get("class"), **options)

        return JSONResponse(await self._ask(work))

    async def what_if(self, request: Request) -> Response:
        """The prediction after a small change."""
        known = {**ONE, "class": (str, int), "remove": list, "atom": int, "element": str}
        body = asked_object(await read_json(request, self.limits), known)
        asked = {name: body.get(name) for name in ("remove", "atom", "element")}
        if not all(type(end) is int for end in body.get("remove", [])):
            raise RefusedError(422, "`remove` must hold two whole numbers.")

        def work() -> dict[str, Any]:
            target = body.get("class", int(self.predictor.task.kind == "binary"))
            raw = self._one(body).only
            return changed(self.predictor, raw, self.limits, target=target, **asked)

        return JSONResponse(await self._ask(work))

    async def draw(self, request: Request) -> Response:
        """Pictures without scores; `null` where something cannot be drawn."""
        body = asked_object(await read_json(request, self.limits), {"smiles": list, "graphs": list})

        def work() -> dict[str, Any]:
            return {"svgs": plain_pictures(self._subjects(body).raw, self.limits.edges)}

        return JSONResponse(await self._ask(work, self.pencil))

    async def add_batch(self, request: Request) -> Response:
        """Take a file in and queue it; its format is a word, its name is nobody's business."""
        path = self.batches.new_path(request.query_params.get("format", ""))
        try:
            with path.open("wb") as file:
                async for part in body_parts(
                    request, self.limits.file_bytes, self.limits.body_seconds
                ):
                    file.write(part)
            batch = await asyncio.to_thread(self.batches.add, path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return JSONResponse(batch.to_json(), 202)

    async def tell_batch(self, request: Request) -> Response:
        """Where a file stands."""
        return JSONResponse(self._batch(request).to_json())

    async def cancel_batch(self, request: Request) -> Response:
        """Stop a file."""
        batch = self._batch(request)
        self.batches.cancel(batch)
        return JSONResponse(batch.to_json())

    async def watch_batch(self, request: Request) -> Response:
        """Server-sent events: where a file stands, until it is over."""
        batch = self._batch(request)

        async def events() -> AsyncIterator[str]:
            last = ""
            while True:
                over = batch.over  # before it is told: the end may come while it is
                told = json.dumps(batch.to_json())
                if told != last:
                    yield f"event: progress\ndata: {told}\n\n"
                    last = told
                if over:
                    return
                await asyncio.sleep(LOOK)

        return StreamingResponse(events(), media_type="text/event-stream")

    async def batch_rows(self, request: Request) -> Response:
        """Rows of a file from a place on."""
        batch, given = self._batch(request), request.query_params.get("from", "0")
        if not given.isdecimal() or len(given) > 9:
            raise RefusedError(422, "`from` must be the number of a row.")
        start = int(given)
        return JSONResponse({"rows": batch.rows[start : start + PAGE], "done": len(batch.rows)})

    async def batch_graph(self, request: Request) -> Response:
        """A graph of a file that holds no molecules, as JSON."""
        graphs, row = self._batch(request).graphs, request.path_params["row"]
        raw = None if graphs is None else graphs.rows_between(row, row + 1)
        if raw is None or not (raw.num_graphs or raw.errors):
            raise RefusedError(404, "The file has no such graph.")
        return JSONResponse(node_link(Subjects(raw, {}).only))

    async def batch_csv(self, request: Request) -> Response:
        """The table as `lgan predict` writes it."""
        return StreamingResponse(csv_of(self._batch(request)), media_type="text/csv; charset=utf-8")

    async def batch_html(self, request: Request) -> Response:
        """The table with pictures as one HTML file that needs nothing else."""
        batch = self._batch(request)
        work = partial(batch_report, self.predictor, batch, edges=self.limits.edges)
        text = await self._ask(work, self.pencil)
        # It is saved, not shown: its styles are inside it.
        named = {"Content-Disposition": 'attachment; filename="report.html"'}
        return Response(text, media_type="text/html; charset=utf-8", headers=named)

    def close(self) -> None:
        """End the threads and remove what was kept."""
        self.batches.close()
        self.model.close()
        self.pencil.close()

    def _batch(self, request: Request) -> Batch:
        return self.batches.find(request.path_params["batch"])

    def _subjects(self, body: dict[str, Any]) -> Subjects:
        if ("smiles" in body) == ("graphs" in body):
            raise RefusedError(422, "Expected `smiles` or `graphs`, one of them.")
        if "graphs" in body:
            return read_graphs(self.predictor, body["graphs"], self.limits)
        smiles = check_smiles(self.predictor, body["smiles"], self.limits)
        return read_smiles(self.predictor, smiles, self.limits)

    def _one(self, body: dict[str, Any]) -> Subjects:
        return self._subjects({SEVERAL[name]: [body[name]] for name in ONE if name in body})

    async def _ask(self, work: Callable[[], Any], thread: OneThread | None = None) -> Any:
        return await _understood((thread or self.model).run(work))


def build_app(
    predictor: Predictor,
    *,
    limits: Limits | None = None,
    hosts: Collection[str] = LOCAL,
    token: str | None = None,
) -> Starlette:
    """The page over a model, as an ASGI application.

    Args:
        predictor: The model.
        limits: What one request may ask for.
        hosts: Names under which it is reached; others are refused.
        token: What questions must carry; nothing unless given.
    """
    page = Page(predictor, limits or Limits())

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        yield
        page.close()

    return Starlette(
        routes=page.routes(),
        middleware=[Middleware(Guard, hosts=hosts, token=token)],
        exception_handlers={404: _not_found, 405: _not_found},
        lifespan=life,
    )


async def _understood(answer: Awaitable[Any]) -> Any:
    """An answer; what the library does not understand is the asker's mistake."""
    try:
        return await answer
    except (ValueError, TypeError) as error:
        raise RefusedError(422, str(error)) from error


async def _not_found(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    words = {404: "There is nothing here.", 405: "This cannot be asked in this way."}
    return JSONResponse({"error": words[status]}, status)
