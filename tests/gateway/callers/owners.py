"""Two clients with keys of their own, who make voices and adapters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.gateway.stages.processes import GatewayProcess

KEYS = {"ann": "the key of ann, long", "bob": "the key of bob, long"}
API_KEYS = json.dumps({name: {"key": key} for name, key in KEYS.items()})
"""The setting."""


def client(gateway: GatewayProcess, key: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=gateway.url, headers=headers, timeout=60, trust_env=False)


@contextmanager
def owner(gateway: GatewayProcess, name: str, kind: str) -> Iterator[httpx.Client]:
    """A client whose "voices" or "adapters" are deleted at the end of the block."""
    with client(gateway, KEYS[name]) as opened:
        yield opened
        for row in opened.get(f"/api/{kind}").json()[kind]:
            if row["owner_is_me"]:
                assert opened.delete(f"/api/{kind}/{row['id']}").status_code == 200
