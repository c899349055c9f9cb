"""Every file of generated speech says so, in words that other programs read, and sounds the same."""

from __future__ import annotations

import io
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

from gateway.audio.encoders import stream_encoder
from gateway.audio.formats import AUDIO_FORMATS, encode_clip
from gateway.audio.note import SOFTWARE, SOURCE_TYPE
from gateway.audio.wav import read_header, wav_header
from gateway.sessions.storage import files
from gateway.sessions.storage.recording_files import RecordingFiles, recover
from gateway.sessions.storage.wav import read_growing
from tests.gateway.audio.files import wav_samples

RATE = 24000
CONTAINERS = [format for format in AUDIO_FORMATS if format != "pcm"]


def clip(seconds: float = 1.0) -> bytes:
    time = np.arange(round(seconds * RATE)) / RATE
    return (9000 * np.sin(2 * np.pi * (200 + 300 * time) * time)).astype("<i2").tobytes()


def whole(format: str, noted: bool) -> bytes:
    return encode_clip(clip(), RATE, format, noted=noted)


def streamed(format: str, noted: bool) -> bytes:
    encoder, pcm = stream_encoder(format, RATE, noted=noted), clip()
    pieces = [encoder.encode(pcm[start : start + 3840]) for start in range(0, len(pcm), 3840)]
    return b"".join([*pieces, encoder.finish()])


def tags_and_samples(file: bytes) -> tuple[dict[str, str], np.ndarray]:
    """As FFmpeg reads them."""
    with av.open(io.BytesIO(file)) as container:
        stream = container.streams.audio[0]
        tags = {**container.metadata, **stream.metadata}
        samples = [frame.to_ndarray().reshape(-1) for frame in container.decode(stream)]
    return tags, np.concatenate(samples)


@pytest.mark.parametrize("make", [whole, streamed])
@pytest.mark.parametrize("format", CONTAINERS)
def test_a_file_names_its_software_and_what_kind_of_source_it_is(format: str, make) -> None:
    tags, _ = tags_and_samples(make(format, True))
    assert SOURCE_TYPE in tags.values()
    assert any(value.startswith(SOFTWARE) for value in tags.values())


@pytest.mark.parametrize("make", [whole, streamed])
@pytest.mark.parametrize("format", CONTAINERS)
def test_the_note_changes_no_sample(format: str, make) -> None:
    _, noted = tags_and_samples(make(format, True))
    tags, plain = tags_and_samples(make(format, False))
    assert np.array_equal(noted, plain)
    assert SOURCE_TYPE not in tags.values() and SOFTWARE not in str(tags)


@pytest.mark.parametrize("format", ["wav", "flac"])
def test_libsndfile_reads_the_same(format: str) -> None:
    with soundfile.SoundFile(io.BytesIO(whole(format, True))) as file:
        told = file.copy_metadata()
        assert np.array_equal(file.read(dtype="int16"), np.frombuffer(clip(), "<i2"))
    assert told["software"].startswith(SOFTWARE) and told["comment"] == SOURCE_TYPE


def test_the_note_comes_first_so_that_a_stream_that_is_cut_off_has_it() -> None:
    for format in CONTAINERS:
        encoder = stream_encoder(format, RATE, noted=True)
        begun = encoder.encode(clip(0.5))
        assert SOURCE_TYPE.encode() in begun, format


def test_raw_samples_stay_raw() -> None:
    assert whole("pcm", True) == streamed("pcm", True) == clip()


def record(folder: Path, noted: bool, utterances: int) -> RecordingFiles:
    recording = RecordingFiles(folder, noted=noted)
    recording.begin({"type": "session", "id": "s", "kind": "clip", "created_at": "2026-01-01T00:00:00+00:00"})
    for index in range(utterances):
        recording.write({"type": "utterance", "at": 0, "index": index, "text": "Hi.", "parameters": {}})
        line = {"type": "audio", "at": 1, "index": index, "samples": 1000, "sample_rate": RATE}
        recording.audio(line, clip()[:2000], RATE)
    return recording


@pytest.mark.parametrize("noted", [True, False])
def test_recordings_have_the_note_in_every_file(tmp_path: Path, noted: bool) -> None:
    record(tmp_path / "s", noted, 2).finish("stop")
    paths = [*files.utterance_files(tmp_path / "s"), tmp_path / "s" / files.MERGED]
    assert len(paths) == 3
    for path in paths:
        tags, _ = tags_and_samples(path.read_bytes())
        assert (SOURCE_TYPE in tags.values()) == noted
        assert wav_samples(path.read_bytes()) == clip()[:2000] * (1 if path.name != files.MERGED else 2)


@pytest.mark.parametrize("noted", [True, False])
def test_what_a_crash_left_of_a_recording_keeps_its_note(tmp_path: Path, noted: bool) -> None:
    """One without it may be of an older version, or of a gateway that leaves it out."""
    folder = tmp_path / "s"
    record(folder, noted, 2).close()
    for path in (files.utterance_file(folder, 1), folder / files.MERGED):
        path.write_bytes(path.read_bytes() + b"\1\2\3")
    recover(folder)
    for path in (files.utterance_file(folder, 1), folder / files.MERGED):
        assert (SOURCE_TYPE.encode() in path.read_bytes()) == noted
        wav_samples(path.read_bytes())
    assert wav_samples((folder / files.MERGED).read_bytes()).startswith(clip()[:2000] * 2)


def test_a_recording_without_a_whole_header_has_no_audio(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    header = wav_header(RATE, 100, noted=True)
    for length in (0, 11, 43, len(header) - 1):
        path.write_bytes(header[:length])
        with pytest.raises(FileNotFoundError):
            read_growing(path)
    assert read_header(header + bytes(100)) == header
