"""Proxies, pages and other services that answer in a gateway's place: every failure is a `SpeechError`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from voxfleet.client import (
    AuthenticationError,
    CapacityError,
    Client,
    InvalidRequestError,
    SpeechError,
    UnreachableError,
)
from voxfleet.client.errors import error_from_answer


class Stranger(ThreadingHTTPServer):
    """Answers everything alike."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.headers, self.body = 200, {}, b""
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Stranger
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.asked.append(self.path)
        self.send_response(self.server.status)
        for name, value in {"Content-Length": str(len(self.server.body)), **self.server.headers}.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(self.server.body)

    do_POST = do_GET

    def log_message(self, *words: object) -> None:
        """Not to stderr."""


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    with Stranger() as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        yield server
        server.shutdown()
        serving.join()


def _live(client: Client) -> None:
    with client.live() as session:
        list(session)


CALLS: dict[str, Callable[[Client], Any]] = {
    "voices": lambda client: client.voices(),
    "speak": lambda client: client.speak("Hello."),
    "preview": lambda client: client.preview_voice("v"),
    "chat": lambda client: client.chat("Hello."),
    "stream_chat": lambda client: list(client.stream_chat("Hello.")),
    "stream": lambda client: list(client.stream("Hello.")),
    "live": _live,
}
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@each_call
@pytest.mark.parametrize(
    "headers",
    [{"Content-Type": "application/json"}, {"Content-Type": "text/html; charset=utf-8", "X-Request-Id": "1"}],
    ids=["json", "page"],
)
def test_a_success_of_something_else_is_none(
    stranger: Stranger, call: Callable[[Client], Any], headers: dict[str, str]
) -> None:
    stranger.headers, stranger.body = headers, b"{}"
    with Client(stranger.url) as client, pytest.raises(UnreachableError, match="is no VoxFleet gateway"):
        call(client)


@each_call
def test_a_redirect_is_named_and_not_followed(stranger: Stranger, call: Callable[[Client], Any]) -> None:
    stranger.status, stranger.headers = 302, {"Location": "/sign-in"}
    with Client(stranger.url) as client, pytest.raises(SpeechError, match="leads to /sign-in"):
        call(client)
    assert len(stranger.asked) == 1


@pytest.mark.parametrize(
    ("status", "kind"), [(401, AuthenticationError), (429, CapacityError), (403, InvalidRequestError)]
)
def test_a_proxy_is_told_by_its_status(status: int, kind: type[SpeechError]) -> None:
    error = error_from_answer("http://gateway", status, b"<html>", {"Retry-After": "7"})
    assert type(error) is kind and error.retry_after_seconds == 7
    assert str(error) == f"http://gateway answered HTTP {status}"


def test_when_to_come_back_may_be_a_date() -> None:
    def seconds(told: str) -> float | None:
        return error_from_answer("http://gateway", 503, b"", {"Retry-After": told}).retry_after_seconds

    now = datetime.now(UTC)
    assert seconds(format_datetime(now + timedelta(hours=1), usegmt=True)) == pytest.approx(3600, abs=60)
    assert seconds(format_datetime(now - timedelta(hours=1), usegmt=True)) == 0
    assert seconds("soon") is None and seconds("Wed, 21 Oct 2026 07:28:00") is None


def test_a_download_goes_into_a_pipe_and_where_a_link_leads(stranger: Stranger, tmp_path: Path) -> None:
    """A device, too: for the superuser another file took the place of `/dev/null`."""
    (link := tmp_path / "link.mp3").symlink_to(target := tmp_path / "target.mp3")
    os.mkfifo(pipe := tmp_path / "pipe.mp3")
    stranger.headers, stranger.body = {"X-Request-Id": "1"}, b"whole"
    heard: list[bytes] = []
    hearing = Thread(target=lambda: heard.append(pipe.read_bytes()))
    hearing.start()
    with Client(stranger.url) as client:
        client.save_job("j", pipe)
        client.save_job("j", link)
    hearing.join()
    assert pipe.is_fifo() and heard == [b"whole"]
    assert link.is_symlink() and target.read_bytes() == b"whole"


def test_a_download_that_breaks_off_leaves_what_was_there(stranger: Stranger, tmp_path: Path) -> None:
    (file := tmp_path / "book.mp3").write_bytes(b"before")
    stranger.headers, stranger.body = {"X-Request-Id": "1", "Content-Length": "100"}, b"half"
    with Client(stranger.url) as client, pytest.raises(UnreachableError, match="broke"):
        client.save_job("j", file)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]
    stranger.headers, stranger.body = {"X-Request-Id": "1"}, b"whole"
    with Client(stranger.url) as client:
        client.save_job("j", file)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"whole"]
