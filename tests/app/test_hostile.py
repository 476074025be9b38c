"""Hostile requests are refused in words, and leave the server serving."""

import asyncio
import json
import random
import threading
from dataclasses import replace

import pandas as pd
import pytest

from lgan.app import Limits, build_app
from lgan.app.limits import RefusedError
from lgan.app.one_thread import OneThread
from small_estimators import SMILES, regressor

JSON = {"Content-Type": "application/json"}


def serves(client):
    return client.post("/api/predict", json={"smiles": ["CCO"]}).status_code == 200


def hostile_requests():
    """Two hundred requests that no page would send: method, path, body, headers."""
    draw = random.Random(0)
    long, deep = "C" * 10_000, "[" * 5000
    markup = "<script>alert(1)</script>"
    bodies: list[object] = [
        b"", b"{" * 50, b"\x00" * 100, deep.encode(), b"null", b"[]", b"1e999", b'"x"', b"\xff\xfe",
        {}, {"smiles": None}, {"smiles": 5}, {"smiles": {}}, {"smiles": []}, {"smiles": [None]},
        {"smiles": [[]]}, {"smiles": [5]}, {"smiles": [long]}, {"smiles": ["C\x00C"]},
        {"smiles": ["\x00"]}, {"smiles": ["\u202e", "CC\nCC", "CC\x1b[2J"]}, {"smiles": [markup]},
        {"smiles": ["C"] * 51}, {"smiles": ["CCO"], "extra": 1}, {"smiles": ["CCO"], "details": 1},
        {"graphs": [{}]}, {"graphs": [5]}, {"smiles": ["C"], "graphs": []}, {"__proto__": {}},
        {"smiles": ["C1" * 90]}, {"smiles": ["(" * 190]}, {"smiles": ["%99" * 60]},
        {"smiles": ["[" + "9" * 150 + "C]"]}, {"smiles": ["C" * 190]}, {"smiles": ["C%(99999)"]},
    ]  # fmt: skip
    ones: list[object] = [
        {"smiles": long}, {"smiles": ["CCO"]}, {"smiles": "CCO", "class": "nothing"},
        {"smiles": "CCO", "class": -1}, {"smiles": "CCO", "class": True},
        {"smiles": "CCO", "class": 99},
        {"smiles": "CCO", "class": markup}, {"smiles": "C" * 150}, {"graph": {"nodes": []}},
        {"smiles": "CCO", "limit": "x"}, {"smiles": "CCO", "remove": [0, 10**30]},
        {"smiles": "CCO", "atom": 10**30, "element": "C"}, {"smiles": ""}, {"smiles": "\x00"},
        {"smiles": "CCO", "atom": 0, "element": "C" * 5000}, {"smiles": "CCO", "limit": 1e400},
    ]  # fmt: skip
    sent = [("POST", "/api/predict", body, JSON) for body in bodies]
    sent += [("POST", path, b, JSON) for b in ones for path in ("/api/explain", "/api/what-if")]
    sent += [("POST", "/api/pictures", body, JSON) for body in bodies[:20]]
    paths = [
        "/../../etc/passwd", "/static/../../../etc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd",
        "/static//etc/passwd", "/static/..%2f..%2fetc%2fpasswd", "/static/%00", "/static/", "/api/",
        "/api/nothing", "/api/batches/../model/x", "/api/batches/" + "a" * 3000, "/.git/config",
        "/api/batches/%2e%2e/table.csv", "/api/batches/x/rows?from=-1", "/static/index.html%00.js",
        f"/{markup}", "/api/batches/x/graphs/99999999999999999999", "/static/vendor",
    ]  # fmt: skip
    sent += [("GET", path, b"", {}) for path in paths]
    sent += [(method, "/api/predict", b"", JSON) for method in ("GET", "PUT", "DELETE", "PATCH")]
    types = ("text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data")
    sent += [("POST", "/api/predict", {"smiles": ["C"]}, {"Content-Type": kind}) for kind in types]
    sent += [("POST", "/api/predict", {"smiles": ["CCO"]}, {**JSON, **h}) for h in (
        {"Host": "evil.example"}, {"Host": ""}, {"Host": "127.0.0.1.evil.example"},
        {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "[::1"},
        {"Content-Length": "999999999999"},
    )]  # fmt: skip
    for kind in ("csv", "sdf", "smi", "xls", "", "../x", "parquet", "jsonl"):
        for body in (b"", b"\x00" * 200, b"a,b\n1,2\n", b"smiles\n" + b"C\n" * 201, b"x" * 60_000):
            sent.append(("POST", f"/api/batches?format={kind}", body, {}))
    while len(sent) < 200:
        noise = draw.randbytes(draw.randint(1, 400))
        sent.append(("POST", "/api/predict", noise, JSON))
    return sent


