"""S2: who owns what an address made: one client, and never a proxy with all who are behind it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import HTTPConnection

from gateway.callers.forwarded import address_of, client_of
from gateway.edge.addresses import Networks, network, parse

PROXY = "10.0.0.1"
PROXIES = Networks(["10.0.0.0/8", "127.0.0.1", "fd00::/8"])


def connection(peer: str = PROXY, *headers: tuple[str, str], **scope: Any) -> HTTPConnection:
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    return HTTPConnection(
        {"type": "http", "http_version": "1.1", "client": (peer, 5), "headers": raw, **scope}
    )


@pytest.mark.parametrize(
    ("headers", "address"),
    [
        ([("X-Forwarded-For", "192.0.2.7")], "192.0.2.7"),
        ([("X-Forwarded-For", "192.0.2.7:4711")], "192.0.2.7"),
        ([("X-Forwarded-For", "1.1.1.1, 192.0.2.7, 10.2.3.4:80")], "192.0.2.7"),
        ([("X-Forwarded-For", "1.1.1.1"), ("X-Forwarded-For", "192.0.2.7")], "192.0.2.7"),
        ([("X-Forwarded-For", "2001:db8:1:2::3")], "2001:db8:1:2::/64"),
        ([("X-Forwarded-For", "[2001:db8:1:2::3]:4711")], "2001:db8:1:2::/64"),
        ([("X-Forwarded-For", "::ffff:192.0.2.7")], "192.0.2.7"),
        ([("Forwarded", "for=192.0.2.7")], "192.0.2.7"),
        ([("Forwarded", 'for="192.0.2.7:4711";proto=https;by=10.0.0.1')], "192.0.2.7"),
        ([("Forwarded", 'proto=https; For="[2001:db8:1:2::3]:4711"')], "2001:db8:1:2::/64"),
        ([("Forwarded", 'for=1.1.1.1, for=192.0.2.7;host="a,b;c", for="[fd00::1]"')], "192.0.2.7"),
        ([("Forwarded", "for=192.0.2.7"), ("X-Forwarded-For", "192.0.2.7:9")], "192.0.2.7"),
    ],
)
def test_a_client_is_known_by_what_its_trusted_proxy_says(
    headers: list[tuple[str, str]], address: str
) -> None:
    client = client_of(connection(PROXY, *headers), PROXIES)
    assert (client.address, client.known) == (address, True)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("X-Forwarded-For", "unknown")],
        [("X-Forwarded-For", "192.0.2.7, unknown")],
        [("X-Forwarded-For", "")],
        [("X-Forwarded-For", "10.5.5.5")],
        [("X-Forwarded-For", "192.0.2.7:80:80")],
        [("Forwarded", "for=unknown")],
        [("Forwarded", 'for="_hidden";proto=https')],
        [("Forwarded", "proto=https")],
        [("Forwarded", "for=1.1.1.1, proto=https")],
        [("Forwarded", 'for="192.0.2.7')],
        [("Forwarded", "for=192.0.2.8"), ("X-Forwarded-For", "192.0.2.7")],
        [("X-Real-IP", "192.0.2.7")],
    ],
)
def test_whom_a_proxy_does_not_name_is_nobody_and_owns_nothing(headers: list[tuple[str, str]]) -> None:
    client = client_of(connection(PROXY, *headers), PROXIES)
    assert (client.address, client.known) == (PROXY, False)


def test_a_proxy_that_is_not_listed_is_nobody_either() -> None:
    assert not client_of(connection("192.0.2.1", ("X-Forwarded-For", "1.2.3.4")), PROXIES).known
    assert not client_of(connection("192.0.2.1", ("Forwarded", "for=1.2.3.4")), Networks([])).known
    assert not client_of(connection("192.0.2.1", http_version="1.0"), Networks([])).known
    assert client_of(connection("192.0.2.1"), PROXIES).known
    assert client_of(connection("::ffff:192.0.2.1"), Networks([])).address == "192.0.2.1"
    assert not client_of(connection("::ffff:10.0.0.1"), PROXIES).known, "it is the proxy, in other words"


@pytest.mark.parametrize(
    ("hop", "address"),
    [
        (" 192.0.2.7 ", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::1"),
        ('"[::1]"', "::1"),
        ("[::1", None),
        ("192.0.2.7.1:80", None),
        ("_obfuscated", None),
        ("localhost", None),
    ],
)
def test_hops_are_read_in_every_notation(hop: str, address: str | None) -> None:
    assert address_of(hop) == address


@given(st.text(max_size=200))
def test_no_header_brings_it_down(text: str) -> None:
    value = text.encode("utf-8", "replace").decode("latin-1")
    for name in ("forwarded", "x-forwarded-for"):
        client = client_of(connection(PROXY, (name, value)), PROXIES)
        assert not client.known or parse(client.address.partition("/")[0])


@pytest.mark.parametrize("header", ["forwarded", "x-forwarded-for"])
@pytest.mark.parametrize("piece", ['\\"', '.\\"', ';"', "1.", ","])
def test_time_grows_with_the_header_and_not_with_its_square(header: str, piece: str) -> None:
    """60 KB of quotation marks that never end once took half a minute, in which nobody else was answered."""

    def seconds(count: int) -> float:
        sent = connection(PROXY, (header, piece * count))
        began = time.thread_time()
        client_of(sent, PROXIES)
        return time.thread_time() - began

    short = min(seconds(500) for _ in range(3))
    assert min(seconds(6_000) for _ in range(3)) < 36 * short + 0.01


def test_a_quotation_without_end_hides_no_address() -> None:
    sent = connection(PROXY, ("Forwarded", 'for="1.1.1.1'), ("Forwarded", "for=192.0.2.7"))
    assert client_of(sent, PROXIES).address == "192.0.2.7"


def test_scoped_addresses_are_of_one_network() -> None:
    assert network("fe80::1%eth0") == network("fe80::2%eth1") == "fe80::/64"
