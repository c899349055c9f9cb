"""The API's description: every route is in it, every example runs, and who may see it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.app import create_app
from gateway.audio.formats import CONTENT_TYPES
from gateway.description.document import SOCKET, recorded
from gateway.settings import load_settings
from tests.gateway.callers.administration import ADMIN
from tests.gateway.description.answers import differences, kind_of
from tests.gateway.description.examples import Runner, operations, running
from tests.security.access.route_table import routes_of
from tests.security.apps import running_app

UNDESCRIBED = {
    *(("GET", path) for path in ("/admin", "/live", "/sessions", "/sessions/{id}", "/book", "/book/{id}")),
    *(("GET", path) for path in ("/chat", "/train", "/docs", "/docs/{client}")),
    ("GET", "/openapi.json"),
    ("GET", "/service-worker.js"),
    ("MOUNT", "/static"),
}
"""Pages and the description itself."""


def document_of(**options: object) -> dict[str, Any]:
    app = create_app(load_settings(worker_urls="http://127.0.0.1:9", **options))
    return app.openapi()


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return document_of()


def entries(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, entry in methods.items():
            yield f"{method} {path}", entry


def test_every_route_is_described() -> None:
    app = create_app(load_settings(worker_urls="http://127.0.0.1:9"))
    described = [(operation.method, operation.path) for operation in operations()]
    assert len(described) == len(set(described))
    routes = {(method, path.replace(":path", "")) for method, path in routes_of(app.routes)}
    assert routes - UNDESCRIBED == set(described)


def test_every_operation_says_what_it_is_for(document: dict[str, Any]) -> None:
    tags = {tag["name"] for tag in document["tags"]}
    for name, entry in entries(document):
        assert entry["summary"] and set(entry["tags"]) <= tags, name
        assert "security" in entry, name
        if SOCKET in entry:
            assert entry[SOCKET]["sends"] and entry[SOCKET]["gets"], name
            continue
        answers = set(entry["responses"])
        assert "default" in answers and len(answers) == 2, name
        assert all("example" in each for each in entry["parameters"] if each.get("required")), name
        for content in entry.get("requestBody", {}).get("content", {}).values():
            assert "example" in content, name
    ids = [entry["operationId"] for _, entry in entries(document)]
    assert len(ids) == len(set(ids))


def test_what_the_document_refers_to_is_in_it(document: dict[str, Any]) -> None:
    def references(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            if isinstance(found := value.get("$ref"), str):
                yield found
            value = list(value.values())
        for each in value if isinstance(value, list) else ():
            yield from references(each)

    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document["paths"])) <= known
    named = {scheme for _, entry in entries(document) for each in entry["security"] for scheme in each}
    assert named <= document["components"]["securitySchemes"].keys()
    assert '"<' not in json.dumps(document["paths"]), "a value that no answer has given"


@pytest.mark.timeout(300)
async def test_every_example_runs(tmp_path: Path) -> None:
    wrong = []
    async with running(tmp_path) as gateway, gateway.http() as http:
        document = (await http.get("/openapi.json", headers={})).json()
        runner = Runner(gateway, http, document)
        for operation in operations():
            answer, expected = await runner.run(operation), recorded()["answers"][operation.name]
            if operation.method == "WEBSOCKET":
                found = {kind_of(message): message for message in answer["messages"]}
                wanted = {kind_of(message): message for message in expected["messages"]}
                wrong += [f"{operation.name} gets no {kind}" for kind in wanted.keys() - found.keys()]
                pairs = [(wanted[kind], found[kind]) for kind in wanted.keys() & found.keys()]
            else:
                pairs = [(expected, answer)]
                if expected["status"] != answer["status"]:
                    wrong.append(f"{operation.name}: {answer['status']}, not {expected['status']}")
            for example, actual in pairs:
                wrong += [f"{operation.name}: {each}" for each in differences(example, actual)]
        assert not gateway.defects()
    assert not wrong, "run `python -m tests.gateway.description.record`:\n" + "\n".join(wrong)


async def test_who_may_call_is_as_it_is_said(tmp_path: Path, document: dict[str, Any]) -> None:
    """Without a secret, at a gateway that serves nobody without a key."""
    wrong = []
    async with running_app(tmp_path, anonymous=False, worker_secret="a secret of workers") as (_, opened):
        async with opened() as http:
            for operation in operations():
                if operation.method == "WEBSOCKET":
                    continue
                answer = await Runner(None, http, document).send(operation)
                if (answer.status_code in (401, 403)) != (operation.access != "public"):
                    wrong.append((operation.name, operation.access, answer.status_code, answer.text[:100]))
    assert not wrong, "\n".join(map(str, wrong))


async def test_a_stranger_sees_it_only_where_a_setting_says_so(tmp_path: Path) -> None:
    """S28."""
    keys = {"ann": {"key": "the key of ann, long"}}
    async with running_app(tmp_path, api_keys=keys) as (_, opened):
        async with opened() as http:
            assert (await http.get("/openapi.json")).status_code == 404
            wrong = {"Authorization": "Bearer nobody has this key"}
            assert (await http.get("/openapi.json", headers=wrong)).status_code == 404
            for secret in (ADMIN, {"Authorization": "Bearer the key of ann, long"}):
                answer = await http.get("/openapi.json", headers=secret)
                assert answer.json()["info"]["title"] == "VoxFleet"
    async with running_app(tmp_path, expose_openapi=True) as (_, opened):
        async with opened() as http:
            answer = await http.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
            assert answer.json()["info"]["title"] == "VoxFleet"
            assert int(answer.headers["content-length"]) < len(answer.content) / 6
            plain = await http.get("/openapi.json", headers={"Accept-Encoding": "identity"})
            assert plain.content == answer.content and "content-encoding" not in plain.headers
            assert plain.headers["cache-control"] == "no-store"


async def test_it_is_written_beside_the_event_loop(tmp_path: Path) -> None:
    """Who asked first held up everybody for a second."""
    async with running_app(tmp_path, expose_openapi=True) as (app, opened), opened() as http:
        threads: list[threading.Thread] = []

        def described() -> dict[str, Any]:
            threads.append(threading.current_thread())
            return {}

        app.openapi = described  # type: ignore[method-assign]
        assert (await http.get("/openapi.json")).json() == {}
    assert len(threads) == 1 and threads != [threading.current_thread()]


def test_keys_are_asked_for_where_nobody_is_served_without() -> None:
    def needed(document: dict[str, Any], path: str, method: str) -> list[dict[str, Any]]:
        return document["paths"][path][method]["security"]

    assert needed(document_of(), "/tts", "post") == [{"apiKey": []}, {}]
    closed = document_of(anonymous=False)
    assert needed(closed, "/tts", "post") == [{"apiKey": []}]
    assert needed(closed, "/health", "get") == []
    assert needed(closed, "/api/workers", "get") == [{"adminToken": []}]


def test_errors_have_the_shape_of_their_protocol(document: dict[str, Any]) -> None:
    def shape(path: str) -> set[str]:
        content = document["paths"][path]["post"]["responses"]["default"]["content"]
        return set(content["application/json"]["example"])

    assert shape("/tts") == {"error"}
    assert shape("/v1/text-to-speech/{voice_id}") == {"detail"}
    assert shape("/v1/speak") == {"err_code", "err_msg"}
    assert shape("/tts/bytes") == {"error_code", "title", "message", "status_code"}


def test_an_answer_that_may_have_several_media_types_tells_all(document: dict[str, Any]) -> None:
    def told(path: str, method: str = "post") -> set[str]:
        return set(document["paths"][path][method]["responses"]["200"]["content"])

    assert told("/tts") == {*CONTENT_TYPES.values(), "application/json", "application/x-ndjson"} - {
        "audio/mp4"
    }
    assert told("/api/jobs/{id}/result", "get") == set(CONTENT_TYPES.values())
    assert told("/tts") - told("/v1/speak") >= {"application/octet-stream"}
    assert told("/v1/chat/completions") == {"application/json", "text/event-stream"}
    assert told("/api/sessions/{id}/audio", "get") == {"audio/wav"}


def test_differences_are_found() -> None:
    example = {"a": 1, "b": [{"c": "x"}], "d": None}
    assert not list(differences(example, {"a": 2.5, "b": [], "d": "now something", "e": "new"}))
    assert set(differences(example, {"a": "1", "b": [{"e": 1}], "d": None})) == {
        ".a is '1', and 1 in the example",
        ".b[].c is in the example alone",
    }
