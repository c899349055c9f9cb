"""Who may use the service, and who operates it."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from gateway.settings.kinds import HeaderSecret, OptionalHeaderSecret
from gateway.slots.line.standing import Priority
from sockets.guesses import check_secret

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class ApiKey(BaseModel):
    """One entry of `api_keys`: a client that is known by name."""

    model_config = ConfigDict(extra="forbid")

    key: HeaderSecret
    """The key itself, or `sha256:` and the hexadecimal digest of it."""
    priority: Priority = Priority.INTERACTIVE
    """The highest class that its requests may ask for."""
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Its share of the audio when there is not enough for all, against 1 of everybody else."""
    max_streams: Annotated[int, Field(ge=0)] = 0
    """Requests it may have at once, waiting ones included; 0: any number."""

    @field_validator("key", mode="after")
    @classmethod
    def _hard_to_guess(cls, key: SecretStr) -> SecretStr:
        value = key.get_secret_value()
        if not value.startswith("sha256:"):
            check_secret(value)
        elif not _DIGEST.fullmatch(value):
            raise ValueError("sha256: must be followed by 64 hexadecimal digits")
        return key

    @property
    def digest(self) -> str:
        """SHA-256 of the key, hexadecimal."""
        value = self.key.get_secret_value()
        if value.startswith("sha256:"):
            return value.removeprefix("sha256:")
        return hashlib.sha256(value.encode()).hexdigest()


class CallerSettings(BaseModel):
    """Who may use the service, and who operates it."""

    api_keys: dict[str, ApiKey] = Field(default_factory=dict)
    """Clients known by name: `{name: {key, priority, weight, max_streams}}`, in the environment as JSON."""
    anonymous: bool = True
    """Serve clients without an API key too, each address being one client."""
    anonymous_priority: Priority = Priority.DEFAULT
    """The highest class that requests without a key may ask for."""
    anonymous_max_streams: Annotated[int, Field(ge=0)] = 0
    """Requests that one address may have at once without a key, waiting ones included; 0: any number."""
    admin_token: OptionalHeaderSecret = None
    """What the admin API asks for. None: a token that is made at the first start and kept in `data_dir`."""
    metrics_token: OptionalHeaderSecret = None
    """What /metrics asks for; the admin token opens it too."""
    expose_metrics: bool = False
    """Serve /metrics to everybody."""

    @field_validator("api_keys", mode="after")
    @classmethod
    def _distinct_keys(cls, keys: dict[str, ApiKey]) -> dict[str, ApiKey]:
        if len({key.digest for key in keys.values()}) != len(keys):
            raise ValueError("two names have the same key")
        return keys