def test_two_hundred_hostile_requests_leave_it_serving(client):
    requests = hostile_requests()
    assert len(requests) >= 200
    for method, path, body, headers in requests:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = client.request(method, path, content=content, headers=headers)
        told = f"{method} {path[:60]} {content[:60]!r} {headers}: {answer.status_code}"
        # A row that cannot be read is an answer; everything else is refused with a reason.
        assert answer.status_code in (200, 202, 400, 403, 404, 405, 413, 415, 421, 422, 429), told
        if answer.status_code >= 400:
            assert answer.json()["error"], told
        assert "<script>" not in answer.text or answer.headers["content-type"] == "application/json"
        assert "Traceback" not in answer.text
        assert "/tmp" not in answer.text
    assert serves(client)


@pytest.mark.parametrize(
    ("body", "status"),
    [({"smiles": ["C"] * 51}, 413), ({"smiles": ["C" * 20_001]}, 413), ({"smiles": "CCO"}, 422),
     ([], 422)],
)  # fmt: skip
def test_limits_say_what_they_are(client, body, status):
    answer = client.post("/api/predict", json=body)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(("Expected", "`smiles`"))


def test_a_row_beyond_a_limit_keeps_its_row(client):
    rows = client.post("/api/predict", json={"smiles": ["C" * 201, "CCO", "C\x00"]}).json()["rows"]
    assert "longer than 200" in rows[0]["error"]
    assert not rows[1]["error"]
    assert "printable" in rows[2]["error"]


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [("predict", '{"smiles": ["\\ud800"]}', 400, "Expected JSON"),
     ("predict", '{"smiles": ["CCO"], "graphs": []}', 422, "one of them"),
     ("explain", '{"smiles": "CCO", "limit": NaN}', 422, "`limit`"),
     ("explain", '{"smiles": "CCO", "limit": 1' + "0" * 400 + "}", 422, "`limit`"),
     ("explain", '{"smiles": "CCO", "limit": -1}', 422, "`limit`"),
     ("what-if", '{"smiles": "CCO", "atom": 0, "element": "Xx"}', 422, "of an element, got 'Xx'")],
)  # fmt: skip
def test_odd_values_are_refused_in_words(client, path, body, status, words):
    answer = client.post(f"/api/{path}", content=body, headers=JSON)
    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_a_model_that_reads_a_column_says_so_of_single_molecules(make_client, limits):
    table = pd.DataFrame({"smiles": SMILES, "dose": [1.0, 2.0, 3.0, 4.0] * 4})
    model = regressor(graph_features="dose", epochs=1).fit(table, table["dose"].to_numpy())
    client = make_client(model.predictor_, limits)
    answer = client.post("/api/predict", json={"smiles": ["CCO"]})
    assert answer.status_code == 422
    assert "Drop a table that has it, or use `lgan predict`" in answer.json()["error"]
    answer = client.post("/api/batches?format=csv", content="smiles,dose\nCCO,2\n")
    place = f"/api/batches/{answer.json()['id']}"
    assert '"state": "done"' in client.get(f"{place}/events").text


def test_many_molecules_whose_descriptors_take_long_are_refused(make_client, limits):
    told = regressor(graph_features="rdkit2d").fit(SMILES, range(16)).predictor_
    client = make_client(told, replace(limits, long=10, long_rows=2))
    for count, status in ((2, 200), (3, 422)):
        answer = client.post("/api/predict", json={"smiles": ["C" * 11] * count + ["C"] * 5})
        assert answer.status_code == status
    assert "Drop them as a file" in answer.json()["error"]


def test_a_large_molecule_is_not_explained(client):
    answer = client.post("/api/explain", json={"smiles": "C" * 100})
    assert answer.status_code == 422
    assert "lgan explain" in answer.json()["error"]


def test_every_answer_forbids_content_from_outside(client):
    for answer in (client.get("/"), client.get("/nothing"), client.get("/api/model")):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "access-control-allow-origin" not in answer.headers
        assert "set-cookie" not in answer.headers


