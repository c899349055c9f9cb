"""Whose request a proxy passes on: `X-Forwarded-For`, and `Forwarded` of RFC 7239.

A client is known by its address when it speaks to us itself, or when every proxy on the way is trusted and
the last of them names somebody else. A proxy's own address is nobody's: all of its clients would have it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from gateway.callers.origin import was_forwarded
from gateway.edge.addresses import Networks, network, parse

_ELEMENT = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")+')
_PAIR = re.compile(r'(?:[^;"]|"(?:[^"\\]|\\.)*")+')
_WELL_QUOTED = re.compile(r'(?:[^"]|"(?:[^"\\]|\\.)*+")*+')
"""As far as every quotation ends."""
_V6_WITH_PORT = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::[0-9_A-Za-z.-]*)?")
_V4_WITH_PORT = re.compile(r"([0-9.]+):[0-9_A-Za-z.-]*")


@dataclass(frozen=True)
class Client:
    """Where a request comes from."""

    address: str
    """An IPv4 address or an IPv6 network; of the last proxy, where the client behind it is not known."""
    known: bool
    """The address is one client's, as far as can be told, so that it may own something."""
    host: str
    """The address itself, also where it is one of an IPv6 network."""


def client_of(connection: HTTPConnection, proxies: Networks) -> Client:
    """The client behind the trusted `proxies`."""
    peer = connection.client.host if connection.client else ""
    if peer not in proxies:
        return Client(network(peer), bool(peer) and not was_forwarded(connection), peer)
    headers = connection.headers
    chains = []
    if lines := headers.getlist("x-forwarded-for"):
        chains.append([hop for line in lines for hop in line.split(",")])
    if lines := headers.getlist("forwarded"):
        chains.append(_forwarded_for(",".join(lines)))
    named = {_nearest_client(chain, proxies) for chain in chains}
    client = named.pop() if len(named) == 1 else None  # two that differ: one of them is the client's own word
    if client is None:
        return Client(network(peer), known=False, host=peer)
    return Client(network(client), known=True, host=client)


def _nearest_client(chain: list[str], proxies: Networks) -> str | None:
    """The last hop that is no proxy of ours; None when there is none, or one on the way is not understood."""
    for hop in reversed(chain):
        address = address_of(hop)
        if address is None:
            return None
        if address not in proxies:
            return address
    return None


def address_of(hop: str) -> str | None:
    """The address of a hop, with or without port and brackets; None for `unknown` and other words."""
    hop = hop.strip().strip('"')
    found = _V6_WITH_PORT.fullmatch(hop) or _V4_WITH_PORT.fullmatch(hop)
    parsed = parse(found[1] if found else hop)
    return None if parsed is None else str(parsed)


def _forwarded_for(value: str) -> list[str]:
    """What each element of a Forwarded header says after `for=`; empty where it says nothing."""
    whole = _WELL_QUOTED.match(value).end()
    value = value[:whole] + value[whole:].replace('"', ",")  # no quotation behind one without end has an end
    hops = []
    for element in _ELEMENT.findall(value):
        pairs = (pair.strip().partition("=") for pair in _PAIR.findall(element))
        hops.append(next((hop for name, _, hop in pairs if name.strip().lower() == "for"), ""))
    return hops
