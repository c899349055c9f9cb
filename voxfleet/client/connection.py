"""How a client connects: addresses, and the API key with every request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx
from websockets.asyncio.client import connect

from sockets.authorities import authorities

MAX_MESSAGE_BYTES = 16 << 20
SUBPROTOCOL = "voxfleet"
_KEY_PREFIX = "voxfleet.key."


def key_headers(api_key: str | None) -> dict[str, str]:
    """The header that names the caller. Raises ValueError, which does not show the key."""
    if api_key and not (api_key.isascii() and api_key.isprintable()):
        raise ValueError("the API key has characters that no header can carry, such as the end of a line")
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def base_urls(base_url: str | Sequence[str]) -> list[str]:
    """Addresses of gateways, without a slash at their ends. Raises ValueError."""
    urls = [base_url] if isinstance(base_url, str) else list(base_url)
    if not urls or not all(map(_is_address, urls)):
        raise ValueError(f"not the address of a gateway, such as http://127.0.0.1:8006: {base_url!r}")
    return [url.rstrip("/") for url in urls]


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        httpx.URL(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except (ValueError, httpx.InvalidURL):  # a port that is no number, brackets around no address, no host
        return False


class _Connect(connect):
    def process_redirect(self, exc: Exception) -> Exception:
        """None is followed, as none of HTTP is: the key is for the address that was given."""
        return exc


def open_socket(base_url: str, path: str, api_key: str | None, key_in_subprotocol: bool = False) -> connect:
    """A WebSocket to `path`, to be used with `async with`.

    `key_in_subprotocol` sends the key as browsers do, for proxies that take the Authorization header away;
    such a key must be a token in the sense of HTTP.
    """
    options: dict[str, Any] = {"additional_headers": key_headers(api_key)}
    if api_key and key_in_subprotocol:
        options = {"subprotocols": [SUBPROTOCOL, f"{_KEY_PREFIX}{api_key}"]}
    if base_url.startswith("https"):
        options["ssl"] = authorities()
    url = base_url.rstrip("/").replace("http", "ws", 1) + path
    return _Connect(url, max_size=MAX_MESSAGE_BYTES, proxy=None, close_timeout=1, **options)
