"""S21: who sends a body is somebody, in time, with so many connections: no flood locks out a key."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from contextlib import AsyncExitStack

import pytest

from gateway.edge.connections.crowd import Crowd
from gateway.settings import load_settings
from tests.forks import REPOSITORY
from tests.gateway.stages.processes import GatewayProcess, StartFleet, check_error
from tests.security.raw import NOWHERE, PATIENCE_SECONDS, code_of, exchange, read_response, status_of

KEY = "a-valid-key-of-thirty-two-letters"
KEYS = json.dumps({"me": {"key": KEY}})
HEAD = (
    b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: 1000\r\n\r\n"
)


async def opened(stack: AsyncExitStack, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    stack.callback(writer.transport.abort)
    return reader, writer


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(PATIENCE_SECONDS):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


@pytest.mark.parametrize(
    ("path", "header", "code"),
    [
        (b"/tts", b"", "api_key_required"),
        (b"/tts", b"Authorization: Bearer a-key-that-nobody-has-ever-had\r\n", "invalid_api_key"),
        (b"/v1/audio/speech", b"", "api_key_required"),
        (b"/api/voices", b"", "api_key_required"),
        (b"/api/pages", b"", "api_key_required"),
        (b"/api/registrations", b"Authorization: Bearer a-guess-at-a-secret\r\n", "invalid_worker_secret"),
    ],
)  # fmt: skip
async def test_nobody_s_body_is_not_waited_for(
    start: StartFleet, path: bytes, header: bytes, code: str
) -> None:
    gateway = start.gateway(
        NOWHERE, api_keys=KEYS, anonymous=False, worker_secret="a-secret-of-workers"
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        reader, writer = await opened(stack, gateway.port)
        writer.write(HEAD % (path, header))
        response = await read_response(reader)
        assert (status_of(response), code_of(response)) == (401, code)
        assert await until_closed(reader) == b"", "what never sends its body is cut"


async def test_a_body_has_a_deadline_however_steadily_it_drips(start: StartFleet) -> None:
    """A byte every now and then once held a connection for as long as anybody liked."""
    gateway = start.gateway(NOWHERE, body_timeout_seconds=1)
    async with AsyncExitStack() as stack:
        reader, writer = await opened(stack, gateway.port)
        writer.write(HEAD % (b"/tts", b""))

        async def drip() -> None:
            while not writer.transport.is_closing():
                writer.write(b" ")
                await asyncio.sleep(0.2)

        dripping = asyncio.create_task(drip())
        response = await until_closed(reader)
        dripping.cancel()
        assert (status_of(response), code_of(response)) == (408, "body_timeout")


async def test_many_keyless_bodies_do_not_lock_out_a_valid_key(start: StartFleet) -> None:
    """300 of them, a byte every three seconds, once took all descriptors of a gateway that had 256."""
    gateway = start.gateway(NOWHERE, api_keys=KEYS, anonymous=False)
    resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (256, 256))
    async with AsyncExitStack() as stack:
        held = [await opened(stack, gateway.port) for _ in range(150)]
        for _, writer in held:
            writer.write(HEAD % (b"/tts", b""))
        held += [await opened(stack, gateway.port) for _ in range(40)]
        await asyncio.gather(*(until_closed(reader) for reader, _ in held[:150]))
        async with gateway.http(headers={"Authorization": f"Bearer {KEY}"}) as http:
            assert (await http.get("/api/sessions")).status_code == 200
            check_error(await http.post("/tts", json={"text": "Hello."}), 503)  # no worker, and no lock-out
    assert not gateway.defects()


async def test_who_is_one_too_many_is_told_so(start: StartFleet) -> None:
    gateway = start.gateway(NOWHERE, max_connections=40, expose_metrics=True)
    async with AsyncExitStack() as stack:
        held = [await opened(stack, gateway.port) for _ in range(19)]
        told = await exchange(gateway.port, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"\nvoxfleet_connections 20.0\n" in told and b"\nvoxfleet_connections_limit 40.0\n" in told
        held.append(await opened(stack, gateway.port))
        response = await exchange(gateway.port, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (status_of(response), code_of(response)) == (503, "too_many_connections")
        assert b"\r\nRetry-After: 5\r\n" in response
        assert b"of this address" in response
        assert len(held) == 20
    for _ in range(100):  # the gateway hears of the last of them a moment later
        response = await exchange(gateway.port, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        if status_of(response) == 200:
            break
        await asyncio.sleep(0.1)
    assert status_of(response) == 200, "those that left are not counted"


async def test_sockets_count_as_connections_until_they_are_closed(start: StartFleet) -> None:
    gateway, _ = start(1, gateway={"max_connections": 12, "max_connections_per_address": 8})
    for _ in range(3):
        async with AsyncExitStack() as stack:
            for _ in range(6):
                await stack.enter_async_context(gateway.socket())
        async with gateway.stream(text="Hello.") as stream:
            assert await stream.receive_rest() == 1000
    async with AsyncExitStack() as stack:
        for _ in range(8):
            await stack.enter_async_context(gateway.socket())
        response = await exchange(gateway.port, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status_of(response) == 503


class Wire:
    """A transport, as far as it is counted."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.aborted = False

    def get_extra_info(self, name: str) -> tuple[str, int]:
        return self.address, 1

    def abort(self) -> None:
        self.aborted = True


def crowd(**options) -> Crowd:
    return Crowd(load_settings(worker_urls="http://127.0.0.1:9", **options), descriptors=1024)


async def test_one_address_leaves_room_for_others_and_a_trusted_proxy_is_no_one() -> None:
    counted = crowd(max_connections=10, trusted_proxies="10.0.0.0/8")
    refused = [counted.enter(Wire("192.0.2.1")) for _ in range(7)]
    assert [problem is not None for problem in refused] == [False] * 5 + [True] * 2
    assert counted.enter(Wire("192.0.2.2")) is None
    counted = crowd(max_connections=10, trusted_proxies="10.0.0.0/8")
    assert [counted.enter(Wire("10.1.1.1")) for _ in range(10)] == [None] * 10
    assert counted.enter(Wire("10.1.1.1")).code == "too_many_connections"


async def test_one_household_of_ipv6_is_one_address() -> None:
    counted = crowd(max_connections=4)
    assert counted.enter(Wire("2001:db8::1")) is None
    assert counted.enter(Wire("2001:db8::2")) is None
    assert counted.enter(Wire("2001:db8::3")) is not None
    assert counted.enter(Wire("2001:db8:1::3")) is None


async def test_the_descriptors_of_the_process_bound_its_connections() -> None:
    assert crowd().most == 768
    counted = crowd(max_connections=10)
    wires = [Wire(f"192.0.2.{n}") for n in range(100)]
    for wire in wires:
        counted.enter(wire)
    assert [wire.aborted for wire in wires] == [False] * 74 + [True] * 26, "nobody has time for so many"
    for wire in wires:
        counted.leave(wire)
        counted.leave(wire)
    assert len(counted) == 0


def test_a_gateway_raises_its_soft_limit_of_open_files() -> None:
    program = (
        "import resource; from gateway.edge.connections.crowd import raise_descriptor_limit as more;"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (200, 900));"
        "assert more() == 900 == resource.getrlimit(resource.RLIMIT_NOFILE)[0]; assert more() == 900"
    )
    subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, check=True)


def test_a_gateway_that_runs_has_done_so(lonely: GatewayProcess) -> None:
    soft, hard = resource.prlimit(lonely.process.pid, resource.RLIMIT_NOFILE)
    assert soft == min(hard, max(soft, 65_536))
