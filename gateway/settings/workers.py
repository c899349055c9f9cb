"""Where workers are, who may be one, and when one counts as down."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator

from gateway.settings.kinds import CommaList, HeaderSecret, Networks, OptionalHeaderSecret, Seconds
from sockets.guesses import check_secret
from worker.protocol import check_base_url

PRIVATE_NETWORKS = ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
"""Loopback, RFC 1918, RFC 4193."""
WORKER_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class FleetSettings(BaseModel):
    """Where workers are, who may be one, and when one counts as down."""

    worker_urls: CommaList = Field(default_factory=list)
    """Base URLs of the workers; a comma-separated string is split."""
    worker_secret: OptionalHeaderSecret = None
    """Sent to workers as a bearer token."""
    worker_secrets: dict[str, HeaderSecret] = Field(default_factory=dict)
    """Secrets of single workers that dial in, `{id: secret}`, in the environment as JSON. Each is good for
    its own id alone, and nothing else is good for that id.
    """
    worker_networks: Networks = Field(default_factory=lambda: list(PRIVATE_NETWORKS))
    """Networks from which workers dial in, and in which the addresses lie that they give: by default loopback
    and private ones.
    """
    connect_timeout_seconds: Seconds = 1.0
    """Bound of opening a connection to a worker."""
    accept_timeout_seconds: Seconds = 2.0
    """Bound of a worker's answer to a request."""
    frame_timeout_seconds: Seconds = 0.5
    """Longest silence between two frames, heartbeats included."""
    stall_timeout_seconds: Seconds = 20.0
    """How long a worker's heartbeats may show an engine that stands still."""
    cancel_timeout_seconds: Seconds = 0.5
    """How long a worker may take to confirm a cancel before its connection is cut."""
    health_interval_seconds: Seconds = 1.0
    health_timeout_seconds: Seconds = 2.0
    health_retry_seconds: Seconds = 0.25
    """Interval of probes to a worker that does not answer or still loads."""
    health_failures_down: Annotated[int, Field(gt=0)] = 3
    """Failed probes in a row after which a suspect worker counts as down."""
    fleet_may_be_empty: bool = False
    """Whoever starts workers, such as KEDA, also has none on purpose, so that is no fault. A controller of
    `voxfleet fleet` reports it by itself.
    """

    @field_validator("worker_urls", mode="after")
    @classmethod
    def _http_urls(cls, urls: list[str]) -> list[str]:
        if number := next((url for url in urls if url.lstrip("-").isdigit()), None):
            raise ValueError(f"expected addresses of workers, not their number, got {number}")
        cleaned = [check_base_url(url if "//" in url else f"http://{url}") for url in urls]
        if len(set(cleaned)) != len(cleaned):
            raise ValueError("a worker is named twice")
        return cleaned

    @field_validator("worker_secrets", mode="after")
    @classmethod
    def _one_secret_per_worker(cls, secrets: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for worker_id, secret in secrets.items():
            if not WORKER_ID.fullmatch(worker_id):
                raise ValueError("the id of a worker has 1 to 64 characters of A-Z, a-z, 0-9, _, . and -")
            check_secret(secret.get_secret_value())
        if len({secret.get_secret_value() for secret in secrets.values()}) != len(secrets):
            raise ValueError("two workers have the same secret")
        return secrets

    @model_validator(mode="after")
    def _no_worker_has_the_shared_secret(self) -> Self:
        shared = self.worker_secret and self.worker_secret.get_secret_value()
        if shared and any(secret.get_secret_value() == shared for secret in self.worker_secrets.values()):
            raise ValueError("worker_secrets: a worker's own secret is the shared worker_secret")
        return self
