"""Uploads are decoded by a child that cannot be talked into more than it is there for."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import psutil
import pytest
import soundfile

from gateway.confined import children as confined_children
from gateway.confined.children import MAX_CHILDREN, MAX_WAITING, command
from gateway.errors import ApiError
from gateway.voices.recordings.decoding import MAX_SECONDS, PROCESSOR_SECONDS, READER, Decoder, Recording
from gateway.voices.uploads import MAX_PER_TENANT, MAX_UPLOADS, Uploads
from tests.gateway.audio.files import RATE, encoded, silence, speech, wav

HOUR_SECONDS = 3600


async def decode_bytes(content: bytes, tmp_path: Path, decoder: Decoder | None = None) -> Recording:
    path = tmp_path / "upload"
    path.write_bytes(content)
    with path.open("rb") as file:
        return await (decoder or Decoder()).decode(file.fileno())


async def refused(content: bytes, tmp_path: Path) -> str:
    with pytest.raises(ApiError) as refusal:
        await decode_bytes(content, tmp_path)
    assert (refusal.value.status_code, refusal.value.param) == (422, "audio")
    return refusal.value.code


@pytest.mark.parametrize("kind", ["wav", "flac", "mp3", "ogg", "webm", "m4a", "alac", "aac", "aiff"])
async def test_every_format_becomes_the_same_mono_audio(kind: str, tmp_path: Path) -> None:
    samples = speech(2.5)
    recording = await decode_bytes(encoded(kind, samples), tmp_path)
    assert recording.seconds == pytest.approx(2.5, abs=0.1)
    rates = {"ogg": 48_000, "webm": 48_000, "m4a": 44_100, "alac": 44_100, "aac": 44_100}
    assert recording.sample_rate == rates.get(kind, RATE)
    spectrum = np.abs(np.fft.rfft(recording.samples[: 2 * recording.sample_rate].astype(float)))
    assert spectrum[100:].argmax() / 2 + 50 == pytest.approx(150, abs=5)
    assert np.sqrt(np.mean((recording.samples / 32768) ** 2)) == pytest.approx(
        np.sqrt(np.mean(samples**2)), rel=0.1
    )


async def test_channels_are_averaged_and_high_rates_come_down(tmp_path: Path) -> None:
    mono = speech(2.0, 96_000)
    recording = await decode_bytes(wav(np.stack([mono, 0 * mono], 1), 96_000), tmp_path)
    assert recording.sample_rate == 48_000
    assert np.abs(recording.samples).max() / 32768 == pytest.approx(np.abs(mono).max() / 2, rel=0.1)


@pytest.mark.parametrize("kind", ["aac", "mp3", "flac"])
async def test_what_is_behind_tags_is_read_as_what_it_is(kind: str, tmp_path: Path) -> None:
    """As VoxFleet's own clips in AAC begin; the second tag holds a picture."""
    empty, large = b"ID3\4\0\0" + bytes(4), b"ID3\4\0\0" + bytes([0, 20, 0, 0]) + bytes(20 << 14)
    recording = await decode_bytes(empty + large + encoded(kind, speech(2.5)), tmp_path)
    assert recording.seconds == pytest.approx(2.5, abs=0.1)


@pytest.mark.parametrize("claim", [0, 0xFFFFFFFF])
async def test_a_wav_file_from_a_pipe_claims_no_length(claim: int, tmp_path: Path) -> None:
    piped = bytearray(wav(speech(2.5)))
    struct.pack_into("<I", piped, 4, claim)
    struct.pack_into("<I", piped, 40, claim)
    assert piped[36:40] == b"data"
    assert (await decode_bytes(bytes(piped), tmp_path)).seconds == 2.5


