"""The port of Wyoming is found on the network, and no longer when it is closed."""

from __future__ import annotations

import asyncio

import pytest
from zeroconf import ServiceStateChange
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from gateway.protocols.wyoming import discovery
from gateway.protocols.wyoming.discovery import SERVICE_TYPE, announced, reachable_addresses

LOOPBACK = "127.0.0.1"


class Home:
    """What somebody on the network hears of Wyoming."""

    def __init__(self) -> None:
        self.zeroconf = AsyncZeroconf(interfaces=[LOOPBACK])
        self.heard: asyncio.Queue[tuple[str, ServiceStateChange]] = asyncio.Queue()
        self.browser = AsyncServiceBrowser(self.zeroconf.zeroconf, SERVICE_TYPE, handlers=[self._hear])

    def _hear(self, zeroconf, service_type, name, state_change) -> None:
        self.heard.put_nowait((name, state_change))

    async def next(self, change: ServiceStateChange) -> str:
        while True:
            name, heard = await asyncio.wait_for(self.heard.get(), 20)
            if heard is change:
                return name

    async def close(self) -> None:
        await self.browser.async_cancel()
        await self.zeroconf.async_close()


async def test_a_home_finds_the_port_and_hears_when_it_closes():
    home = Home()
    try:
        async with announced([LOOPBACK], 10200):
            name = await home.next(ServiceStateChange.Added)
            info = AsyncServiceInfo(SERVICE_TYPE, name)
            assert await info.async_request(home.zeroconf.zeroconf, 10_000)
            assert info.port == 10200
            assert info.parsed_addresses() == [LOOPBACK]
            assert name.startswith("VoxFleet on ")
        assert await home.next(ServiceStateChange.Removed) == name
    finally:
        await home.close()


async def test_a_network_without_multicast_costs_the_announcement_alone(monkeypatch):
    def refuse(**options):
        raise OSError(19, "No such device")

    monkeypatch.setattr(discovery, "AsyncZeroconf", refuse)
    async with announced(["192.0.2.1"], 10200):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("host", "addresses"), [("127.0.0.1", []), ("localhost", []), ("192.0.2.7", ["192.0.2.7"])]
)
def test_only_addresses_that_others_reach_are_announced(host: str, addresses: list[str]):
    assert reachable_addresses(host) == addresses


def test_a_port_of_every_interface_is_announced_without_loopback():
    assert LOOPBACK not in reachable_addresses("0.0.0.0")
