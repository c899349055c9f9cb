"""What is recorded: the clip that the client got, of those who are meant, to its end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateway.errors import ApiError
from gateway.requests import TtsRequest
from gateway.sessions.recording import title_of
from gateway.sessions.storage.recording_files import read_timeline
from gateway.sessions.witness import witness_clip
from gateway.synthesis.synthesis import Synthesis
from tests.gateway.sessions.recordings import (
    RATE,
    folder_of,
    open_session,
    pcm,
    recording_gateway,
    row_of,
    speak,
    wav_audio,
)
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import CLIP, PATCHES, SEED, TEXT, Ear, gateway_of


async def test_the_recording_is_what_the_client_got_whichever_workers_made_it(tmp_path: Path) -> None:
    faulty, sound = ScriptedWorker([Act(2, "cut")]), ScriptedWorker([Act()])
    async with gateway_of(faulty, sound, data_dir=tmp_path / "data") as gateway:
        gateway.pool.reports.refused(gateway.pool.workers["w1"])
        outcome, ear, witness = await speak(gateway)
        await gateway.recorder.settled(witness.session_id)
        folder = gateway.recorder.folder / witness.session_id
        timeline = await asyncio.to_thread(read_timeline, folder)
    assert outcome.migrations == 1
    assert wav_audio(folder / "merged.wav") == ear.pcm == CLIP
    (utterance,) = timeline["utterances"]
    assert (utterance["workers"], utterance["migrations"]) == (["w0", "w1"], 1)
    assert (utterance["text"], utterance["parameters"]["seed"]) == (TEXT, SEED)
    assert [chunk["first_sample"] for chunk in utterance["chunks"]] == [n * 3840 for n in range(PATCHES)]
    kinds = [event["kind"] for event in timeline["events"]]
    assert kinds == ["started", "worker_failed", "moved"]
    assert timeline["events"][2]["sample"] == 2 * 3840
    assert timeline["outcome"] == "stop"


async def test_a_part_is_recorded_with_its_language(tmp_path: Path) -> None:
    async with gateway_of(ScriptedWorker([Act()]), data_dir=tmp_path / "data") as gateway:
        request = TtsRequest(text="Um 15:30 Uhr.", language="de", normalize="on", record=True)
        ear = Ear()
        witness = witness_clip(gateway.recorder, request, "me", ear)
        await Synthesis(gateway, request, "r1", witness, witness=witness).run()
        await gateway.recorder.settled(witness.session_id)
        folder = gateway.recorder.folder / witness.session_id
        timeline = await asyncio.to_thread(read_timeline, folder)
    (part,) = timeline["utterances"][0]["parts"]
    assert (part["language"], part["in_words"]) == ("de", False)


@pytest.mark.parametrize(
    ("mode", "asked", "recorded"),
    [("ask", False, False), ("ask", True, True), ("all", False, True), ("off", False, False)],
)
async def test_only_those_are_recorded_who_are_meant(
    tmp_path: Path, mode: str, asked: bool, recorded: bool
) -> None:
    async with recording_gateway(tmp_path, record_sessions=mode) as gateway:
        witness = witness_clip(gateway.recorder, TtsRequest(text=TEXT, record=asked), "me", Ear())
        assert (witness.session_id is not None) == recorded


async def test_to_ask_where_nothing_is_recorded_is_refused_by_the_fields_name(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path, record_sessions="off") as gateway:
        request = TtsRequest(text=TEXT, record=True)
        with pytest.raises(ApiError) as refused:
            witness_clip(gateway.recorder, request, "me", Ear())
        assert (refused.value.status_code, refused.value.param) == (422, "record")
        assert witness_clip(gateway.recorder, request, "me", Ear(), resumed=True).session_id is None


async def test_who_never_gets_a_worker_leaves_no_session(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        witness = witness_clip(gateway.recorder, TtsRequest(text=TEXT, record=True), "me", Ear())
        witness.queued("t1", 3, None)
        witness.ended("queue_timeout")
        assert await row_of(gateway, witness._recording) is None
        assert not gateway.recorder.folder.exists()


async def test_a_gateway_that_ends_finishes_what_it_records(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        recording = open_session(gateway)
        recording.utterance("To be continued", {})
        recording.audio(0, pcm(100), RATE)
    async with recording_gateway(tmp_path) as gateway:
        row = await gateway.recorder.index.get(recording.session_id)
        assert (row.state, row.audio_seconds) == ("complete", pytest.approx(100 / RATE, abs=1e-5))
        assert read_timeline(folder_of(gateway, recording))["outcome"] == "shutting_down"


def test_a_title_is_made_of_the_first_words_of_a_text_alone() -> None:
    """To look at all of a job's million characters held up everybody for a fifth of a second."""
    assert title_of(" \n one\ttwo " + " " * 1000 + "three") == "one two"
    assert title_of("word " * 200_000) == "word " * 14 + "word…"