@pytest.mark.parametrize(
    ("container", "coding"),
    [*(("WAVEX", coding) for coding in ("PCM_24", "FLOAT", "DOUBLE", "ALAW", "ULAW")), ("RF64", "PCM_16")],
)
async def test_samples_of_every_kind_are_read(container: str, coding: str, tmp_path: Path) -> None:
    file = io.BytesIO()
    samples = speech(2.5)
    soundfile.write(file, samples, RATE, format=container, subtype=coding)
    recording = await decode_bytes(file.getvalue(), tmp_path)
    assert recording.seconds == 2.5
    assert recording.samples / 32768 == pytest.approx(samples, abs=0.02)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"caff\0\1\0\0" + bytes(100), "CAF"),
        (b"#!AMR\n" + bytes(100), "AMR"),
        (b"#!AMR-WB\n" + bytes(100), "AMR-WB"),
        (b"0&\xb2u\x8ef\xcf\x11" + bytes(100), "WMA"),
    ],
)
async def test_a_known_kind_that_is_not_read_is_named(content: bytes, name: str, tmp_path: Path) -> None:
    with pytest.raises(ApiError, match=f"is {name}, which is not read: send wav .* or webm"):
        await decode_bytes(content, tmp_path)


async def test_a_coding_that_is_not_read_is_named(tmp_path: Path) -> None:
    file = io.BytesIO()
    soundfile.write(file, speech(2.5), RATE, format="WAV", subtype="MS_ADPCM")
    with pytest.raises(ApiError, match="is ADPCM, which is not read") as refusal:
        await decode_bytes(file.getvalue(), tmp_path)
    assert refusal.value.code == "audio_format"


_MEASURE = """
import json, resource, subprocess, sys
said = subprocess.run(sys.argv[2:], stdin=open(sys.argv[1]), stdout=subprocess.PIPE)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([said.stdout.decode(), used.ru_maxrss >> 10, used.ru_utime + used.ru_stime]))
"""


@pytest.mark.parametrize(("kind", "seconds"), [("flac", HOUR_SECONDS), ("webm", 150), ("aac", HOUR_SECONDS)])
async def test_an_hour_of_silence_is_refused_without_growing_memory(
    kind: str, seconds: int, tmp_path: Path
) -> None:
    """S7: a small file that becomes a large one.

    Most formats say how long they are, and are not decoded; a recorder's webm is, up to the limit.
    """
    bomb = tmp_path / "bomb"
    bomb.write_bytes(silence(kind, seconds))
    assert kind != "flac" or bomb.stat().st_size < 350_000
    assert await refused(bomb.read_bytes(), tmp_path) == "audio_too_long"
    child = command(READER, PROCESSOR_SECONDS, "60")
    measured = [sys.executable, "-c", _MEASURE, str(bomb), *child]
    said, mebibytes, processor_seconds = json.loads(subprocess.check_output(measured))  # noqa: ASYNC221
    assert json.loads(said) == {"refused": "audio_too_long"}
    assert mebibytes < 128, "the interpreter with FFmpeg in it, and a minute of audio"
    assert processor_seconds < PROCESSOR_SECONDS / 2


async def test_a_header_that_lies_does_not_help(tmp_path: Path) -> None:
    """A flac of an hour that claims half a second, and one of two seconds that claims an hour."""
    for seconds, claim in ((HOUR_SECONDS, 0.5), (2, HOUR_SECONDS)):
        flac = bytearray(silence("flac", seconds))
        (packed,) = struct.unpack_from(">Q", flac, 18)
        struct.pack_into(">Q", flac, 18, packed >> 36 << 36 | int(claim * 8_000))
        assert await refused(bytes(flac), tmp_path) == "audio_too_long"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no audio at all, whatever it is called",
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"<?xml version='1.0'?><MPD/>",
        b"\x89PNG\r\n\x1a\n" + bytes(100),
    ],
)
async def test_only_known_containers_are_tried(content: bytes, tmp_path: Path) -> None:
    assert await refused(content, tmp_path) == "audio_format"


