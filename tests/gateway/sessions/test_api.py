"""`/api/sessions`: what its owner, an administrator, the holder of a share key and a stranger get."""

from __future__ import annotations

import asyncio
import threading
from typing import Literal

import pytest

from tests.gateway.audio.files import wav_samples
from tests.gateway.sessions.clients import ADMIN, PCM, RATE, SPAN, Clients
from tests.gateway.stages.processes import check_error


async def test_what_it_shows_is_what_was_recorded(clients: Clients) -> None:
    session_id = await clients.record("10.0.0.1", "Hello there.", utterances=2)
    async with clients.at("10.0.0.1") as me:
        shown = (await me.get(f"/api/sessions/{session_id}")).json()
        merged = await me.get(f"/api/sessions/{session_id}/audio")
        part = await me.get(f"/api/sessions/{session_id}/audio", headers={"Range": f"bytes={SPAN}"})
        beyond = await me.get(f"/api/sessions/{session_id}/audio", headers={"Range": "bytes=9999999-"})
        second = await me.get(f"/api/sessions/{session_id}/audio/1")
        check_error(await me.get(f"/api/sessions/{session_id}/audio/2"), 404)
        check_error(await me.get(f"/api/sessions/{session_id}/audio/-1"), 404)
    session, timeline = shown["session"], shown["timeline"]
    assert (session["state"], session["outcome"], session["sample_rate"]) == ("complete", "stop", RATE)
    assert (session["utterances"], session["kind"]) == (2, "live")
    texts = [utterance["text"] for utterance in timeline["utterances"]]
    assert texts == ["Hello there."] * 2
    words = [texts[0][word["start"] : word["end"]] for word in timeline["utterances"][0]["words"]]
    assert words == ["Hello", "there."]
    assert merged.headers["Content-Type"] == "audio/wav" and wav_samples(merged.content) == PCM + PCM[:100]
    assert part.status_code == 206 and part.content == PCM[:56]
    assert part.headers["Content-Range"] == f"bytes {SPAN}/{len(merged.content)}"
    assert beyond.status_code == 416
    assert wav_samples(second.content) == PCM[:100]


class Delayed:
    """A recording that has ended, and of which nothing is written until somebody waits for it."""

    def __init__(self, clients: Clients, owner: str) -> None:
        waited_for = self.waited_for = threading.Event()

        class Settled(asyncio.Event):
            async def wait(self) -> Literal[True]:
                waited_for.set()
                return await super().wait()

        clients.gateway.recorder._writer.put(waited_for.wait)
        recording = clients.begin(owner)
        recording.settled = Settled()
        recording.finish("stop")
        self.session_id = recording.session_id


@pytest.mark.parametrize("asked", [{}, {"all": "true"}])
async def test_what_was_just_recorded_is_listed(clients: Clients, asked: dict[str, str]) -> None:
    """Whoever heard that a clip is over finds it, also while the disk is slow."""
    delayed = Delayed(clients, "10.0.0.1")
    try:
        async with clients.at("10.0.0.1", headers=ADMIN) as me:
            listed = (await me.get("/api/sessions", params=asked)).json()["sessions"]
    finally:
        delayed.waited_for.set()
    assert [(each["id"], each["state"]) for each in listed] == [(delayed.session_id, "complete")]


async def test_a_list_waits_for_nobody_elses_recordings(clients: Clients) -> None:
    delayed = Delayed(clients, "10.0.0.1")
    try:
        async with clients.at("10.0.0.2") as other:
            assert (await other.get("/api/sessions")).json()["sessions"] == []
        assert not delayed.waited_for.is_set()
    finally:
        delayed.waited_for.set()


async def test_titles_and_comments_have_bounds_and_keep_what_is_left_out(clients: Clients) -> None:
    session_id = await clients.record("10.0.0.1")
    async with clients.at("10.0.0.1") as me:
        url = f"/api/sessions/{session_id}"
        await me.patch(url, json={"comment": "c" * 2000})
        changed = (await me.patch(url, json={"title": "t" * 160})).json()["session"]
        assert (len(changed["title"]), len(changed["comment"])) == (160, 2000)
        cleared = (await me.patch(url, json={"comment": None})).json()["session"]
        assert (len(cleared["title"]), cleared["comment"]) == (160, "")
        for body, field in (
            ({"title": "t" * 161}, "title"),
            ({"comment": "c" * 2001}, "comment"),
            ({"comment": 5}, "comment"),
            ({"comment": "a\0b"}, "comment"),
            ({"owner": "me"}, "owner"),
        ):
            assert check_error(await me.patch(url, json=body), 422)["param"] == field


async def test_a_session_that_is_recorded_can_be_looked_at_but_not_deleted(clients: Clients) -> None:
    recording = clients.begin("10.0.0.1")
    url = f"/api/sessions/{recording.session_id}"
    async with clients.at("10.0.0.1") as me:
        shown = (await me.get(url)).json()
        assert shown["session"]["state"] == "active"
        assert [utterance["text"] for utterance in shown["timeline"]["utterances"]] == ["Hello there."]
        assert (await me.get(f"{url}/audio")).status_code == 200
        for answer in (await me.delete(url), await me.get(f"{url}/download")):
            assert check_error(answer, 409)["code"] == "session_active"
        recording.finish("stop")
        assert (await me.get(url)).json()["session"]["state"] == "complete"
        assert (await me.delete(url)).status_code == 204
        check_error(await me.get(url), 404)
    assert list(clients.gateway.recorder.folder.iterdir()) == []


@pytest.mark.parametrize(
    "before", ["", "x", "1", "1.2", "99999999999999999999999999.s_" + "a" * 22, "1.s_%00"]
)
async def test_a_wrong_cursor_is_refused(clients: Clients, before: str) -> None:
    async with clients.at("10.0.0.1") as me:
        answer = await me.get("/api/sessions", params={"before": before})
    assert check_error(answer, 422)["param"] == "before"


@pytest.mark.parametrize("name", ["..", "%2e%2e", "s_short", "s_" + "%2f" * 22, "s_" + "a" * 22])
async def test_what_is_no_session_is_unknown(clients: Clients, name: str) -> None:
    async with clients.at("10.0.0.1") as me:
        for path in ("/audio", "/audio/0", "/download"):
            check_error(await me.get(f"/api/sessions/{name}{path}"), 404)
