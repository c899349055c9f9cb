"""Runs the examples of the API's description, one after the other, against a gateway that is there.

A request is made of the OpenAPI document alone, as a reader would: addresses, headers and bodies are its
examples. Only ids, which are others each time, are put in place of the recorded ones.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import msgpack
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from gateway.description.document import SOCKET, recorded
from gateway.description.operation import Operation
from gateway.description.operations import TAGS
from gateway.training.files import TrainingFiles
from tests.forks import PATIENCE_SECONDS
from tests.gateway.adapters.uploads import WORKER, weights
from tests.gateway.audio.files import speech, wav
from tests.gateway.description.answers import kind_of, shortened, told
from tests.gateway.stages.processes import GatewayProcess, eventually, started_fleets
from tests.text_models import telling_model

FILES = {
    "@recording.wav": wav(speech(6.0)),
    "@story.txt": b"Chapter 1\n\nDoors open at nine.\n",
    "@lora_weights.safetensors": weights(0),
}
ADAPTING = "w2"
"""The worker that takes adapters."""
LONG_TEXT = "It was the best of times, it was the worst of times. " * 400


def operations() -> list[Operation]:
    return [operation for tag in TAGS for operation in tag.operations]


@dataclass
class Runner:
    """Runs operations as `document` describes them."""

    gateway: GatewayProcess | None
    """Where sockets are opened."""
    http: httpx.AsyncClient
    document: dict[str, Any]
    recorded: Mapping[str, Any] = field(default_factory=lambda: recorded()["values"])
    """Values in the document's examples that are others here."""
    known: dict[str, Any] = field(default_factory=dict)

    async def run(self, operation: Operation) -> dict[str, Any]:
        """What was answered, in the form of answers.json. AssertionError for a failure."""
        assert self.gateway is not None
        if operation.path.startswith("/api/queue/"):
            async with spoken_at_length(self.gateway, self.http) as self.known["ticket"]:
                return await self._run(operation)
        if operation.name == "POST /api/jobs/{id}/cancel":
            self.known["long_job"] = await start_long_job(self.http)
        if operation.path == "/api/trainings/{id}/samples/{sample}":
            await speak_a_sample(self.gateway, self.known["training"])
        if operation.name == "POST /api/adapters":
            async with an_adapting_worker(self.http):
                return await self._run(operation)
        return await self._run(operation)

    async def _run(self, operation: Operation) -> dict[str, Any]:
        if operation.method == "WEBSOCKET":
            return await self._converse(operation)
        if operation.path == "/api/events":
            return await self._listen(operation)

        async def ask() -> httpx.Response | None:
            answer = await self.send(operation)
            assert answer.is_success, f"{operation.name}: {answer.status_code} {answer.text}"
            if operation.until is None or _at(answer.json(), operation.until[0]) == operation.until[1]:
                return answer
            return None

        answer = await eventually(ask, f"{operation.name}: {operation.until}")
        for name, place in operation.gives.items():
            value = answer.headers.get(place) or _at(answer.json(), place)
            self.known[name] = value.rpartition("/")[2] if place == "url" else value
        return told(answer)

    async def send(self, operation: Operation) -> httpx.Response:
        """The example of one operation, once."""
        entry = self._entry(operation)
        address, headers = self._head(operation)
        content: dict[str, Any] = {}
        for media_type, body in entry.get("requestBody", {}).get("content", {}).items():
            example = self._renewed(body.get("example"))
            if media_type == "application/json" and example is not None:
                content["json"] = example
            elif media_type == "multipart/form-data":
                files = {name: value for name, value in example.items() if str(value).startswith("@")}
                content["files"] = {name: (value[1:], FILES[value]) for name, value in files.items()}
                content["data"] = {name: value for name, value in example.items() if name not in files}
            elif media_type != "application/json":
                content["content"] = FILES[example]
                headers["Content-Type"] = media_type
        return await self.http.request(operation.method, address, headers=headers, **content)

    def _entry(self, operation: Operation) -> dict[str, Any]:
        method = "get" if operation.method == "WEBSOCKET" else operation.method.lower()
        return self.document["paths"][operation.path][method]

    def _head(self, operation: Operation) -> tuple[str, dict[str, str]]:
        """Address and headers, of the examples of the parameters."""
        address = operation.path
        query, headers = {}, {}
        for each in self._entry(operation)["parameters"]:
            if "example" not in each:
                continue
            value = self._renewed(each["example"])
            if each["in"] == "path":
                address = address.replace("{" + each["name"] + "}", quote(str(value), safe=""))
            elif each["in"] == "query":
                query[each["name"]] = value
            else:
                headers[each["name"]] = value
        assert "{" not in address, f"{operation.name}: a parameter has no example"
        return address + (f"?{urlencode(query)}" if query else ""), headers

    def _renewed(self, example: Any) -> Any:
        """With ids of this run."""
        if isinstance(example, dict):
            return {key: self._renewed(value) for key, value in example.items()}
        if isinstance(example, list):
            return [self._renewed(value) for value in example]
        for name, value in self.known.items():
            if f"<{name}>" == example or (
                self.recorded.get(name) == example and type(value) is type(example)
            ):
                return value
        return example

    async def _converse(self, operation: Operation) -> dict[str, Any]:
        """A socket: all that is to be sent, then what comes until one side closes.

        `close_socket` leaves its contexts 1.5 s, too few for a busy computer, and is sent when one is over.
        """
        address, headers = self._head(operation)
        kinds: dict[str, Any] = {}
        async with connect(
            self.gateway.url.replace("http", "ws", 1) + address,
            additional_headers=headers,
            proxy=None,
            max_size=None,
        ) as socket:
            sends = self._entry(operation)[SOCKET]["sends"]
            contexts = any(message.get("close_context") for message in sends)
            closing = [message for message in sends if contexts and message.get("close_socket")]
            for message in sends:
                if message not in closing:
                    await socket.send(msgpack.packb(message) if operation.packed else json.dumps(message))
            async for message in _messages(socket):
                found = _unpacked(message) if operation.packed else _parsed(message)
                kinds.setdefault(kind_of(found), found)
                if closing and (found.get("isFinal") or found.get("is_final")):
                    await socket.send(json.dumps(closing.pop()))
                if operation.last is not None and kind_of(found) == operation.last:
                    break
        return {"messages": list(kinds.values())}

    async def _listen(self, operation: Operation) -> dict[str, Any]:
        """The first events of a stream that has no end."""
        address, headers = self._head(operation)
        lines: list[str] = []
        async with asyncio.timeout(PATIENCE_SECONDS), self.http.stream("GET", address, headers=headers) as it:
            content_type = it.headers["content-type"].partition(";")[0]
            async for line in it.aiter_lines():
                lines.append(line)
                if line == "event: queue":
                    return {"status": it.status_code, "content_type": content_type}
        raise AssertionError(f"{operation.name} ended")


