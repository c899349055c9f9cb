"""Who sees a session, who changes it, and who else is shown it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.sessions.clients import ADMIN, PCM, Clients, running
from tests.gateway.stages.processes import check_error


async def test_one_sees_ones_own_and_an_administrator_sees_all(clients: Clients) -> None:
    mine = [await clients.record("10.0.0.1", f"Number {number}.") for number in range(3)]
    yours = await clients.record("10.0.0.2")
    async with clients.at("10.0.0.1") as me:
        first = (await me.get("/api/sessions", params={"limit": 2})).json()
        rest = (await me.get("/api/sessions", params={"limit": 2, "before": first["next_before"]})).json()
        listed = first["sessions"] + rest["sessions"]
        assert [session["id"] for session in listed] == mine[::-1] and rest["next_before"] is None
        assert [session["title"] for session in listed] == ["Number 2.", "Number 1.", "Number 0."]
        assert all(session["owner_is_me"] and "owner" not in session for session in listed)
        check_error(await me.get("/api/sessions?all=true"), 401)
        everybody = (await me.get("/api/sessions?all=true", headers=ADMIN)).json()["sessions"]
    assert {session["id"]: session["owner"] for session in everybody} == {
        yours: "10.0.0.2", **dict.fromkeys(mine, "10.0.0.1"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("GET", "/audio", None),
        ("GET", "/audio/0", None),
        ("GET", "/download", None),
        ("GET", "/words.srt", None),
        ("PATCH", "", {"title": "Taken over"}),
        ("POST", "/share", None),
        ("DELETE", "/share", None),
        ("DELETE", "", None),
    ],
)
async def test_a_session_is_its_owners_and_the_administrators(
    clients: Clients, method: str, path: str, body: Any
) -> None:
    session_id = await clients.record("10.0.0.1")
    shared_only = {"key": (await clients.gateway.recorder.index.share(session_id)).share_key}
    url = f"/api/sessions/{session_id}{path}"
    async with clients.at("10.0.0.2") as stranger:
        assert check_error(await stranger.request(method, url, json=body), 404)["code"] == "unknown_session"
        check_error(await stranger.request(method, url, json=body, params={"key": "guess"}), 404)
        by_key = await stranger.request(method, url, json=body, params=shared_only)
        assert by_key.status_code == (200 if method == "GET" else 404)
        assert (await stranger.request(method, url, json=body, headers=ADMIN)).is_success
    async with clients.at("10.0.0.1") as owner:
        gone = method == "DELETE" and not path
        answer = await owner.request(method, url, json=body)
        assert answer.status_code == 404 if gone else answer.is_success


async def test_a_share_key_opens_one_session_for_anybody_and_can_be_taken_back(tmp_path: Path) -> None:
    key = "acme-0123456789abcdef"
    async with running(tmp_path, api_keys={"acme": {"key": key}}, anonymous=False) as clients:
        mine, other = [await clients.record("key:acme") for _ in range(2)]
        async with (
            clients.at("10.0.0.1", headers={"X-API-Key": key}) as owner,
            clients.at("10.9.9.9") as guest,
        ):
            check_error(await guest.get(f"/api/sessions/{mine}"), 401)
            shared = (await owner.post(f"/api/sessions/{mine}/share")).json()
            assert shared["url"] == f"/sessions/{mine}?key={shared['share_key']}"
            seen = (await guest.get(f"/api/sessions/{mine}", params={"key": shared["share_key"]})).json()
            assert seen["session"]["owner_is_me"] is False and seen["session"]["share_key"] is None
            check_error(await guest.get(f"/api/sessions/{other}", params={"key": shared["share_key"]}), 401)
            assert (await owner.get(f"/api/sessions/{mine}")).json()["session"]["share_key"] is not None
            assert (await owner.delete(f"/api/sessions/{mine}/share")).status_code == 204
            check_error(await guest.get(f"/api/sessions/{mine}", params={"key": shared["share_key"]}), 401)


async def test_behind_a_proxy_nobody_sees_the_sessions_of_all_its_clients(tmp_path: Path) -> None:
    forwarded = {"X-Forwarded-For": "203.0.113.5"}
    async with running(tmp_path) as clients:
        session_id = await clients.record("10.0.0.1")
        async with clients.at("10.0.0.1", headers=forwarded) as proxy:
            for path in ("", f"/{session_id}", f"/{session_id}/audio"):
                refused = check_error(await proxy.get(f"/api/sessions{path}"), 403)
                assert refused["code"] == "client_unknown"
            assert (await proxy.get(f"/api/sessions/{session_id}", headers=ADMIN)).is_success
    async with running(tmp_path / "trusted", trusted_proxies="10.0.0.1") as clients:
        session_id = await clients.record("203.0.113.5")
        async with clients.at("10.0.0.1", headers=forwarded) as proxy:
            assert (await proxy.get(f"/api/sessions/{session_id}")).is_success


async def test_pages_of_other_sites_change_nothing(clients: Clients) -> None:
    session_id = await clients.record("10.0.0.1")
    url = f"/api/sessions/{session_id}"
    foreign = {"Origin": "https://evil.example"}
    async with clients.at("10.0.0.1") as me:
        for method, path in (("PATCH", ""), ("POST", "/share"), ("DELETE", "/share"), ("DELETE", "")):
            answer = await me.request(method, url + path, json={"title": "x"}, headers=foreign)
            assert check_error(answer, 403)["code"] == "cross_site"
        assert (await me.get(url)).json()["session"]["title"] == "Hello there."


async def test_storage_is_the_administrators(clients: Clients) -> None:
    await clients.record("10.0.0.1")
    async with clients.at("10.0.0.1") as me:
        check_error(await me.get("/api/sessions/storage"), 401)
        stored = (await me.get("/api/sessions/storage", headers=ADMIN)).json()
    assert (stored["count"], stored["active"], stored["record_sessions"]) == (1, 0, "ask")
    assert stored["bytes"] > len(PCM)
    assert stored["largest_owner_bytes"] == stored["bytes"]
    assert stored["voices_bytes"] == 0 < stored["free_bytes"]
    assert stored["limits"] == {
        "max_storage_gb": 20,
        "max_owner_gb": 5,
        "min_free_disk_gb": 1,
        "retention_days": 90,
    }
