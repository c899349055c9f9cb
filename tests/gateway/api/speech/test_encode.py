"""`POST /api/encode`: the same sound in another format, and refusals of what is no such sound."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path

import av
import httpx
import numpy as np
import pytest

from gateway.audio.wav import UNKNOWN_BYTES, wav_header
from gateway.voices.uploads import MAX_PER_TENANT
from tests.security.apps import running_app

RATE = 24_000
PCM = (8000 * np.sin(2 * np.pi * 440 * np.arange(8 * RATE) / RATE)).astype("<i2").tobytes()
WAV = wav_header(RATE, len(PCM), noted=True) + PCM


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with running_app(tmp_path, max_encode_bytes=2 * len(WAV)) as (_, opened):
        async with opened() as client:
            yield client


def samples_of(file: bytes) -> tuple[np.ndarray, int]:
    with av.open(io.BytesIO(file)) as container:
        frames = list(container.decode(audio=0))
    whole = av.AudioResampler("s16", "mono").resample
    parts = [part.to_ndarray().reshape(-1) for frame in frames for part in whole(frame)]
    return np.concatenate(parts), frames[0].sample_rate


async def test_is_heard_alike_in_every_format(http: httpx.AsyncClient) -> None:
    for format in ("mp3", "opus", "aac"):
        answer = await http.post(f"/api/encode?format={format}", content=WAV)
        assert answer.status_code == 200, answer.text
        assert int(answer.headers["content-length"]) == len(answer.content) < len(WAV) / 3
        samples, rate = samples_of(answer.content)
        assert len(samples) / rate == pytest.approx(8, abs=0.2)
        spectrum = np.abs(np.fft.rfft(samples[rate : 5 * rate]))
        assert np.argmax(spectrum) / 4 == pytest.approx(440, abs=1)


@pytest.mark.parametrize("announced", [len(PCM), UNKNOWN_BYTES])
async def test_lossless_formats_lose_nothing(http: httpx.AsyncClient, announced: int) -> None:
    wav = wav_header(RATE, announced, noted=False) + PCM

    async def in_odd_pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(wav), 99_999):
            yield wav[start : start + 99_999]

    for format in ("flac", "wav"):
        answer = await http.post(f"/api/encode?format={format}", content=in_odd_pieces())
        samples, rate = samples_of(answer.content)
        assert (samples.astype("<i2").tobytes(), rate) == (PCM, RATE)


REFUSED = [
    (b"", "mp3", "invalid_audio"),
    (b"ID3" + bytes(2000), "mp3", "invalid_audio"),
    (WAV[:-2], "mp3", "invalid_audio"),
    (wav_header(RATE, 0, noted=False), "wav", "invalid_audio"),
    (wav_header(RATE, 0, noted=False) + bytes(2), "mp3", "invalid_audio"),
    (wav_header(RATE, UNKNOWN_BYTES, noted=False) + bytes(1), "opus", "invalid_audio"),
    (wav_header(RATE, 101, noted=False) + bytes(102), "mp3", "invalid_audio"),
    (wav_header(RATE, 4, noted=False, samples="f32") + bytes(4), "flac", "invalid_audio"),
    (wav_header(96_000, 4, noted=False) + bytes(4), "flac", "invalid_audio"),
    (WAV, "exe", "invalid_value"),
]


async def test_what_is_no_wav_file_is_refused_and_gives_its_place_back(http: httpx.AsyncClient) -> None:
    for body, format, code in REFUSED:
        answer = await http.post(f"/api/encode?format={format}", content=body)
        assert answer.status_code == 422
        assert answer.json()["error"]["code"] == code
    answer = await http.post("/api/encode?format=mp3", content=3 * WAV)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")
    assert (await http.post("/api/encode?format=flac", content=WAV)).status_code == 200
    assert len(REFUSED) > MAX_PER_TENANT