@pytest.fixture
def token_client(predictor, limits, make_client):
    return make_client(predictor, limits, hosts={"lab.example"}, token="t" * 20)


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 401), ({"Authorization": "Bearer no"}, 401),
     ({"Authorization": "Bearer " + "t" * 20}, 200),
     ({"Authorization": "Bearer \xff"}, 401), ({"Host": "evil.example"}, 421),
     ({"Host": "lab.example", "Authorization": "Bearer " + "t" * 20}, 200),
     ({"Host": "192.168.7.7:80", "Authorization": "Bearer " + "t" * 20}, 200)],
)  # fmt: skip
def test_a_token_is_asked_for_where_there_is_one(token_client, headers, status):
    sent = {name: value.encode("latin-1") for name, value in headers.items()}
    assert token_client.get("/api/model", headers=sent).status_code == status
    # The page itself holds nothing secret, and has to load before it can tell its token.
    if status == 401:
        assert token_client.get("/").status_code == 200


def test_an_address_of_numbers_is_not_ours_without_a_token(client):
    assert client.get("/api/model", headers={"Host": "192.168.7.7"}).status_code == 421


def test_work_that_waits_too_long_is_refused():
    async def scene():
        thread, gate = OneThread(Limits(waiting=2, seconds=0.2)), threading.Event()
        done = []
        first = asyncio.create_task(thread.run(lambda: gate.wait(5)))
        second = asyncio.create_task(thread.run(lambda: done.append(1)))
        await asyncio.sleep(0.05)
        with pytest.raises(RefusedError) as busy:
            await thread.run(lambda: None)
        slow = await asyncio.gather(first, second, return_exceptions=True)
        gate.set()
        assert await thread.run(lambda: 7) == 7
        thread.close()
        return busy.value.status, [error.status for error in slow], done

    # What had not begun never runs.
    assert asyncio.run(scene()) == (429, [504, 504], [])


def test_a_slow_body_is_refused(predictor):
    sent: list[dict] = []

    async def scene():
        app = build_app(predictor, limits=Limits(body_seconds=0.1))
        pieces = iter([{"type": "http.request", "body": b"{", "more_body": True}])

        async def receive():
            piece = next(pieces, None)
            if piece is None:
                await asyncio.sleep(60)
            return piece

        async def send(message):
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/api/predict", "headers": headers,
                 "query_string": b"", "raw_path": b"/api/predict", "root_path": ""}  # fmt: skip
        await asyncio.wait_for(app(scope, receive, send), 5)

    asyncio.run(scene())
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["error"]


def test_a_failure_of_ours_is_told_as_one_and_the_server_stays(client, monkeypatch, caplog):
    import lgan.app.routes as routes

    def broken(*_, **__):
        raise RuntimeError("secret place")

    monkeypatch.setattr(routes, "explained", broken)
    answer = client.post("/api/explain", json={"smiles": "CCO"})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "secret place" in caplog.text
    assert serves(client)


def test_questions_that_wait_together_share_a_pass(client, predictor, monkeypatch):
    from lgan.app.predictions import Predictions

    passes = []
    thread = OneThread(Limits())
    shared = Predictions(predictor, thread, Limits())
    answer = shared._answer_waiting
    monkeypatch.setattr(shared, "_answer_waiting", lambda: (passes.append(1), answer()))

    async def scene():
        asked = [["CCO", "xx"], ["c1ccccc1"], ["CCC"] * 40, ["CCN"] * 40]
        gate = threading.Event()
        thread.submit(lambda: gate.wait(5))
        waiting = [asyncio.create_task(shared.rows(smiles)) for smiles in asked]
        await asyncio.sleep(0.05)
        gate.set()
        return await asyncio.gather(*waiting)

    found = asyncio.run(scene())
    thread.close()
    for smiles, rows in zip([["CCO", "xx"], ["c1ccccc1"]], found[:2], strict=True):
        alone = client.post("/api/predict", json={"smiles": smiles}).json()["rows"]
        for row, same in zip(rows, alone, strict=True):
            assert row["smiles"] == same["smiles"]
            assert row["error"] == same["error"]
            if not row["error"]:
                assert row["nitro_probability_yes"] == pytest.approx(
                    same["nitro_probability_yes"], abs=1e-5
                )
    assert len(passes) == 2
