"""Kinds of values that several settings have."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

from sockets.guesses import check_secret
from telemetry.settings import split_commas

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@\"'\[\]]+|https?://\[[0-9a-f:.]+\](:\d+)?")


def _as_networks(networks: list[str]) -> list[str]:
    return [str(ipaddress.ip_network(network, strict=False)) for network in networks]


def _as_origin(text: str) -> str:
    """As browsers send it. Raises ValueError for what none sends, such as the address of a page."""
    origin = text.removesuffix("/").lower()
    if origin not in ("*", "null") and not _ORIGIN.fullmatch(origin):
        raise ValueError(f"{text!r} is no origin such as https://example.org")
    return origin


def _as_origins(origins: list[str]) -> list[str]:
    return [_as_origin(origin) for origin in origins]


def _sendable(secret: SecretStr) -> SecretStr:
    """Raises ValueError for what clients put into a header in different bytes, or not at all."""
    value = secret.get_secret_value()
    if not (value.isascii() and value.isprintable()):
        raise ValueError("what is sent in a header has printable ASCII characters only")
    return secret


def _hard_to_guess(secret: SecretStr | None) -> SecretStr | None:
    if secret is not None and secret.get_secret_value():
        check_secret(secret.get_secret_value())
    return secret


def empty_is_none(secret: SecretStr | None) -> SecretStr | None:
    """An empty variable of the environment is none."""
    return secret if secret is not None and secret.get_secret_value() else None


def off_is_a_word(value: Any) -> Any:
    """YAML reads it as false."""
    return "off" if value is False else value


Seconds = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
"""Thirty years at most: timers of the system know no longer ones."""
Bytes = Annotated[int, Field(gt=0)]
CommaList = Annotated[list[str], NoDecode, BeforeValidator(split_commas)]
Origins = Annotated[CommaList, AfterValidator(_as_origins)]
Networks = Annotated[CommaList, AfterValidator(_as_networks)]
HeaderSecret = Annotated[SecretStr, AfterValidator(_sendable)]
OptionalHeaderSecret = Annotated[
    HeaderSecret | None, AfterValidator(_hard_to_guess), AfterValidator(empty_is_none)
]
OptionalSecret = Annotated[SecretStr | None, AfterValidator(_hard_to_guess), AfterValidator(empty_is_none)]
