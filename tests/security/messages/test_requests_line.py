"""S24: what a request is: one HTTP version, one host, one length; and what people read of it in a log."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys

import httpx
import pytest
import structlog
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from sockets.untrusted import escape_controls, printable
from tests.forks import REPOSITORY, search_path
from tests.gateway.stages.processes import GatewayProcess, StartFleet, eventually
from tests.security.raw import NOWHERE, code_of, exchange, status_of
from voxfleet.serving.console import readable

POST = b"POST /tts HTTP/1.1\r\nHost: a\r\n"
CODED = b"Transfer-Encoding: %s\r\n\r\n0\r\n\r\n"
CLOSE = b"Connection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "status", "code"),
    [
        (b"GET /health HTTP/1.1\r\n" + CLOSE, 400, "bad_host"),
        (b"GET /health HTTP/1.1\r\nHost: a\r\nHost: a\r\n" + CLOSE, 400, "bad_host"),
        (b"GET /health HTTP/1.1\r\nHost: \r\n" + CLOSE, 400, "bad_host"),
        (b"GET /health HTTP/1.1\r\nHost: a b\r\n" + CLOSE, 400, "bad_host"),
        (b"GET /health HTTP/1.1\r\nHost: [::1\r\n" + CLOSE, 400, "bad_host"),
        (b"GET /health HTTP/2.0\r\nHost: localhost\r\n" + CLOSE, 505, "http_version_not_supported"),
        (b"GET /health HTTP/0.9\r\nHost: localhost\r\n" + CLOSE, 505, "http_version_not_supported"),
        (b"GET /health\r\n\r\n", 505, "http_version_not_supported"),
        (b"nonsense\r\n\r\n", 400, "bad_request"),
        (POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "bad_request"),
        (POST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "bad_request"),
        (POST + CODED % b"gzip, chunked", 501, "transfer_encoding_not_supported"),
        (POST + CODED % b"identity, chunked", 501, "transfer_encoding_not_supported"),
        (POST + CODED % b"gzip\r\nTransfer-Encoding: chunked", 501, "transfer_encoding_not_supported"),
        (POST.replace(b"1.1", b"1.0") + CODED % b"chunked", 400, "bad_request"),
    ],
)  # fmt: skip
async def test_what_is_no_request_is_refused(
    lonely: GatewayProcess, request_bytes: bytes, status: int, code: str
) -> None:
    response = await exchange(lonely.port, request_bytes)
    assert (status_of(response), code_of(response)) == (status, code)


async def test_what_is_one_is_answered(lonely: GatewayProcess) -> None:
    for line in (
        b"HTTP/1.1\r\nHost: localhost:8006\r\n",
        b"HTTP/1.0\r\nHost: localhost\r\n",
        b"HTTP/1.0\r\n",
    ):
        for path in (b"/health", b"/v1/voices"):
            assert status_of(await exchange(lonely.port, b"GET " + path + b" " + line + CLOSE)) == 200


async def test_what_stands_behind_a_body_says_nothing_of_who_asks(lonely: GatewayProcess) -> None:
    """A proxy in front may pass it on as it came, beside what it says itself of the client."""
    token = lonely.admin["X-Admin-Token"].encode()
    head = b"GET /api/workers HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    shown = b"X-Admin-Token: " + token + b"\r\n"
    for offer in (b"", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"):
        chunked = head + offer + b"Transfer-Encoding: chunked\r\n"
        for lines, trailer, status in ((shown, b"", 200), (b"", shown, 401)):
            body = b"1\r\na\r\n0\r\n" + trailer + b"\r\n"
            response = await exchange(lonely.port, chunked + lines + b"\r\n" + body)
            assert status_of(response) == status


@pytest.mark.parametrize("path", ["/health", "/", "/metrics", "/api/config", "/api/sessions", "/static/a.js"])
async def test_a_name_that_anybody_could_own_reaches_nothing(lonely: GatewayProcess, path: str) -> None:
    head = f"GET {path} HTTP/1.1\r\nHost: rebound.example:8006\r\n".encode()
    response = await exchange(lonely.port, head + CLOSE)
    assert (status_of(response), code_of(response)) == (421, "host_not_allowed")


@pytest.mark.parametrize("path", ["/ws/tts", "/ws/live"])
async def test_nor_a_socket(lonely: GatewayProcess, path: str) -> None:
    headers = {"Host": f"rebound.example:{lonely.port}", "Origin": f"http://rebound.example:{lonely.port}"}
    with pytest.raises(InvalidStatus) as refused:
        async with connect(f"ws://127.0.0.1:{lonely.port}{path}", proxy=None, additional_headers=headers):
            pass
    assert refused.value.response.status_code in (400, 421)


def test_names_that_are_listed_do(start: StartFleet) -> None:
    gateway = start.gateway(NOWHERE, allowed_hosts="tts.example,*.example.org")
    answers = {
        host: httpx.get(f"{gateway.url}/health", headers={"Host": host}).status_code
        for host in (
            "TTS.example:8006",
            "a.b.example.org",
            "example.org",
            "evilexample.org",
            "8.8.8.8",
            "[::1]:1",
        )
    }
    assert answers == {
        "TTS.example:8006": 200,
        "a.b.example.org": 200,
        "example.org": 421,
        "evilexample.org": 421,
        "8.8.8.8": 200,
        "[::1]:1": 200,
    }


# ------------------------------------------------------------------------------------------- what is logged


async def test_bad_utf8_on_a_socket_is_closed_and_no_defect(start: StartFleet) -> None:
    gateway, _ = start(1)
    for url in (f"ws://127.0.0.1:{gateway.port}/ws/tts", f"ws://127.0.0.1:{gateway.port}/ws/live"):
        for fragments in ([b"\xff\xfe"], [b"\xc3", b"("]):
            async with connect(url, proxy=None) as socket:
                with pytest.raises(ConnectionClosed):
                    await socket.send(fragments if len(fragments) > 1 else fragments[0], text=True)
                    await socket.recv()
            assert socket.close_code == 1007
    assert gateway.terminate() == 0
    assert not [line for line in gateway.log if "Traceback" in line or "Invalid UTF-8" in line]


@pytest.mark.parametrize("path", ["/api/voices", "/tts"])
async def test_a_client_that_leaves_during_an_upload_is_no_defect(start: StartFleet, path: str) -> None:
    gateway = start.gateway(NOWHERE)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n"
    head += "Content-Type: multipart/form-data; boundary=x\r\n\r\n" if "voices" in path else "\r\n"
    part = b'--x\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\nRIFF'
    for _ in range(3):
        _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(head.encode() + part)
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.transport.abort()

    async def all_noticed() -> bool | None:
        async with gateway.http() as http:
            text = (await http.get("/metrics")).text
        counts = [
            float(line.rpartition(" ")[2])
            for line in text.splitlines()
            if line.startswith("voxfleet_http_requests_total") and f'route="{path}"' in line
        ]
        return True if sum(counts) == 3 else None

    await eventually(all_noticed, "the gateway has not noticed")
    assert gateway.terminate() == 0
    assert not gateway.defects()


FORGED = "slt\x1b[2J\r\n2026-01-01T00:00:00Z [info] all is well \u202e\x9b31m\u2028"


def test_control_characters_are_written_out() -> None:
    escaped = printable(FORGED)
    assert escaped.isprintable()
    assert escaped.startswith("slt\\x1b[2J\\r\\n2026")
    assert printable("Grüße, 你好 🙂") == "Grüße, 你好 🙂"
    assert readable(json.dumps({"event": "request", "voice": FORGED})).count("\x1b") == 0


def test_a_voice_forges_no_line_on_a_terminal() -> None:
    """As the gateway and the worker log where somebody looks on."""
    program = (
        "import structlog, sys, logging; from {0}.log import configure_logging; configure_logging({1});"
        "structlog.get_logger('x').info('request', voice=sys.argv[1]);"
        "logging.getLogger('other').warning('said %s', sys.argv[1])"
    )
    for room, arguments in (("gateway", "'info'"), ("worker", "")):
        terminal, end = pty.openpty()
        command = [sys.executable, "-c", program.format(room, arguments), FORGED]
        subprocess.run(
            command, stderr=end, check=True, cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": search_path()}
        )
        os.close(end)
        shown = os.read(terminal, 1 << 16).decode()
        os.close(terminal)
        lines = [line for line in shown.splitlines() if line.strip()]
        assert len(lines) == 2, shown
        assert "\x1b[2J" not in shown and "\u202e" not in shown


def test_every_text_of_an_event_is_written_out() -> None:
    event = escape_controls(None, "info", {"event": "a\nb", "n": 1, "exception": "Traceback\n  x\x1b[2J"})
    assert event == {"event": "a\\nb", "n": 1, "exception": "Traceback\n  x\\x1b[2J"}
    assert structlog.get_config()["processors"]


# ---------------------------------------------------------------------------- what is imported from a folder


def test_children_import_nothing_from_the_folder_they_are_started_in(tmp_path) -> None:
    """`voxfleet serve` once ran whatever structlog.py lay where it was called."""
    for name in ("structlog", "uvicorn", "gateway", "worker"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'a').write({name!r})")
    program = (
        "import asyncio; from voxfleet.processes.child_process import ChildProcess, voxfleet_command\n"
        "async def main():\n"
        "    for name in ('gateway', 'worker'):\n"
        "        lines = []\n"
        "        child = await ChildProcess.start([*voxfleet_command(name), '--nothing'], {}, lines.append)\n"
        "        assert await child.wait() == 2, lines\n"
        "        probe = voxfleet_command(name)[:2] + ['-c', 'import structlog, uvicorn, gateway, worker']\n"
        "        child = await ChildProcess.start(probe, {}, lines.append)\n"
        "        assert await child.wait() == 0, lines\n"
        "asyncio.run(main())"
    )
    safe = {**os.environ, "PYTHONPATH": search_path(), "PYTHONSAFEPATH": "1"}
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=safe, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert not (tmp_path / "imported").exists()


def test_the_program_as_a_module_does_neither(tmp_path) -> None:
    (tmp_path / "typer.py").write_text("raise SystemExit('imported from the current folder')")
    variables = {**os.environ, "PYTHONPATH": search_path()}
    result = subprocess.run(
        [sys.executable, "-m", "voxfleet", "--version"],
        cwd=tmp_path, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")
