"""Recordings on disk: whole while they grow, after their writer was killed, and under ids nobody guesses."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.sessions.storage import files, wav
from gateway.sessions.storage.recording_files import RecordingFiles, read_timeline, recover
from gateway.sessions.storage.wav import WavFile, read_growing
from tests.forks import REPOSITORY
from tests.gateway.sessions.recordings import (
    RATE,
    folder_of,
    open_session,
    pcm,
    recording_gateway,
    row_of,
    wav_audio,
)

FIRST_LINE = {"type": "session", "id": "s", "kind": "clip", "created_at": "2026-01-01T00:00:00+00:00"}


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
    recording = RecordingFiles(tmp_path / "s", noted=True)
    recording.begin(FIRST_LINE)
    recording.write({"type": "utterance", "at": 0, "index": 0, "text": "Hi.", "parameters": {}})
    for count in range(1, 4):
        line = {"type": "audio", "at": count, "index": 0, "samples": 10, "sample_rate": RATE}
        recording.audio(line, pcm(10), RATE)
        assert wav_audio(tmp_path / "s" / "audio" / "0000.wav") == pcm(10 * count)
        assert wav_audio(tmp_path / "s" / "merged.wav") == pcm(10 * count)
        assert read_timeline(tmp_path / "s")["utterances"][0]["samples"] == 10 * count
    recording.close()


def test_a_disk_that_is_full_at_once_leaves_no_file_that_is_no_wav(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes) -> None:
        os.write(descriptor, data[:5])
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(wav, "write_all", full)
    with pytest.raises(OSError, match="full"):
        WavFile(tmp_path / "a.wav", RATE, noted=True)
    assert not list(tmp_path.iterdir())


def test_a_file_that_grows_is_sent_as_far_as_it_was(tmp_path: Path) -> None:
    file = WavFile(tmp_path / "a.wav", RATE, noted=True)
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
from gateway.sessions.storage.recording_files import RecordingFiles
recording = RecordingFiles(Path({str(folder)!r}), noted=True)
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
    for unfinished in ("merged.tmp", ".new-abc"):
        (folder / unfinished).write_bytes(bytes(1000))
    assert wav_audio(folder / "merged.wav") == pcm(100)
    assert len(read_timeline(folder)["utterances"]) == 2

    facts = recover(folder)
    assert (facts.state, facts.utterances) == ("interrupted", 2)
    assert wav_audio(folder / "audio" / "0001.wav") == pcm(50) + b"\x05\x00"
    assert wav_audio(folder / "merged.wav") == pcm(100) + b"\x05\x00"
    meta = json.loads((folder / "meta.json").read_text())
    assert (meta["state"], meta["reason"]) == ("interrupted", "gateway_died")
    left = {path.name for path in folder.iterdir()}
    assert left == {"audio", "merged.wav", "meta.json", "recording.json"}
    again = recover(folder)
    assert (again.state, again.audio_seconds) == (facts.state, facts.audio_seconds)


def test_a_session_that_was_cut_off_at_its_first_audio_is_brought_in_order(tmp_path: Path) -> None:
    """The file has it, and the journal does not tell of it yet."""
    folder = tmp_path / "s"
    recording = RecordingFiles(folder, noted=True)
    recording.begin(FIRST_LINE)
    recording.write({"type": "utterance", "at": 0, "index": 0, "text": "One two.", "parameters": {}})
    recording.write({"type": "spoken", "at": 0, "index": 0, "start": 0, "end": 8, "first_sample": 0})
    before = (folder / "recording.jsonl").read_bytes()
    recording.audio({"type": "audio", "at": 1, "index": 0, "samples": 50, "sample_rate": RATE}, pcm(50), RATE)
    recording.close()
    (folder / "recording.jsonl").write_bytes(before)
    facts = recover(folder)
    assert (facts.state, facts.utterances, facts.audio_seconds) == ("interrupted", 1, 0)
    assert wav_audio(folder / "merged.wav") == pcm(50)
    assert not (folder / "recording.jsonl").exists()


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
