"""Recordings: what is on disk while one grows, after a crash, and when the disk does not want any more."""

from __future__ import annotations

import asyncio
import io
import json
import resource
import signal
import subprocess
import sys
import threading
import wave
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from gateway.database import Session
from gateway.errors import ApiError
from gateway.requests import TtsRequest
from gateway.service import Gateway
from gateway.sessions import Recording, files
from gateway.sessions.recording_files import RecordingFiles, read_timeline, recover
from gateway.sessions.timeline import build, estimate_words, locate
from gateway.sessions.wav import WavFile, read_growing
from gateway.sessions.witness import witness_clip
from gateway.sessions.writer import Writer
from gateway.settings import load_settings
from gateway.synthesis import Outcome, Synthesis
from tests.gateway.processes import eventually
from tests.gateway.scripted_worker import Act, ScriptedWorker
from tests.gateway.test_relay import CLIP, PATCHES, SEED, TEXT, Ear, gateway_of
from tests.worker.harness import REPOSITORY

RATE = 24000
FIRST_LINE = {"type": "session", "id": "s", "kind": "clip", "created_at": "2026-01-01T00:00:00+00:00"}


def pcm(samples: int, value: int = 1) -> bytes:
    return value.to_bytes(2, "little") * samples


def wav_audio(path: Path) -> bytes:
    """The samples, as anybody's WAV reader finds them by the header."""
    with wave.open(io.BytesIO(path.read_bytes())) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, RATE)
        return file.readframes(1 << 30)


@asynccontextmanager
async def recording_gateway(tmp_path: Path, **options: object) -> AsyncIterator[Gateway]:
    """A gateway without workers, for recordings that tests write themselves."""
    gateway = Gateway(load_settings(data_dir=tmp_path / "data", **options))
    async with gateway.running():
        yield gateway


def open_session(gateway: Gateway, kind: str = "live", owner: str = "me") -> Recording:
    recording = gateway.recorder.open(kind, {"voice": "slt"}, owner, asked=True)
    assert recording is not None
    return recording


async def row_of(gateway: Gateway, recording: Recording) -> Session | None:
    await gateway.recorder.settled(recording.session_id)
    return await gateway.recorder.index.get(recording.session_id)


def folder_of(gateway: Gateway, recording: Recording) -> Path:
    return gateway.recorder.folder / recording.session_id


# ----------------------------------------------------------------------------------------- the files


