"""Audio files from clients: what is taken, and that everything else is refused before it costs anything."""

import io
import struct

import numpy as np
import pytest
import soundfile

from engine.errors import RequestError
from tests.worker.harness import tone
from worker.audio_input import decode_audio


def encode(samples: np.ndarray, kind: str = "WAV", rate: int = 16_000, **options) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=kind, **options)
    return file.getvalue()


def refusal(data: bytes, max_seconds: float = 10.0) -> str:
    with pytest.raises(RequestError) as caught:
        decode_audio(data, max_seconds)
    assert caught.value.param == "audio"
    return caught.value.code


@pytest.mark.parametrize(
    ("kind", "tolerance"), [("WAV", 1e-4), ("FLAC", 1e-4), ("AIFF", 1e-4), ("OGG", 0.2), ("MP3", 0.2)]
)
def test_common_formats_are_read(kind: str, tolerance: float) -> None:
    samples = tone(1.0)
    decoded, rate = decode_audio(encode(samples, kind), 10.0)
    assert rate == 16_000
    assert decoded.dtype == np.float32
    shared = min(len(decoded), len(samples))
    assert abs(len(decoded) - len(samples)) <= 2304
    assert np.sqrt(np.mean((decoded[:shared] - samples[:shared]) ** 2)) <= tolerance


def test_channels_are_averaged() -> None:
    left = tone(0.5)
    decoded, _ = decode_audio(encode(np.stack([left, np.zeros_like(left)], axis=1), subtype="FLOAT"), 10.0)
    np.testing.assert_allclose(decoded, left / 2, atol=1e-6)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not audio at all, but quite long" * 100,
        b"RIFF\xff\xff\xff\xffWAVEfmt ",
        b"fLaC" + bytes(100),
        b"\x7fELF" + bytes(5000),
        encode(tone(0.5), "RAW", subtype="PCM_16"),
        encode(tone(0.5), "AU"),
        encode(np.full(8000, np.nan, dtype=np.float32), subtype="FLOAT"),
        encode(np.full(8000, np.inf, dtype=np.float32), subtype="FLOAT"),
        encode(tone(0.5), rate=1_000),
        encode(np.zeros((8000, 9), dtype=np.float32) + 0.1),
    ],
)
def test_what_is_no_usable_audio_is_refused(data: bytes) -> None:
    assert refusal(data) == "unsupported_audio"


def test_length_is_bounded_on_both_sides() -> None:
    assert refusal(encode(tone(0.09))) == "audio_too_short"
    assert refusal(encode(tone(2.01)), max_seconds=2.0) == "audio_too_long"
    decode_audio(encode(tone(2.0)), 2.0)
    decode_audio(encode(tone(0.1)), 2.0)


def test_silence_is_refused() -> None:
    assert refusal(encode(np.zeros(16_000, dtype=np.float32))) == "audio_silent"


def test_a_small_file_that_unpacks_to_an_hour_is_refused() -> None:
    bomb = encode(np.zeros(48_000 * 600, dtype=np.int16), "FLAC", rate=48_000)
    assert len(bomb) < 200_000
    assert refusal(bomb, max_seconds=60.0) == "audio_too_long"


def test_a_header_that_claims_less_than_the_file_holds_does_not_get_past_the_limit() -> None:
    data = bytearray(encode(tone(5.0), "FLAC"))
    total_samples = struct.unpack(">Q", data[18:26])[0]
    data[18:26] = struct.pack(">Q", total_samples & ~0xFFFFFFFFF | 16_000)
    try:
        decoded, _ = decode_audio(bytes(data), 2.0)
    except RequestError:
        return
    assert len(decoded) <= 2 * 16_000
