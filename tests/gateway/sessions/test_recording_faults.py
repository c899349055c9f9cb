"""Recordings that cannot go on, as the disk, the writer or the database does not want: speech goes on."""

from __future__ import annotations

import asyncio
import json
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gateway.sessions.storage.writer import Writer
from tests.forks import REPOSITORY
from tests.gateway.sessions.recordings import (
    RATE,
    failures,
    folder_of,
    open_session,
    pcm,
    recording_gateway,
    speak,
    until,
    until_interrupted,
    wav_audio,
)
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import CLIP, gateway_of


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
    program = "import asyncio, sys, pathlib\n"
    program += "from tests.gateway.sessions.test_recording_faults import limited_file_size\n"
    program += "asyncio.run(limited_file_size(pathlib.Path(sys.argv[1])))"
    command = [sys.executable, "-c", program, str(tmp_path)]
    result = await asyncio.to_thread(
        subprocess.run, command, cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


async def limited_file_size(tmp_path: Path) -> None:
    """Run by the test above: a megabyte is room for the database, not for a minute of audio."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    async with gateway_of(ScriptedWorker([Act()]), data_dir=tmp_path / "data") as gateway:
        long_session = open_session(gateway)
        index = long_session.utterance("A long story.", {})
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
        try:
            for _ in range(60):
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
        whole = 1_000_000 // (2 * RATE)
        assert kept == pcm(whole * RATE), "what was written before stays whole"
        assert row.audio_seconds == pytest.approx(whole)


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