def _at(value: Any, place: str) -> Any:
    """`at({"a": [{"b": 1}]}, "a.0.b")` is 1; None where there is nothing."""
    for key in place.split("."):
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def _parsed(message: str | bytes) -> dict[str, Any]:
    return {"binary": "audio"} if isinstance(message, bytes) else shortened(json.loads(message))


def _unpacked(message: bytes) -> dict[str, Any]:
    fields = msgpack.unpackb(message)
    return {name: "audio" if isinstance(value, bytes) else value for name, value in fields.items()}


async def _messages(socket: Any) -> AsyncIterator[str | bytes]:
    """Until the other side closes."""
    try:
        while True:
            async with asyncio.timeout(PATIENCE_SECONDS):
                message = await socket.recv()
            yield message
    except ConnectionClosed:
        return


@asynccontextmanager
async def running(data_dir: Any) -> AsyncIterator[GatewayProcess]:
    """A gateway with a worker that somebody would start again, and one with a text model."""
    with started_fleets() as start:
        worker = start.worker(step_ms=5, slots=4, supervised=True)
        model = telling_model(Path(data_dir) / "models" / "Qwen3-0.6B")
        writer = start.worker(model=str(model), device="cpu")
        adapting = start.worker(**WORKER)
        settings = {"data_dir": data_dir, "expose_openapi": True, "record_sessions": "ask"}
        settings["training_base"] = WORKER["model"]
        gateway = start.gateway([worker, writer, adapting], **settings).wait_until_serving(3)
        async with gateway.http() as http:
            await http.post(f"/api/workers/{ADAPTING}/drain")
        yield gateway


@asynccontextmanager
async def an_adapting_worker(http: httpx.AsyncClient) -> AsyncIterator[None]:
    """One that takes adapters works meanwhile; other examples are those of a synthetic voice."""
    assert (await http.post(f"/api/workers/{ADAPTING}/resume")).is_success
    yield
    assert (await http.post(f"/api/workers/{ADAPTING}/drain")).is_success


@asynccontextmanager
async def spoken_at_length(gateway: GatewayProcess, http: httpx.AsyncClient) -> AsyncIterator[str]:
    """The ticket of a request that runs, for examples that end it."""
    async with gateway.socket(additional_headers=gateway.admin) as stream:
        await stream.socket.send(json.dumps({"text": LONG_TEXT, "voice": "default", "min_seconds": 600}))
        await stream.receive_type("started")
        running = (await http.get("/api/queue")).json()["running"]
        reading = asyncio.create_task(stream.receive_rest())  # who does not read is ended
        try:
            yield next(one["ticket_id"] for one in running if one["priority"] != "bulk")
        finally:
            reading.cancel()


async def speak_a_sample(gateway: GatewayProcess, training_id: str) -> None:
    """As a training's process does after a while: what a run before it learnt is gone by then."""
    files = TrainingFiles(Path(gateway.settings["data_dir"]) / "trainings", training_id)

    async def begun() -> bool | None:
        return (files.folder / "train.jsonl").is_file() or None

    await eventually(begun, "the training's process begins")
    (files.learnt / "samples").mkdir(parents=True, exist_ok=True)
    (files.learnt / "samples" / "1.wav").write_bytes(wav(speech(1.0)))


async def start_long_job(http: httpx.AsyncClient) -> str:
    """The id of a job that takes a while, for examples that end it."""
    answer = await http.post("/api/jobs", json={"text": LONG_TEXT, "title": "A long story"})
    return answer.json()["job"]["id"]
