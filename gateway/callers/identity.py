"""Who sends a request, and what that entitles it to.

With an API key (`Authorization: Bearer KEY`, `X-API-Key: KEY`, or what clients of other services send; for
browsers' WebSockets the subprotocols `voxfleet.key.KEY`, `voxfleet.key64.BASE64URL` for a key that is no
token of HTTP, or, as Deepgram's clients do it, `token` and KEY) a caller is the key's name; without one it
is its address, an IPv6 client its /64 network. Callers take turns (`gateway/slots/line/fairness.py`), may
have so many requests at once, and may ask for classes up to their own: anybody may step back to bulk, and
interactive is for keys that say so.

A gateway without keys looks at no key, since clients made for other services always send one.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from gateway.callers.doorkeeper import Credential, Doorkeeper
from gateway.callers.forwarded import Client, client_of
from gateway.callers.software import software_of
from gateway.edge.addresses import Networks
from gateway.errors import ApiError
from gateway.requests import TtsRequest, expected_audio_seconds
from gateway.settings import GatewaySettings
from gateway.slots.line.standing import Priority, Standing

SUBPROTOCOL = "voxfleet"
"""What a WebSocket client offers beside its key, and gets back."""
_KEY_PREFIX = "voxfleet.key."
_ENCODED_KEY_PREFIX = "voxfleet.key64."
_SCHEMES = ("bearer", "token")
ANSWERED_SUBPROTOCOLS = (SUBPROTOCOL, *_SCHEMES)
"""What is accepted of those that a client offers: never its key."""
_KEY_HEADERS = ("x-api-key", "api-key", "xi-api-key", "x-vapi-secret")
"""Ours and Cartesia's, Azure's, ElevenLabs', Vapi's."""
ADMINISTRATOR = "admin"
"""The tenant of who shows the admin token."""


@dataclass(frozen=True)
class Caller:
    """The sender of a request."""

    tenant: str
    highest: Priority
    weight: float = 1.0
    max_streams: int = 0
    software: str = ""
    """What it runs, for operators to read."""

    def standing(self, request: TtsRequest) -> Standing:
        """The place in line that a clip gets. Raises ApiError when it asks for too high a class."""
        return self.standing_for(request.priority, expected_audio_seconds(request), Priority.DEFAULT)

    def standing_for(self, asked: str | None, expected_seconds: float, otherwise: Priority) -> Standing:
        """The place in line for so many seconds of audio. Raises ApiError when `asked` is too high a class.

        `otherwise`: the class of who asks for none, as far as the caller may have it.
        """
        priority = Priority(asked or otherwise)
        if priority.exceeds(self.highest):
            if asked is not None:
                message = f"this client may ask for {self.highest} at most"
                raise ApiError(403, "priority_not_allowed", message, param="priority")
            priority = self.highest
        return Standing(self.tenant, priority, expected_seconds, self.weight, self.max_streams, self.software)


class Callers:
    """Finds out who sends a request."""

    def __init__(self, settings: GatewaySettings, admin_token: str | None = None) -> None:
        """`admin_token`: the one that holds where the settings name none."""
        self._settings = settings
        if settings.admin_token is not None:
            admin_token = settings.admin_token.get_secret_value()
        self._doorkeeper = Doorkeeper(settings, admin_token)
        self._proxies = Networks(settings.trusted_proxies)

    def identify(self, connection: HTTPConnection, said: str | None = None) -> Caller:
        """The caller. Raises ApiError: 401 for an unknown key, or none where one is needed; 429.

        `said`: a key that came in another way, for a connection whose head has none.
        """
        caller = self._identify(connection, said)
        return replace(caller, software=software_of(connection.headers.get("user-agent", "")))

    def _identify(self, connection: HTTPConnection, said: str | None) -> Caller:
        settings = self._settings
        key = given_key(connection) or said if settings.api_keys or not settings.anonymous else None
        if key is not None:
            return self._by_key(connection, key)
        if not settings.anonymous:
            raise ApiError(401, "api_key_required", "this service needs an API key")
        return Caller(
            self.client(connection).address,
            settings.anonymous_priority,
            max_streams=settings.anonymous_max_streams,
        )

    def _by_key(self, connection: HTTPConnection, given: str) -> Caller:
        found = self.credential(connection, given)
        if found is not None and found.kind == "key":
            key = found.key
            return Caller(f"key:{found.name}", key.priority, key.weight, key.max_streams)
        if found is not None and found.kind == "admin":
            return Caller(ADMINISTRATOR, Priority.INTERACTIVE)
        raise ApiError(401, "invalid_api_key", "there is no such API key")

    def recall(self, tenant: str) -> Caller:
        """The caller that a tenant was, by its present rights. Raises ApiError 403 for one that has none."""
        kind, _, name = tenant.partition(":")
        if kind == "key" and (key := self._settings.api_keys.get(name)):
            return Caller(tenant, key.priority, key.weight, key.max_streams)
        if tenant == ADMINISTRATOR:
            return Caller(ADMINISTRATOR, Priority.INTERACTIVE)
        if kind == "key" or not self._settings.anonymous:
            raise ApiError(403, "caller_gone", "who asked for this may not use the service any more")
        settings = self._settings
        return Caller(tenant, settings.anonymous_priority, max_streams=settings.anonymous_max_streams)

    def credential(self, connection: HTTPConnection, given: str) -> Credential | None:
        """Which secret of ours was given. Raises ApiError 429 for an address that has guessed too often."""
        return self._doorkeeper.look(connection, self.client(connection).address, given)

    def client(self, connection: HTTPConnection) -> Client:
        """Where a request comes from; behind trusted proxies whom they name."""
        return client_of(connection, self._proxies)


def given_key(connection: HTTPConnection) -> str | None:
    """The API key that came with a request; never one from its address, which ends up in logs."""
    headers: Headers = connection.headers
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() in _SCHEMES and token.strip():
        return token.strip()
    if key := next((headers[name] for name in _KEY_HEADERS if headers.get(name)), None):
        return key
    offered: list[str] = connection.scope.get("subprotocols", [])
    if len(offered) == 2 and offered[0].lower() in _SCHEMES:
        return offered[1]
    return next((key for word in offered if (key := _offered_key(word)) is not None), None)


def _offered_key(word: str) -> str | None:
    if word.startswith(_KEY_PREFIX):
        return word.removeprefix(_KEY_PREFIX)
    if not word.startswith(_ENCODED_KEY_PREFIX):
        return None
    encoded = word.removeprefix(_ENCODED_KEY_PREFIX)
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except ValueError:
        return encoded  # no key of ours: refused as such
