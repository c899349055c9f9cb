"""Gateways that are found by a name: which are dialled, and what follows when there are others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from tests.forks import PATIENCE_SECONDS
from tests.gateway.stages.processes import started_fleets
from worker.engines.loading import load_engine
from worker.gateways.registrar import Registrar, look_up
from worker.lifecycle import Worker
from worker.protocol import Registration
from worker.settings import SettingsError, WorkerSettings, load_settings

ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
SECRET = "between-us-alone-1"


class Gateways:
    """Listeners on several addresses, one port; what each was told last, and how often."""

    def __init__(self) -> None:
        self.port = 0
        self.told: dict[str, Registration] = {}
        self.calls = dict.fromkeys(ADDRESSES, 0)
        self.known: set[str] | OSError = set()
        """What the name leads to."""
        self.lookups = 0
        self.news = asyncio.Condition()

    async def lookup(self, host: str, port: int) -> set[str]:
        assert (host, port) == ("gateways.test", self.port)
        self.lookups += 1
        async with self.news:
            self.news.notify_all()
        if isinstance(self.known, OSError):
            raise self.known
        return self.known

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("sockname")[0]
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                (length,) = (
                    int(line.split(b":")[1])
                    for line in head.splitlines()
                    if line.lower().startswith(b"content-length")
                )
                self.told[address] = Registration.model_validate_json(await reader.readexactly(length))
                self.calls[address] += 1
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                async with self.news:
                    self.news.notify_all()
        except asyncio.IncompleteReadError:
            return
        finally:
            writer.close()

    async def until(self, condition: object) -> None:
        async with self.news, asyncio.timeout(PATIENCE_SECONDS):
            await self.news.wait_for(condition)


@asynccontextmanager
async def listening() -> AsyncIterator[Gateways]:
    gateways = Gateways()
    async with AsyncExitStack() as stack:
        for address in ADDRESSES:
            server = await asyncio.start_server(gateways.answer, address, gateways.port)
            stack.push_async_callback(_closed, server)
            gateways.port = server.sockets[0].getsockname()[1]
        yield gateways


async def _closed(server: asyncio.Server) -> None:
    server.close()


def registrar_for(gateways: Gateways) -> Registrar:
    settings = WorkerSettings(
        model="synthetic",
        advertised_url="http://10.1.2.3:22400",
        gateway_dns_url=f"http://gateways.test:{gateways.port}",
    )
    return Registrar(Worker(settings, load_engine), settings, gateways.lookup)


async def test_a_worker_dials_in_at_every_address_of_the_name_and_at_new_ones() -> None:
    async with listening() as gateways:
        gateways.known = set(ADDRESSES[:2])
        registrar = registrar_for(gateways)
        registrar.start()
        try:
            await gateways.until(lambda: gateways.told.keys() == set(ADDRESSES[:2]))
            assert gateways.told[ADDRESSES[1]].url == "http://10.1.2.3:22400"
            gateways.known = set(ADDRESSES)
            await gateways.until(lambda: gateways.told.keys() == set(ADDRESSES))
        finally:
            await registrar.close()
        assert all(said.leaving for said in gateways.told.values())


async def test_a_gateway_that_is_gone_is_not_dialled_any_more() -> None:
    async with listening() as gateways:
        gateways.known = set(ADDRESSES[:2])
        registrar = registrar_for(gateways)
        registrar.start()
        try:
            await gateways.until(lambda: gateways.told.keys() == set(ADDRESSES[:2]))
            gateways.known = {ADDRESSES[0]}
            looked = gateways.lookups
            await gateways.until(lambda: gateways.lookups > looked + 1)
            before = dict(gateways.calls)
            await gateways.until(lambda: gateways.calls[ADDRESSES[0]] > before[ADDRESSES[0]] + 1)
            assert gateways.calls[ADDRESSES[1]] == before[ADDRESSES[1]]
        finally:
            await registrar.close()


async def test_while_the_name_cannot_be_looked_up_those_that_are_known_stay_known() -> None:
    async with listening() as gateways:
        gateways.known = {ADDRESSES[0]}
        registrar = registrar_for(gateways)
        registrar.start()
        try:
            await gateways.until(lambda: ADDRESSES[0] in gateways.told)
            gateways.known = OSError("no such name")
            looked = gateways.lookups
            await gateways.until(lambda: gateways.lookups > looked + 1)
            before = gateways.calls[ADDRESSES[0]]
            await gateways.until(lambda: gateways.calls[ADDRESSES[0]] > before + 1)
        finally:
            await registrar.close()


async def test_an_address_is_its_own_name() -> None:
    assert await look_up("127.0.0.1", 8006) == {"127.0.0.1"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gateway_dns_url": "https://gateways:8006"}, "certificates"),
        ({"gateway_dns_url": "gateways:8006"}, "gateway_dns_url"),
        ({"gateway_dns_url": "http://gateways:8006", "host": "0.0.0.0"}, "advertised_url"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings(secret="0123456789-a-secret", **options)


def test_registering_every_second_does_not_fill_the_log() -> None:
    with started_fleets() as start:
        gateway = start.gateway([], worker_secret=SECRET)
        worker = start.worker(environment={"VOXFLEET_WORKER_SECRET": SECRET}, gateway_urls=[gateway.url])
        gateway.wait_until_serving(1)
        assert worker.terminate() == 0
        told = [line for line in worker.log if gateway.url in line]
    assert len(told) == 1
    assert '"registered"' in told[0]
