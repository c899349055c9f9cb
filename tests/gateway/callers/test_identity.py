"""Who a client is, and what follows from it: its turn, its class, its limits."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from pydantic import ValidationError
from starlette.requests import HTTPConnection

from gateway.callers.identity import Callers
from gateway.errors import ApiError
from gateway.requests import TtsRequest, expected_audio_seconds
from gateway.settings import load_settings
from gateway.slots.line.standing import Priority
from tests.gateway.callers.keys import ACME, KEYS, LIMITED


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
