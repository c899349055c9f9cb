"""Home Assistant finds the port of Wyoming by itself: it is announced on the local network (mDNS, zeroconf).

Nothing is announced of a port that only this machine reaches. A network that carries no multicast, or a name
that is taken, costs the announcement alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address

import ifaddr
import structlog
from zeroconf import Error as ZeroconfError
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

logger = structlog.get_logger(__name__)

SERVICE_TYPE = "_wyoming._tcp.local."
_ANY = ("", "0.0.0.0", "::")


def reachable_addresses(host: str) -> list[str]:
    """IPv4 addresses by which others on the network reach a port that listens on `host`."""
    if host in _ANY:
        ips = (ip.ip for adapter in ifaddr.get_adapters() for ip in adapter.ips if ip.is_IPv4)
        return sorted(str(ip) for ip in ips if not ip_address(str(ip)).is_loopback)
    with contextlib.suppress(ValueError):
        address = ip_address(host)
        if address.version == 4 and not address.is_loopback:
            return [host]
    return []


@asynccontextmanager
async def announced(addresses: list[str], port: int) -> AsyncIterator[None]:
    """Say that Wyoming is spoken at `port` of these addresses, for as long as the block lasts."""
    task = asyncio.create_task(_announce(addresses, port)) if addresses else None
    try:
        yield
    finally:
        if task:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _announce(addresses: list[str], port: int) -> None:
    """Until cancelled. The network is told at the end, too."""
    name = socket.gethostname().split(".", 1)[0] or "voxfleet"
    info = AsyncServiceInfo(
        SERVICE_TYPE, f"VoxFleet on {name}.{SERVICE_TYPE}", port=port, server=f"voxfleet-{name}.local.",
        parsed_addresses=addresses,
    )  # fmt: skip
    try:
        zeroconf = AsyncZeroconf(interfaces=addresses)
    except OSError as error:
        logger.warning("Wyoming is not announced on the network", reason=str(error))
        return
    try:
        await (await zeroconf.async_register_service(info, allow_name_change=True))
        logger.info("Wyoming is announced on the network", name=info.name, addresses=addresses)
        await asyncio.Event().wait()
    except (OSError, ZeroconfError) as error:
        logger.warning("Wyoming is not announced on the network", reason=f"{type(error).__name__} {error}")
    finally:
        await zeroconf.async_close()
