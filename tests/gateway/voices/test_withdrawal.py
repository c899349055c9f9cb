"""What still speaks with a voice or an adapter when its consent is withdrawn, or it is deleted."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from gateway.adapters.speaker import AdaptedSpeaker
from gateway.database import Adapter, Voice, named_rows
from gateway.errors import ApiError
from gateway.requests import TtsRequest
from gateway.synthesis.synthesis import Synthesis
from gateway.voices.resolution import CustomSpeaker, DirectedSpeaker, Speaker
from tests.gateway.callers.owners import KEYS
from tests.gateway.stages.processes import GatewayProcess
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import SEED, Ear, gateway_of, pcm_of, prefer_the_first
from tests.gateway.voices.uploads import CONSENT, create

PARTS = ["One part is short.", "The next one is longer.", "The last."]


def withdraw(http: httpx.Client, path: str, deleted: bool) -> None:
    answer = http.delete(path) if deleted else http.patch(path, json={"consent_by": None})
    assert answer.status_code == 200


@pytest.mark.parametrize("deleted", [False, True])
async def test_a_live_session_says_no_further_sentence(
    deleted: bool, gateway: GatewayProcess, ann: httpx.Client
) -> None:
    """S15: it may last for an hour, in which its client goes on saying what it likes in somebody's voice."""
    path = f"/api/voices/{create(ann, **CONSENT)['id']}"
    key = {"Authorization": f"Bearer {KEYS['bob']}"}
    async with gateway.socket("/ws/live", additional_headers=key) as live:
        await live.socket.send(json.dumps({"type": "start", "voice": "Ann"}))
        say = json.dumps({"type": "append", "text": "Somebody says this. "})
        await live.socket.send(say)
        await live.socket.send('{"type": "flush"}')
        await live.receive_type("utterance_done")
        await asyncio.to_thread(withdraw, ann, path, deleted)
        heard = live.pcm
        await live.socket.send(say)
        await live.socket.send('{"type": "flush"}')
        error = (await live.receive_type("error"))["error"]
        assert error["code"] == ("unknown_voice" if deleted else "voice_without_consent")
        assert live.pcm == heard


class Withdrawn(Speaker):
    """One that may be used so many times more."""

    def __init__(self, times: int, status: int = 403) -> None:
        super().__init__("default")
        self.times, self.status = times, status

    async def check(self) -> None:
        self.times -= 1
        if self.times < 0:
            raise ApiError(self.status, "gone", "withdrawn or deleted", param="voice")


def reader(*script: Act) -> ScriptedWorker:
    return ScriptedWorker(list(script), part_characters=24)


async def test_a_long_text_ends_with_the_part_that_is_begun() -> None:
    worker, ear = reader(Act()), Ear()
    async with gateway_of(worker) as gateway:
        request = TtsRequest(text=" ".join(PARTS), seed=SEED)
        with pytest.raises(ApiError) as refused:
            await Synthesis(gateway, request, "r1", ear, speaker=Withdrawn(2)).run()
    assert refused.value.code == "gone"
    assert [start.text for start in worker.requests] == PARTS[:2]
    assert ear.pcm == pcm_of(PARTS[0]) + pcm_of(PARTS[1])


async def test_what_is_deleted_is_spoken_with_to_the_end_of_the_clip() -> None:
    worker, ear = reader(Act()), Ear()
    async with gateway_of(worker) as gateway:
        request = TtsRequest(text=" ".join(PARTS), seed=SEED)
        await Synthesis(gateway, request, "r1", ear, speaker=Withdrawn(1, 404)).run()
    assert [start.text for start in worker.requests] == PARTS


async def test_a_part_that_is_begun_goes_to_its_end_also_at_another_worker() -> None:
    faulty, sound, ear = reader(Act(1, "cut")), reader(Act()), Ear()
    async with gateway_of(faulty, sound) as gateway:
        prefer_the_first(gateway)
        request = TtsRequest(text=PARTS[0], seed=SEED)
        await Synthesis(gateway, request, "r1", ear, speaker=Withdrawn(1)).run()
    assert ear.pcm == pcm_of(PARTS[0])


async def test_each_of_voice_and_adapter_is_looked_at() -> None:
    looked: list[str] = []

    async def look(id: str) -> None:
        looked.append(id)

    row = Voice(id="v_1", name="Ann", audio_sha256="0" * 64)
    kept = CustomSpeaker(row, None, look)
    adapter = Adapter(id="a_1", name="anna", digest="0" * 64)
    await DirectedSpeaker(AdaptedSpeaker(kept, adapter, None, look)).check()
    assert looked == ["v_1", "a_1"]
    await CustomSpeaker(row, None).check()
    assert looked == ["v_1", "a_1"], "a recording that came with its request is nobody's to withdraw"


async def test_a_database_that_is_slow_or_away_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object) -> None:
        await asyncio.get_running_loop().create_future()

    async def away(*_: object) -> None:
        raise ApiError(503, "voices_unavailable", "away")

    async with gateway_of() as gateway:
        for look in (never, away):
            monkeypatch.setattr(named_rows, "_SOON_SECONDS", 0.01)
            monkeypatch.setattr(named_rows.NamedRows, "get", look)
            await gateway.voices._check("v_0123456789abcdef")
            await gateway.adapters._check("a_0123456789abcdef")
