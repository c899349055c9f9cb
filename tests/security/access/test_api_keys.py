"""S1: an API key is in no file and no log, is never taken from an address, and is looked up by its digest."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path

import pytest

from gateway.callers.doorkeeper import Doorkeeper
from gateway.settings import load_settings
from tests.gateway.stages.processes import StartFleet
from tests.security.apps import running_app
from tests.security.raw import NOWHERE

KEY = "the-key-of-somebody-who-pays-for-it"
DIGEST = hashlib.sha256(KEY.encode()).hexdigest()


@pytest.mark.parametrize("configured", [KEY, f"sha256:{DIGEST}"])
async def test_a_key_opens_and_its_like_does_not(configured: str, tmp_path: Path) -> None:
    keys = {"acme": {"key": configured}}
    async with running_app(tmp_path, api_keys=keys, anonymous=False) as (_, opened):
        async with opened() as http:
            for header, value in (("Authorization", f"Bearer {KEY}"), ("X-API-Key", KEY)):
                assert (await http.get("/api/sessions", headers={header: value})).status_code == 200
            for like in (KEY[:-1], f"{KEY}x", KEY.upper(), f"sha256:{DIGEST}", DIGEST):
                assert (await http.get("/api/sessions", headers={"X-API-Key": like})).status_code == 401


async def test_a_key_in_an_address_or_a_cookie_is_not_looked_at(tmp_path: Path) -> None:
    async with running_app(tmp_path, api_keys={"acme": {"key": KEY}}, anonymous=False) as (_, opened):
        async with opened() as http:
            for query in ("key", "api_key", "token", "access_token"):
                assert (await http.get("/api/sessions", params={query: KEY})).status_code == 401
            assert (await http.get("/api/sessions", headers={"Cookie": f"key={KEY}"})).status_code == 401


async def test_cookies_are_not_even_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading 60 KB of backslashes takes four seconds, in which nobody else is answered."""
    read: list[str] = []
    monkeypatch.setattr("starlette.requests.cookie_parser", lambda cookies: {"read": read.append(cookies)})
    async with running_app(tmp_path) as (_, opened), opened(Cookie=r'a="\\\\"') as http:
        for path in ("/", "/health", "/api/voices"):
            assert (await http.get(path)).status_code == 200
    assert not read


async def test_a_key_that_was_taken_away_opens_nothing(tmp_path: Path) -> None:
    headers = {"X-API-Key": KEY}
    async with running_app(tmp_path, api_keys={"acme": {"key": KEY}}) as (_, opened), opened() as http:
        assert (await http.get("/api/sessions", headers=headers)).status_code == 200
    others = {"other": {"key": "the-key-of-somebody-else-altogether"}}
    async with running_app(tmp_path, api_keys=others) as (_, opened), opened() as http:
        assert (await http.get("/api/sessions", headers=headers)).status_code == 401


def test_what_is_compared_is_a_digest() -> None:
    """Which takes as long for any guess: nothing of the key itself is held."""
    doorkeeper = Doorkeeper(load_settings(api_keys={"acme": {"key": KEY}}), "the-token-of-administrators")
    assert DIGEST in doorkeeper._known and KEY not in doorkeeper._known
    assert all(len(bytes.fromhex(known)) == 32 for known in doorkeeper._known)


def test_a_key_that_was_used_is_in_no_file_and_no_log(start: StartFleet, tmp_path: Path) -> None:
    keys = json.dumps({"acme": {"key": KEY}})
    gateway = start.gateway(NOWHERE, api_keys=keys, anonymous=False, data_dir=tmp_path, log_level="debug")

    async def use() -> None:
        async with gateway.http(headers={"Authorization": f"Bearer {KEY}"}) as http:
            assert (await http.get("/api/sessions")).status_code == 200
            assert (await http.post("/tts", json={"text": "Hello."})).status_code == 503
            assert (await http.post("/tts", json={"text": "Hello.", "key": KEY})).status_code == 422
            assert (await http.get(f"/nowhere/{KEY}", params={"key": KEY})).status_code == 404
            metrics = (await http.get("/metrics")).text
        assert KEY not in metrics

    asyncio.run(use())
    gateway.terminate()
    assert KEY not in "".join(gateway.log)
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert kept and not [path.name for path in kept if KEY.encode() in path.read_bytes()]
