"""S4: workers dial in from allowed networks, are reached at addresses in them, and speak for themselves."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic import ValidationError

from gateway.edge.addresses import Networks
from gateway.settings import load_settings
from gateway.settings.workers import PRIVATE_NETWORKS
from gateway.workers.client import WorkerUnreachable
from gateway.workers.whereabouts import NotAllowedError, Whereabouts
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.security.workers.registrar import SHARED, client_of, registrar, said

OWN = {"w-a": "the own secret of worker a", "w-b": "the own secret of worker b"}


async def test_workers_dial_in_from_allowed_networks_alone() -> None:
    async with registrar(worker_secret=SHARED) as register:
        for peer in (
            "127.0.0.1",
            "::1",
            "10.1.2.3",
            "192.168.0.9",
            "172.31.0.2",
            "fd12::7",
            "::ffff:10.0.0.1",
        ):
            assert (await register(SHARED, peer=peer)).status_code == 200, peer
        for peer in ("8.8.8.8", "2001:db8::1", "169.254.1.1", "100.64.0.1", "fe80::1", "::ffff:8.8.8.8"):
            response = await register(SHARED, peer=peer)
            assert (response.status_code, response.json()["error"]["code"]) == (403, "worker_network"), peer
        forwarded = {"X-Forwarded-For": "8.8.8.8"}
        assert (await register(SHARED, headers=forwarded)).json()["error"]["code"] == "client_unknown"
    async with registrar(worker_secret=SHARED, worker_networks="203.0.113.0/24") as register:
        assert (await register(SHARED, peer="127.0.0.1")).status_code == 403
        assert (await register(SHARED, peer="203.0.113.7", url="http://203.0.113.7:1")).status_code == 200
    async with registrar(worker_secret=SHARED, trusted_proxies="127.0.0.1") as register:
        assert (await register(SHARED, headers=forwarded)).json()["error"]["code"] == "worker_network"
        assert (await register(SHARED, headers={"X-Forwarded-For": "10.0.0.4"})).status_code == 200


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254",
        "http://8.8.8.8:22400",
        "http://0.0.0.0:22400",
        "http://[::ffff:169.254.169.254]:80",
        "http://[fe80::1]:22400",
        "http://[2001:db8::1]",
        "http://public.example:22400",
    ],
)
async def test_never_to_an_address_outside_them(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["93.184.215.14"])
    async with registrar(worker_secret=SHARED) as register:
        response = await register(SHARED, url=url)
        assert (response.status_code, response.json()["error"]["param"]) == (403, "url")
        assert list(register.gateway.pool.workers) == ["w0"]


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
    """Names mean this from now on: each answer once, the last for ever."""
    left = list(answers)

    async def getaddrinfo(self: object, host: str, port: object, **options: object) -> list[Any]:
        addresses = left.pop(0) if len(left) > 1 else left[0]
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)


async def test_a_name_that_nobody_knows_is_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, [])
    async with registrar(worker_secret=SHARED) as register:
        assert (await register(SHARED, url="http://nowhere.example:1")).status_code == 422


async def test_a_name_that_moves_leads_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: what is connected to is what was checked, and another connection is checked anew."""
    async with ScriptedWorker([Act()]).running() as worker:
        port = worker.url.rpartition(":")[2]
        where = Whereabouts(f"http://rebound.example:{port}", Networks(PRIVATE_NETWORKS))
        resolving(monkeypatch, ["93.184.215.14", "127.0.0.1"], ["127.0.0.2", "169.254.169.254"], ["8.8.8.8"])
        first = await where.endpoint()
        assert (first.url, first.address) == (f"http://127.0.0.1:{port}", "127.0.0.1")
        async with client_of("", where) as client:
            assert (await client.control.status()).slots_total == 4
            where.look_again()
            assert (await where.endpoint()).address == "127.0.0.2"
            where.look_again()
            with pytest.raises(NotAllowedError):
                await where.endpoint()
            control = client.control
            for asks in (control.status(), control.drain(), control.encode(b"", "prompt"), client._connect()):
                with pytest.raises(WorkerUnreachable, match="no address within worker_networks"):
                    await asks


