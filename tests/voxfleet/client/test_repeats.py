"""What makes something is asked for again, under one key, where nobody heard the answer; nothing else is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from voxfleet.client import Client, SpeechError, UnreachableError, repeats


class Lossy(ThreadingHTTPServer):
    """Cuts the connections of the first requests, after it has read them, and serves the others."""

    def __init__(self, cuts: int, status: int = 202) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.cuts, self.status = cuts, status
        self.asked: list[tuple[str, str | None]] = []
        """Path and key of each request."""


class _Handler(BaseHTTPRequestHandler):
    server: Lossy

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, self.headers["Idempotency-Key"]))
        if len(self.server.asked) <= self.server.cuts:
            self.close_connection = True
            return
        body = json.dumps(
            {"job": {"id": "j"}, "training": {"id": "t"}, "recording": {"id": "r"}, "id": "v"}
        ).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Request-Id", "r")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Not to stderr."""


@pytest.fixture
def lossy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Lossy, Client]]:
    monkeypatch.setattr(repeats, "_PAUSES_SECONDS", (0.0, 0.0))
    with Lossy(*request.param) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        with Client(f"http://127.0.0.1:{server.server_address[1]}") as client:
            yield server, client
        server.shutdown()
        serving.join()


@pytest.mark.parametrize("lossy", [(2,)], indirect=True)
@pytest.mark.parametrize("made", ["job", "training", "recording", "voice", "adapter"])
def test_it_is_asked_for_until_it_is_heard(lossy: tuple[Lossy, Client], made: str, tmp_path: Path) -> None:
    server, client = lossy
    (tmp_path / "lora_config.json").write_text("{}")
    (tmp_path / "lora_weights.safetensors").write_bytes(b"weights")
    ways = {
        "job": lambda: client.start_job("Hello."),
        "training": lambda: client.trainings.create("Anna"),
        "recording": lambda: client.trainings.add_recording("t", b"audio", "Hello."),
        "voice": lambda: client.create_voice("Anna", b"audio"),
        "adapter": lambda: client.create_adapter("Anna", tmp_path),
    }
    assert ways[made]()["id"]
    assert len(server.asked) == 3 and len(set(server.asked)) == 1
    assert server.asked[0][1]
    ways[made]()
    assert len({key for _, key in server.asked}) == 2, "another request has another key"


@pytest.mark.parametrize("lossy", [(9,)], indirect=True)
def test_not_without_end_and_nothing_else(lossy: tuple[Lossy, Client]) -> None:
    server, client = lossy
    with pytest.raises(UnreachableError):
        client.start_job("Hello.")
    assert len(server.asked) == 3
    with pytest.raises(UnreachableError):
        client.cancel_job("j")
    assert server.asked[3:] == [("/api/jobs/j/cancel", None)]


@pytest.mark.parametrize("lossy", [(0, 429)], indirect=True)
def test_a_refusal_is_an_answer(lossy: tuple[Lossy, Client]) -> None:
    server, client = lossy
    with pytest.raises(SpeechError, match="429"):
        client.start_job("Hello.")
    assert len(server.asked) == 1
