"""Addresses of clients: parsed, and put together where one client has many."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_IPV6_PREFIX_BITS = 64


def parse(address: str) -> Address | None:
    """An IP address without its scope, an IPv4 address in IPv6's notation as IPv4; None for anything else."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed


def network(address: str) -> str:
    """What counts as one client: an address, or for IPv6 the network that one household or server gets."""
    parsed = parse(address)
    if parsed is None:
        return address or "unknown"
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, _IPV6_PREFIX_BITS), strict=False))


class Networks:
    """A list of networks, such as those of `trusted_proxies`."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ipaddress.ip_network(network, strict=False) for network in networks]

    def __bool__(self) -> bool:
        return bool(self._networks)

    def __contains__(self, address: str) -> bool:
        parsed = parse(address)
        return parsed is not None and any(
            parsed in network for network in self._networks if network.version == parsed.version
        )
