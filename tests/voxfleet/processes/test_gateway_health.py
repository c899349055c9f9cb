"""What the supervisor makes of a gateway's `/health`, and when it says that all is ready."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from rich.console import Console

from voxfleet.processes.service import Health, RestartPolicy
from voxfleet.serving.console import ServeConsole
from voxfleet.serving.supervisor import ServePlan, Supervisor, gateway_health


def test_a_gateway_that_is_called_as_it_was_started_is_healthy() -> None:
    answer = httpx.Response(200, json={"status": "ok", "uptime_seconds": 2.5, "instance": "a1"})
    assert gateway_health(answer, "a1") == Health(healthy=True)


@pytest.mark.parametrize("body", ["", "<html>", "{}", "[]", '{"uptime_seconds": 0.1}', '{"instance": "b2"}'])
def test_whoever_else_answers_has_the_port(body: str) -> None:
    answer = httpx.Response(200, text=body)
    assert gateway_health(answer, "a1").error == "finds its port held by another server"


class Other(BaseHTTPRequestHandler):
    """A gateway that came first, for every question."""

    def do_GET(self) -> None:
        body = b'{"status": "ok", "uptime_seconds": 0.0}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Not to stderr."""


@pytest.fixture
def taken_port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield server.server_address[1]
        server.shutdown()
        serving.join()


async def test_another_server_at_the_port_is_never_called_ready(taken_port: int) -> None:
    """It took the port after that was found free, and answers before our gateway has tried to."""
    printed = io.StringIO()
    policy = RestartPolicy(first_delay_seconds=0.01, probe_interval_seconds=0.01)
    plan = ServePlan("127.0.0.1", taken_port, policy=policy)
    with ServeConsole(Console(file=printed, soft_wrap=True)) as console:
        exit_code = await asyncio.wait_for(Supervisor(plan, console).run(), 60)
    assert exit_code == 1
    assert "gateway finds its port held by another server" in printed.getvalue()
    assert "ready" not in printed.getvalue()
