"""Who a client is, and what follows from it: its turn, its class, its limits, its tickets."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import ValidationError
from starlette.requests import HTTPConnection

from gateway.app import create_app
from gateway.callers.identity import Callers
from gateway.callers.software import software_of
from gateway.errors import ApiError
from gateway.requests import TtsRequest, expected_audio_seconds
from gateway.settings import load_settings
from gateway.slots.line.standing import Priority, Standing
from gateway.slots.requirement import Requirement
from tests.gateway.stages.fleet import status

ACME, LIMITED = "acme-0123456789abcdef", "limited-0123456789ab"
KEYS = {
    "acme": {"key": ACME},
    "limited": {
        "key": "sha256:" + hashlib.sha256(LIMITED.encode()).hexdigest(),
        "priority": "bulk",
        "weight": 2,
        "max_streams": 3,
    },
}


def connection(peer: str = "10.0.0.7", subprotocols: tuple[str, ...] = (), **headers: str) -> HTTPConnection:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "websocket", "path": "/ws/tts", "client": (peer, 5), "headers": raw}
    return HTTPConnection(scope | {"subprotocols": list(subprotocols)})


def callers(**options: Any) -> Callers:
    return Callers(load_settings(**options))


def order(**fields: Any) -> TtsRequest:
    return TtsRequest(text="Hello there.", **fields)


@pytest.mark.parametrize(
    "sent",
    [
        connection(authorization=f"Bearer {ACME}"),
        connection(authorization=f"bearer  {ACME} "),
        connection(x_api_key=ACME),
        connection(subprotocols=("voxfleet", f"voxfleet.key.{ACME}")),
        connection(subprotocols=("token", ACME)),
    ],
)
def test_a_key_names_its_client_wherever_it_comes_from(sent: HTTPConnection) -> None:
    assert callers(api_keys=KEYS).identify(sent).tenant == "key:acme"


def test_a_key_that_is_no_token_comes_encoded_from_browsers() -> None:
    key = 'of a shop/1+2=?, "one"'
    known = callers(api_keys={"shop": {"key": key}})
    encoded = base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")
    sent = connection(subprotocols=("voxfleet", f"voxfleet.key64.{encoded}"))
    assert known.identify(sent).tenant == "key:shop"
    for wrong in ("a", "\xff!", "_____w"):
        with pytest.raises(ApiError, match="there is no such API key"):
            known.identify(connection(subprotocols=("voxfleet", f"voxfleet.key64.{wrong}")))


def test_a_key_may_be_configured_by_its_digest_and_brings_its_limits() -> None:
    caller = callers(api_keys=KEYS).identify(connection(x_api_key=LIMITED))
    assert (caller.tenant, caller.highest) == ("key:limited", Priority.BULK)
    assert (caller.weight, caller.max_streams) == (2, 3)


@pytest.mark.parametrize("key", ["nobody-0123456789abcdef", ACME[:-1], "", hashlib.sha256(b"x").hexdigest()])
def test_an_unknown_key_is_refused_and_not_treated_as_none(key: str) -> None:
    with pytest.raises(ApiError) as refused:
        callers(api_keys=KEYS).identify(connection(authorization=f"Bearer {key or '?'}"))
    assert (refused.value.status_code, refused.value.code) == (401, "invalid_api_key")


def test_without_keys_configured_a_key_means_nothing() -> None:
    assert callers().identify(connection(authorization="Bearer sk-anything")).tenant == "10.0.0.7"


def test_clients_without_a_key_can_be_kept_out() -> None:
    with pytest.raises(ApiError) as refused:
        callers(api_keys=KEYS, anonymous=False).identify(connection())
    assert (refused.value.status_code, refused.value.code) == (401, "api_key_required")


def test_the_admin_token_is_a_key_of_its_own() -> None:
    known = callers(api_keys=KEYS, admin_token="administrators-token")
    caller = known.identify(connection(authorization="Bearer administrators-token"))
    assert (caller.tenant, caller.highest) == ("admin", Priority.INTERACTIVE)


@pytest.mark.parametrize(
    ("peer", "forwarded", "tenant"),
    [
        ("10.0.0.7", "", "10.0.0.7"),
        ("2001:db8:1:2:3::4", "", "2001:db8:1:2::/64"),
        ("::ffff:10.0.0.7", "", "10.0.0.7"),
        ("10.0.0.7", "1.2.3.4", "10.0.0.7"),
        ("192.168.1.5", "1.2.3.4", "1.2.3.4"),
        ("192.168.1.5", "6.6.6.6, 1.2.3.4", "1.2.3.4"),
        ("192.168.1.5", "6.6.6.6, 192.168.9.9", "6.6.6.6"),
        ("192.168.1.5", "rubbish", "192.168.1.5"),
    ],
)
def test_an_address_is_one_client_and_only_trusted_proxies_are_believed(
    peer: str, forwarded: str, tenant: str
) -> None:
    known = callers(trusted_proxies="192.168.0.0/16")
    assert known.identify(connection(peer, x_forwarded_for=forwarded)).tenant == tenant


@pytest.mark.parametrize("sent", [("6.6.6.6", "1.2.3.4"), ("6.6.6.6, 7.7.7.7", "1.2.3.4, 192.168.9.9")])
def test_a_proxy_that_adds_a_header_of_its_own_is_believed_and_not_its_client(sent: tuple[str, str]) -> None:
    raw = [(b"x-forwarded-for", value.encode()) for value in sent]
    behind = HTTPConnection({"type": "http", "client": ("192.168.1.5", 5), "headers": raw})
    assert callers(trusted_proxies="192.168.0.0/16").identify(behind).tenant == "1.2.3.4"


@pytest.mark.parametrize(
    ("highest", "asked", "got"),
    [
        ("interactive", None, "default"),
        ("interactive", "interactive", "interactive"),
        ("interactive", "bulk", "bulk"),
        ("default", None, "default"),
        ("default", "bulk", "bulk"),
        ("bulk", None, "bulk"),
        ("bulk", "bulk", "bulk"),
        ("default", "interactive", None),
        ("bulk", "default", None),
    ],
)
def test_a_client_may_step_back_but_not_ahead_of_its_class(highest: str, asked: str, got: str) -> None:
    caller = callers(anonymous_priority=highest).identify(connection())
    if got is not None:
        assert caller.standing(order(priority=asked)).priority == got
        return
    with pytest.raises(ApiError) as refused:
        caller.standing(order(priority=asked))
    assert (refused.value.status_code, refused.value.param) == (403, "priority")


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"text": "x" * 150}, 10.0),
        ({"text": "x"}, 0.5),
        ({"text": "x", "min_seconds": 4.0}, 4.0),
        ({"text": "x" * 150, "max_seconds": 2.0}, 2.0),
    ],
)
def test_the_expected_length_follows_the_text_and_its_limits(fields: dict[str, Any], seconds: float) -> None:
    assert expected_audio_seconds(TtsRequest(**fields)) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "options",
    [
        {"api_keys": {"a": {"key": "short"}}},
        {"api_keys": {"a": {"key": "sha256:not-a-digest-at-all"}}},
        {"api_keys": {"a": {"key": ACME}, "b": {"key": ACME}}},
        {"api_keys": {"a": {"key": ACME, "priority": "urgent"}}},
        {"api_keys": {"a": {"key": ACME, "colour": "red"}}},
        {"trusted_proxies": "everybody"},
    ],
)
def test_wrong_keys_and_proxies_are_fatal(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        load_settings(**options)


def test_keys_do_not_show_in_settings() -> None:
    settings = load_settings(api_keys=KEYS)
    assert ACME not in repr(settings)
    assert ACME not in settings.model_dump_json()


# ----------------------------------------------------------------------------------- tickets and owners


def client_at(app: FastAPI, peer: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, client=(peer, 50000))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


async def ask_about(app: FastAPI, ticket_id: str, peer: str, **headers: str) -> httpx.Response:
    async with client_at(app, peer) as client:
        return await client.get(f"/api/queue/{ticket_id}", headers=headers)


async def cancel(app: FastAPI, ticket_id: str, peer: str, **headers: str) -> httpx.Response:
    async with client_at(app, peer) as client:
        return await client.delete(f"/api/queue/{ticket_id}", headers=headers)


def serving_app(**options: Any) -> FastAPI:
    """Of a gateway that believes in a worker with one slot."""
    app = create_app(load_settings(worker_urls="http://127.0.0.1:9", **options))
    pool = app.state.gateway.pool
    pool.reports.answered(next(iter(pool.workers.values())), status())
    return app


@pytest.mark.parametrize(
    ("tenant", "headers"),
    [
        ("10.0.0.7", {}),
        ("key:acme", {"X-API-Key": ACME}),
        ("10.9.9.9", {"X-Admin-Token": "the-administrators"}),
    ],
)
async def test_its_client_and_an_administrator_may_cancel_a_ticket(tenant: str, headers: dict) -> None:
    app = serving_app(api_keys=KEYS, admin_token="the-administrators")
    pool = app.state.gateway.pool
    with pool.admit("r", Requirement(), standing=Standing(tenant)) as ticket:
        response = await cancel(app, ticket.id, "10.0.0.7", **headers)
        assert response.status_code == 200
        assert ticket.ended_by.code == "cancelled"


@pytest.mark.parametrize(
    ("tenant", "headers"),
    [
        ("10.0.0.7", {}),
        ("key:acme", {"X-API-Key": ACME}),
        ("10.9.9.9", {"X-Admin-Token": "the-administrators"}),
    ],
)
async def test_its_client_and_an_administrator_hear_how_a_ticket_stands(tenant: str, headers: dict) -> None:
    app = serving_app(api_keys=KEYS, admin_token="the-administrators")
    pool, standing = app.state.gateway.pool, Standing(tenant)
    with pool.admit("r1", Requirement(), standing=standing) as one:
        with pool.admit("r2", Requirement(), standing=standing) as other:
            for ticket, state, position in ((one, "running", None), (other, "queued", 1)):
                told = (await ask_about(app, ticket.id, "10.0.0.7", **headers)).json()
                assert (told["ticket_id"], told["state"], told["position"]) == (ticket.id, state, position)
                assert (told["eta_seconds"] is None) is (position is None)
        gone = await ask_about(app, other.id, "10.0.0.7", **headers)
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "unknown_ticket")


@pytest.mark.parametrize("call", [ask_about, cancel])
@pytest.mark.parametrize(
    ("headers", "status_code"),
    [
        ({}, 404),
        ({"X-API-Key": LIMITED}, 404),
        ({"X-Forwarded-For": "10.0.0.8"}, 404),
        ({"Origin": "http://evil.example", "X-API-Key": ACME}, 404),
        ({"X-API-Key": "nobody-0123456789abcdef"}, 401),
        ({"X-Admin-Token": "not-the-administrators"}, 401),
    ],
)
async def test_for_others_there_is_no_such_ticket(headers: dict, status_code: int, call: Any) -> None:
    app = serving_app(api_keys=KEYS, admin_token="the-administrators")
    with app.state.gateway.pool.admit("r", Requirement(), standing=Standing("key:acme")) as ticket:
        answers = [await call(app, id, "10.0.0.7", **headers) for id in (ticket.id, "q_none")]
        assert [answer.status_code for answer in answers] == [status_code, status_code]
        assert answers[0].text.replace(ticket.id, "q_none") == answers[1].text
        assert ticket.ended_by is None


async def test_of_a_request_that_has_ended_its_client_hears_that_there_is_none() -> None:
    app = serving_app(api_keys=KEYS, admin_token="the-administrators")
    with app.state.gateway.pool.admit("r", Requirement(), standing=Standing("key:acme")) as ticket:
        pass
    for call in (ask_about, cancel):
        answer = await call(app, ticket.id, "10.0.0.7", **{"X-API-Key": ACME})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_ticket")


@pytest.mark.parametrize(
    ("headers", "cancelled"),
    [({"X-Admin-Token": "the-administrators"}, 2), ({"X-API-Key": ACME}, 0), ({}, 0)],
)
async def test_an_administrator_cancels_several_at_once(headers: dict, cancelled: int) -> None:
    app = serving_app(api_keys=KEYS, admin_token="the-administrators")
    pool = app.state.gateway.pool
    with (
        pool.admit("a", Requirement(), standing=Standing("key:acme")) as first,
        pool.admit("b", Requirement()) as second,
        pool.admit("c", Requirement()) as third,
    ):
        chosen = {"tickets": [first.id, "q_none", second.id, first.id]}
        async with client_at(app, "10.0.0.7") as client:
            response = await client.post("/api/queue/cancel", json=chosen, headers=headers)
            refused = await client.post("/api/queue/cancel", json={"tickets": ["q"] * 1001}, headers=headers)
        assert response.status_code == (200 if cancelled else 401)
        assert sum(ticket.ended_by is not None for ticket in (first, second, third)) == cancelled
        assert third.ended_by is None
        assert refused.status_code == (422 if cancelled else 401)
        if cancelled:
            assert response.json() == {"cancelled": [first.id, second.id]}


@pytest.mark.parametrize(
    ("header", "software"),
    [
        ("OpenAI/Python 1.99.1", "OpenAI/Python 1.99.1"),
        ("python-httpx/0.28.1", "python-httpx 0.28.1"),
        ("curl/8.5.0", "curl 8.5.0"),
        ("Mozilla/5.0 (X11; Linux x86_64) Chrome/126.0.0.0 Safari/537.36", "Chrome 126"),
        ("Mozilla/5.0 (Windows) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.1", "Edge 126"),
        ("Mozilla/5.0 (X11; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox 128"),
        ("Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 Version/17.5 Safari/605.1.15", "Safari 17"),
        ("Mozilla/5.0 (a key: sk-0123456789abcdef)", ""),
        ("sk-0123456789abcdef", ""),
        ("shop/sk-0123456789abcdef", ""),
        ("shop/1.0-0123456789abcdef", ""),
        ("<img src=x onerror=alert(1)>/1.0", ""),
        ("x" * 10_000 + "/1.0", ""),
        ("", ""),
    ],
)
def test_of_a_clients_software_a_name_and_a_version_are_told(header: str, software: str) -> None:
    assert software_of(header) == software