@pytest.mark.parametrize("kind", ["wav", "flac", "mp3", "ogg", "webm", "m4a", "aac", "aiff"])
async def test_damaged_files_are_refused_or_give_what_is_left(kind: str, tmp_path: Path) -> None:
    whole = encoded(kind, speech(2.0))
    noise = np.random.default_rng(0)
    for cut in (16, 64, len(whole) // 2):
        scrambled = bytearray(whole)
        for position in noise.integers(16, len(whole), 40):
            scrambled[position] ^= int(noise.integers(1, 256))
        for content in (whole[:cut], bytes(scrambled)):
            try:
                recording = await decode_bytes(content, tmp_path)
            except ApiError as refusal:
                assert refusal.code in ("audio_unreadable", "audio_format", "audio_rate", "audio_too_long")
            else:
                assert 0 < recording.seconds <= MAX_SECONDS


@pytest.mark.parametrize("rate", [4_000])
async def test_rates_that_carry_no_speech_are_refused(rate: int, tmp_path: Path) -> None:
    assert await refused(wav(speech(3.0, rate), rate), tmp_path) == "audio_rate"


@pytest.mark.parametrize(
    "program",
    [
        "import time; time.sleep(600)",
        "import subprocess, sys, time; subprocess.Popen(sys.argv and ['sleep', '86399']); time.sleep(600)",
        "import os, sys\nwhile True: os.write(1, bytes(1 << 16))",
        "print('not json')",
        "print('[]')",
        """print('{"sample_rate": 16000, "samples": 5}')""",
        """print('{"sample_rate": "x", "samples": true}')""",
        """print('{"refused": "whatever <b>it</b> says"}')""",
        "import os; os.abort()",
        "import sys; sys.exit(3)",
    ],
)
async def test_a_child_that_was_taken_over_gets_nothing_across(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "child.py"
    script.write_text(program)
    monkeypatch.setattr(confined_children, "_PROGRAM", script)
    with pytest.raises(ApiError) as refusal:
        await decode_bytes(b"x", tmp_path, Decoder(wall_seconds=0.5))
    assert refusal.value.code == "audio_unreadable"
    assert "<b>" not in refusal.value.message
    await no_child_is_left()


async def test_few_children_run_at_once_and_few_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "child.py"
    script.write_text("import time; time.sleep(600)")
    monkeypatch.setattr(confined_children, "_PROGRAM", script)
    decoder = Decoder()
    tasks = [asyncio.create_task(decode_bytes(b"x", tmp_path, decoder)) for _ in range(MAX_WAITING)]
    async with asyncio.timeout(60):
        while len(children()) < MAX_CHILDREN:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    with pytest.raises(ApiError) as busy:
        await decode_bytes(b"x", tmp_path, decoder)
    assert (busy.value.status_code, busy.value.code) == (503, "uploads_busy")
    assert len(children()) == MAX_CHILDREN
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await no_child_is_left()


async def test_a_machine_that_starts_no_more_processes_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the limit of a container is reached."""

    async def no_more(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", no_more)
    with pytest.raises(ApiError) as busy:
        await decode_bytes(b"x", tmp_path, Decoder())
    assert (busy.value.status_code, busy.value.code) == (503, "uploads_busy")


def test_uploads_under_way_are_counted_by_client_and_in_all() -> None:
    uploads = Uploads()
    with ExitStack() as open_uploads:
        for number in range(MAX_UPLOADS):
            open_uploads.enter_context(uploads.place(f"client {number // MAX_PER_TENANT}"))
        for tenant, status_code in (("client 0", 429), ("somebody else", 503)):
            with pytest.raises(ApiError) as refusal, uploads.place(tenant):
                pass
            assert refusal.value.status_code == status_code
    with uploads.place("client 0"), uploads.place("client 0"):
        pass


async def no_child_is_left() -> None:
    """None in our tree, nor in a group of a child's; one that is just being reaped is waited for."""
    async with asyncio.timeout(60):
        while alive := [child for child in psutil.process_iter(["cmdline"]) if _is_ours(child)]:
            assert alive
            await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def _earlier() -> Iterator[None]:
    """What other tests have started is no matter of these."""
    _started_earlier.update(psutil.Process().children(recursive=True))
    yield
    _started_earlier.clear()


_started_earlier: set[psutil.Process] = set()


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if child not in _started_earlier]


def _is_ours(process: psutil.Process) -> bool:
    if process in _started_earlier:
        return False
    line = process.info["cmdline"] or []
    parents = {process.pid}
    try:
        parents |= {parent.pid for parent in process.parents()}
    except psutil.Error:
        return False
    if os.getpid() in parents and process.pid != os.getpid():
        return True
    return line == ["sleep", "86399"] and process.status() != psutil.STATUS_ZOMBIE
