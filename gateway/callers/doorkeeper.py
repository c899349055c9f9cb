"""Which of the service's secrets a request shows, and what becomes of who guesses.

Secrets are looked up by their SHA-256, so how long it takes says nothing about how much of a guess was right.
A wrong one is counted against its address (`sockets/guesses.py`) and logged without the secret.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import structlog
from pydantic import SecretStr
from starlette.requests import HTTPConnection

from gateway.edge.paths import told_path
from gateway.errors import ApiError
from gateway.settings import GatewaySettings
from gateway.settings.callers import ApiKey
from sockets.guesses import Guesses

logger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Credential:
    """A secret that is one of ours."""

    kind: Literal["key", "admin", "worker", "metrics"]
    name: str = ""
    """The name of the key; empty for a secret that several share."""
    key: ApiKey | None = None


class Doorkeeper:
    """Knows all secrets of one gateway."""

    def __init__(self, settings: GatewaySettings, admin_token: str | None) -> None:
        self._known: dict[str, Credential] = {}
        self._learn(settings.metrics_token, "metrics")
        self._learn(settings.worker_secret, "worker")
        for worker_id, secret in settings.worker_secrets.items():
            self._learn(secret, "worker", worker_id)
        self._learn(SecretStr(admin_token) if admin_token else None, "admin")
        for name, key in settings.api_keys.items():
            self._known[key.digest] = Credential("key", name, key)
        self._guesses = Guesses()

    def _learn(
        self, secret: SecretStr | None, kind: Literal["admin", "worker", "metrics"], name: str = ""
    ) -> None:
        if secret is not None:
            digest = hashlib.sha256(secret.get_secret_value().encode()).hexdigest()
            self._known[digest] = Credential(kind, name)

    def look(self, connection: HTTPConnection, address: str, given: str) -> Credential | None:
        """Whose secret it is; None for nobody's. Raises ApiError 429 when `address` has guessed too often."""
        digest = hashlib.sha256(given.encode("utf-8", "surrogateescape"))
        wait_seconds = self._guesses.wait_seconds(address, digest.digest())
        if wait_seconds:
            message = "too many wrong secrets came from this address"
            raise ApiError(429, "too_many_guesses", message, retry_after_seconds=wait_seconds)
        found = self._known.get(digest.hexdigest())
        if self._guesses.compared(address, digest.digest(), found is not None):
            logger.warning("wrong secret", address=address, path=told_path(connection.scope["path"]))
        return found