async def test_of_several_addresses_the_one_that_answers_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a machine with IPv6 whose worker listens on IPv4 alone."""
    async with ScriptedWorker([Act(), Act()]).running() as worker:
        port = worker.url.rpartition(":")[2]
        resolving(monkeypatch, ["127.0.0.2", "127.0.0.3", "127.0.0.1"])
        where = Whereabouts(f"http://worker.example:{port}", Networks(PRIVATE_NETWORKS))
        async with client_of("", where) as client:
            for _ in range(2):
                with pytest.raises(WorkerUnreachable):
                    await client.control.status()
            assert (await client.control.status()).slots_total == 4

            async def next_address() -> str | None:
                where.look_again()
                return (await where.endpoint()).address

            again = [await next_address() for _ in range(3)]
            assert again == ["127.0.0.1", "127.0.0.2", "127.0.0.3"], "a hiccup is none of its address"


async def test_the_checked_address_is_what_both_wires_use(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedWorker([Act()]).running() as worker:
        port = worker.url.rpartition(":")[2]
        resolving(monkeypatch, ["127.0.0.1"])
        where = Whereabouts(f"http://worker.example:{port}", Networks(PRIVATE_NETWORKS))
        async with client_of("", where) as client:
            await client.control.status()
            connection = await client._connect()
            assert connection.request.headers["Host"] == f"worker.example:{port}"
            assert connection.remote_address[0] == "127.0.0.1"
            connection.transport.abort()


async def test_a_worker_s_own_secret_is_good_for_its_own_id_alone() -> None:
    async with registrar(worker_secret=SHARED, worker_secrets=OWN) as register:

        async def code(secret: str, worker_id: str, **fields: Any) -> str | None:
            answer = await register(secret, status=said(worker_id=worker_id), **fields)
            return answer.json()["error"]["code"] if answer.is_error else answer.json()["worker_id"]

        assert await code(OWN["w-a"], "w-a", url="http://127.0.0.1:9001") == "w-a"
        assert await code(OWN["w-a"], "w-b") == "not_its_id"
        assert await code(OWN["w-a"], "w0") == "not_its_id"
        assert await code(SHARED, "w-b") == "not_its_id", "who shares a secret does not get that id"
        assert await code(SHARED, "another", url="http://127.0.0.1:9003") == "another"
        assert await code("a secret that nobody has", "w-a") == "invalid_worker_secret"
        assert await code(OWN["w-a"], "w-a", url="http://127.0.0.1:9002") == "worker_id_taken"


async def test_nobody_speaks_for_a_worker_that_showed_another_secret() -> None:
    async with registrar(worker_secret=SHARED, worker_secrets=OWN) as register:
        await register(OWN["w-a"], status=said(worker_id="w-a", boot_id="a"), url="http://127.0.0.1:9001")
        workers = register.gateway.pool.workers
        before = workers["w-a"]
        for secret, worker_id in ((OWN["w-b"], "w-b"), (SHARED, "another")):
            for fields in ({"url": "http://127.0.0.1:9001"}, {"url": "http://127.0.0.1:9009"}):
                status = said(worker_id=worker_id, boot_id="a")
                answer = await register(secret, status=status, leaving=True, **fields)
                assert answer.status_code == 200
        assert workers["w-a"] is before and before.last_failure != "the worker left"
        await register(SHARED, status=said(worker_id="another"), url="http://127.0.0.1:9001")
        assert len([worker for worker in workers.values() if worker.url.endswith(":9001")]) == 2
        await register(OWN["w-a"], status=said(worker_id="w-a"), url="http://127.0.0.1:9001", leaving=True)
        assert before.last_failure == "the worker left"


async def test_a_worker_is_shown_its_own_secret_and_no_other() -> None:
    shown: dict[str, str] = {}

    def worker(name: str, seen: asyncio.Event) -> Callable[..., Awaitable[None]]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lines = [line for line in head.split("\r\n") if line.lower().startswith("authorization:")]
            shown[name] = lines[0].partition("Bearer ")[2] if lines else ""
            seen.set()
            writer.close()

        return answer

    async with registrar(worker_secret=SHARED, worker_secrets=OWN) as register:
        for worker_id, secret in (("w-a", OWN["w-a"]), ("w-b", OWN["w-b"]), ("any", SHARED)):
            seen = asyncio.Event()
            async with await asyncio.start_server(worker(worker_id, seen), "127.0.0.1", 0) as server:
                url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
                assert (await register(secret, status=said(worker_id=worker_id), url=url)).is_success
                async with asyncio.timeout(60):
                    await seen.wait()
    assert shown == {"w-a": OWN["w-a"], "w-b": OWN["w-b"], "any": SHARED}


async def test_own_secrets_need_no_shared_one() -> None:
    async with registrar(worker_secrets=OWN) as register:
        assert (await register(OWN["w-a"], status=said(worker_id="w-a"), peer="10.0.0.1")).is_success
        assert (await register(None)).status_code == 401


@pytest.mark.parametrize(
    "options",
    [
        {"worker_secrets": {"w": "short"}},
        {"worker_secrets": {"w": "a" * 40}},
        {"worker_secrets": {"no id": OWN["w-a"]}},
        {"worker_secrets": {"w": ""}},
        {"worker_secrets": {"v": OWN["w-a"], "w": OWN["w-a"]}},
        {"worker_secrets": {"w": SHARED}, "worker_secret": SHARED},
        {"worker_networks": "everywhere"},
    ],
)
def test_what_protects_nobody_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        load_settings(**options)
    assert OWN["w-a"] not in str(refused.value.errors(include_input=False, include_url=False))