async def test_a_session_of_several_utterances_is_written_as_they_come(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        recording = open_session(gateway)
        for index, text in enumerate(("One two.", "Three.")):
            assert recording.utterance(text, {"seed": index}) == index
            recording.worker(index, "w0")
            for piece in range(2):
                recording.audio(index, pcm(480, 2 * index + piece + 1), RATE)
            recording.utterance_done(index, "stop")
        recording.event("idle", waited=1.5)
        recording.finish("stop")
        row = await row_of(gateway, recording)
        folder = folder_of(gateway, recording)
    pieces = [pcm(480, value) for value in (1, 2, 3, 4)]
    assert wav_audio(folder / "audio" / "0000.wav") == pieces[0] + pieces[1]
    assert wav_audio(folder / "audio" / "0001.wav") == pieces[2] + pieces[3]
    assert wav_audio(folder / "merged.wav") == b"".join(pieces)
    assert sorted(path.name for path in folder.iterdir()) == [
        "audio", "merged.wav", "meta.json", "recording.json",
    ]  # fmt: skip
    timeline = json.loads((folder / "recording.json").read_text())
    assert [utterance["first_sample"] for utterance in timeline["utterances"]] == [0, 960]
    assert [utterance["outcome"] for utterance in timeline["utterances"]] == ["stop", "stop"]
    assert [event["kind"] for event in timeline["events"]] == ["idle"]
    assert (row.state, row.utterances, row.title, row.voice) == ("complete", 2, "One two.", "slt")
    assert row.audio_seconds == pytest.approx(1920 / RATE)
    assert row.size_bytes == pytest.approx(files.folder_bytes(folder), rel=0.1)
    meta = json.loads((folder / "meta.json").read_text())
    assert (meta["state"], meta["outcome"], meta["reason"]) == ("complete", "stop", None)


def test_after_every_append_the_files_are_whole(tmp_path: Path) -> None:
    recording = RecordingFiles(tmp_path / "s")
    recording.begin(FIRST_LINE)
    recording.write({"type": "utterance", "at": 0, "index": 0, "text": "Hi.", "parameters": {}})
    for count in range(1, 4):
        line = {"type": "audio", "at": count, "index": 0, "samples": 10, "sample_rate": RATE}
        recording.audio(line, pcm(10), RATE)
        assert wav_audio(tmp_path / "s" / "audio" / "0000.wav") == pcm(10 * count)
        assert wav_audio(tmp_path / "s" / "merged.wav") == pcm(10 * count)
        assert read_timeline(tmp_path / "s")["utterances"][0]["samples"] == 10 * count
    recording.close()


def test_a_file_that_grows_is_sent_as_far_as_it_was(tmp_path: Path) -> None:
    file = WavFile(tmp_path / "a.wav", RATE)
    file.append(pcm(100))
    size_bytes, pieces = read_growing(tmp_path / "a.wav")
    file.append(pcm(900, 2))
    (tmp_path / "sent.wav").write_bytes(b"".join(pieces))
    assert (tmp_path / "sent.wav").stat().st_size == size_bytes
    assert wav_audio(tmp_path / "sent.wav") == pcm(100)
    file.close()


def test_what_a_killed_process_left_is_readable_and_can_be_brought_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    program = f"""
import os, sys
sys.path.insert(0, {str(REPOSITORY)!r})
from pathlib import Path
from gateway.sessions.recording_files import RecordingFiles
recording = RecordingFiles(Path({str(folder)!r}))
recording.begin({FIRST_LINE!r})
for index in range(2):
    recording.write({{"type": "utterance", "at": 0, "index": index, "text": "Hi.", "parameters": {{}}}})
    line = {{"type": "audio", "at": 1, "index": index, "samples": 50, "sample_rate": {RATE}}}
    recording.audio(line, {pcm(50)!r}, {RATE})
print("written", flush=True)
sys.stdin.read()
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "written\n"
    assert files.is_being_written(folder)
    assert recover(folder) is None, "its writer is alive"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    with (folder / "audio" / "0001.wav").open("ab") as file:
        file.write(b"\x05\x00\x05")  # written, but not in the header yet, and half a sample
    with (folder / "recording.jsonl").open("a") as file:
        file.write('{"type":"audi')
    assert wav_audio(folder / "merged.wav") == pcm(100)
    assert len(read_timeline(folder)["utterances"]) == 2

    facts = recover(folder)
    assert (facts.state, facts.utterances) == ("interrupted", 2)
    assert wav_audio(folder / "audio" / "0001.wav") == pcm(50) + b"\x05\x00"
    assert wav_audio(folder / "merged.wav") == pcm(100) + b"\x05\x00"
    meta = json.loads((folder / "meta.json").read_text())
    assert (meta["state"], meta["reason"]) == ("interrupted", "gateway_died")
    assert not (folder / "recording.jsonl").exists()
    again = recover(folder)
    assert (again.state, again.audio_seconds) == (facts.state, facts.audio_seconds)


def test_ids_cannot_be_guessed_and_no_other_text_becomes_a_path(tmp_path: Path) -> None:
    ids = {files.new_session_id() for _ in range(1000)}
    assert len(ids) == 1000 and all(files.is_session_id(identity) for identity in ids)
    for text in (
        "",
        "..",
        "s_",
        "s_../../etc/passwd-----",
        "s_" + "a" * 23,
        "x_" + "a" * 22,
        "s_" + "é" * 22,
    ):
        with pytest.raises(ValueError, match="not the id"):
            files.session_folder(tmp_path, text)


# ------------------------------------------------------------------------------ when the disk says no


async def test_a_session_folder_that_cannot_be_made_costs_the_recording_only(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sessions").write_text("a file where a folder should be")
    async with gateway_of(ScriptedWorker([Act()]), data_dir=tmp_path / "data") as gateway:
        outcome, ear, witness = await speak(gateway)
        assert (outcome.finish_reason, ear.pcm) == ("stop", CLIP)
        await gateway.recorder.settled(witness.session_id)
        await until(lambda: failures(gateway, "disk_error") == 1)
        assert await gateway.recorder.index.get(witness.session_id) is None


async def test_a_disk_that_fills_up_ends_the_recording_and_says_why(tmp_path: Path) -> None:
    """`RLIMIT_FSIZE` makes every larger file fail, as a full disk would, in a process of its own."""
    program = "import asyncio, sys, pathlib; from tests.gateway.test_sessions import limited_file_size\n"
    program += "asyncio.run(limited_file_size(pathlib.Path(sys.argv[1])))"
    command = [sys.executable, "-c", program, str(tmp_path)]
    result = await asyncio.to_thread(
        subprocess.run, command, cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


async def limited_file_size(tmp_path: Path) -> None:
    """Run by the test above: 200 kB are room for the database, not for ten seconds of audio."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    async with gateway_of(ScriptedWorker([Act()]), data_dir=tmp_path / "data") as gateway:
        long_session = open_session(gateway)
        index = long_session.utterance("A long story.", {})
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        try:
            for _ in range(10):
                long_session.audio(index, pcm(RATE), RATE)
            await until(lambda: long_session.failure is not None)
            outcome, ear, _ = await speak(gateway)
            assert (outcome.finish_reason, ear.pcm) == ("stop", CLIP), "speech goes on"
            row = await until_interrupted(gateway, long_session)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        folder = folder_of(gateway, long_session)
        assert failures(gateway, "disk_full") == 1
        meta = json.loads((folder / "meta.json").read_text())
        assert (meta["state"], meta["reason"]) == ("interrupted", "disk_full")
        kept = wav_audio(folder / "merged.wav")
        assert kept == pcm(4 * RATE), "what was written before stays whole"
        assert row.audio_seconds == pytest.approx(4.0)


async def test_a_disk_that_stands_still_costs_recordings_and_no_memory(tmp_path: Path) -> None:
    gate, written = threading.Event(), []
    writer = Writer(max_bytes=10_000)
    assert writer.put(gate.wait)
    accepted = sum(writer.put(lambda: written.append(1), 1000) for _ in range(100))
    assert 1 <= accepted <= 10 and writer.pending_bytes <= 10_000
    assert writer.put(lambda: written.append(1), always=True), "the end of a recording is always heard"
    writer.start()
    gate.set()
    await asyncio.to_thread(writer.close)
    assert len(written) == accepted + 1 and writer.pending_bytes == 0


async def test_an_overloaded_writer_ends_the_recording(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        gate = threading.Event()
        gateway.recorder._writer.put(gate.wait)
        recording = open_session(gateway)
        index = recording.utterance("Too fast.", {})
        for _ in range(70):
            recording.audio(index, bytes(1 << 20), RATE)
        gate.set()
        row = await until_interrupted(gateway, recording)
        assert recording.failure == "overloaded" and failures(gateway, "overloaded") == 1
        assert 0 < row.audio_seconds < 70 * (1 << 19) / RATE


async def test_a_database_that_is_away_gets_the_rows_when_it_is_back(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        await gateway.database.close()
        recording = open_session(gateway)
        recording.utterance("Meanwhile.", {})
        recording.audio(0, pcm(100), RATE)
        recording.finish("stop")
        await until(lambda: recording.facts is not None)
        assert wav_audio(folder_of(gateway, recording) / "merged.wav") == pcm(100)
        await gateway.database.open()
        await recording.settled.wait()
        assert (await gateway.recorder.index.get(recording.session_id)).state == "complete"


async def test_facts_that_are_no_json_end_the_recording_and_raise_nothing(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        recording = open_session(gateway)
        recording.utterance("Hello.", {})
        recording.event("strange", thing=object())
        recording.audio(0, pcm(10), RATE)
        assert (await until_interrupted(gateway, recording)).state == "interrupted"
        assert failures(gateway, "internal_error") == 1


# ------------------------------------------------------------------------------ clips, through synthesis


async def test_the_recording_is_what_the_client_got_whichever_workers_made_it(tmp_path: Path) -> None:
    faulty, sound = ScriptedWorker([Act(2, "cut")]), ScriptedWorker([Act()])
    async with gateway_of(faulty, sound, data_dir=tmp_path / "data") as gateway:
        gateway.pool.report_refused(gateway.pool.workers["w1"])
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


# ------------------------------------------------------------------------------------- the timeline


def test_parts_are_found_in_the_text_they_were_cut_from() -> None:
    text = "  Dr. Who came.\n He sat   down. 再见。"
    ranges = locate(text, ["Dr. Who came. He sat", "down.", "再见。"])
    assert [text[start:end] for start, end in ranges] == ["Dr. Who came.\n He sat", "down.", "再见。"]


def test_words_share_the_time_of_their_part_by_their_characters() -> None:
    part = {"start": 0, "end": 12, "first_sample": 100, "end_sample": 1100}
    words = estimate_words("a bcd 你好 efghi", part)
    assert [(word["start"], word["end"]) for word in words] == [(0, 1), (2, 5), (6, 7), (7, 8), (9, 12)]
    assert words[0]["first_sample"] == 100 and words[-1]["end_sample"] == 1100
    assert all(a["end_sample"] == b["first_sample"] for a, b in pairwise(words))
    assert words[1]["end_sample"] - words[1]["first_sample"] == pytest.approx(1000 * 3 / 9, abs=1)
    assert all(word["estimated"] for word in words)


def test_a_part_ends_where_the_next_begins_and_the_last_with_the_audio() -> None:
    lines = [
        {"type": "utterance", "at": 0, "index": 0, "text": "One. Two.", "parameters": {}},
        {"type": "spoken", "at": 0, "index": 0, "start": 0, "end": 4, "first_sample": 0, "end_sample": None},
        {"type": "audio", "at": 1, "index": 0, "samples": 300, "sample_rate": RATE},
        {"type": "spoken", "at": 1, "index": 0, "start": 5, "end": 9, "first_sample": 300},
        {"type": "audio", "at": 2, "index": 0, "samples": 100},
    ]
    (utterance,) = build(lines)["utterances"]
    assert [(part["first_sample"], part["end_sample"]) for part in utterance["parts"]] == [
        (0, 300),
        (300, 400),
    ]
    assert [(word["start"], word["end_sample"]) for word in utterance["words"]] == [(0, 300), (5, 400)]


# ------------------------------------------------------------------------------------------ helpers


async def speak(gateway: Gateway) -> tuple[Outcome, Ear, object]:
    """One recorded clip."""
    ear, request = Ear(), TtsRequest(text=TEXT, seed=SEED, record=True)
    witness = witness_clip(gateway.recorder, request, "me", ear)
    async with asyncio.timeout(30):
        outcome = await Synthesis(gateway, request, "r1", witness, witness=witness).run()
    return outcome, ear, witness


def failures(gateway: Gateway, reason: str) -> float:
    return gateway.metrics.recording_failures.labels(reason)._value.get()


async def until(condition: Callable[[], bool]) -> None:
    async def poll() -> bool | None:
        return condition() or None

    await eventually(poll, "it never came to that")


async def until_interrupted(gateway: Gateway, recording: Recording) -> Session:
    """The row, once it says so."""

    async def poll() -> Session | None:
        row = await gateway.recorder.index.get(recording.session_id)
        return row if row and row.state == "interrupted" else None

    return await eventually(poll, "the session is not interrupted")
