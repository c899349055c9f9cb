"""The watermark leaves length and order alone, and where its networks are installed it is found."""

from __future__ import annotations

import io
import pickle
import zipfile
from importlib.util import find_spec

import numpy as np
import pytest
import soundfile

from gateway.audio import perth
from gateway.audio.formats import encode_clip
from gateway.audio.watermark import Watermark, is_marked, watermark_confidence
from models.voxcpm.checkpoint import BUNDLED_DIRECTORY

RATES = [8000, 16000, 22050, 24000, 44100, 48000]
DELAY_SECONDS = 0.073


def speech(rate: int, seconds: float = 1.36) -> np.ndarray:
    time = np.arange(round(seconds * rate)) / rate
    return (9000 * np.sin(2 * np.pi * (150 + 60 * time) * time) * (np.sin(9 * time) > -0.5)).astype("<i2")


def marked_in_pieces(samples: np.ndarray, rate: int, step: int) -> tuple[bytes, float]:
    """The marked clip, and how far it was behind at most in seconds."""
    mark, out, behind = Watermark(rate), b"", 0
    for start in range(0, len(samples), step):
        out += mark.process(samples[start : start + step].tobytes())
        behind = max(behind, min(start + step, len(samples)) - len(out) // 2)
    return out + mark.process(b"", last=True), behind / rate


@pytest.mark.parametrize("rate", RATES)
def test_as_many_samples_come_out_whatever_pieces_they_came_in(any_network: None, rate: int) -> None:
    samples = speech(rate)
    patches, behind_seconds = marked_in_pieces(samples, rate, round(0.08 * rate))
    odd, _ = marked_in_pieces(samples, rate, 997)
    whole = Watermark(rate).process(samples.tobytes(), last=True)
    assert len(whole) == 2 * len(samples)
    assert patches == odd == whole != samples.tobytes()
    assert behind_seconds < DELAY_SECONDS or rate in (22050, 44100), "their patches are no whole frames"


@pytest.mark.parametrize("count", [0, 1, 100, 2000])
def test_clips_shorter_than_a_block_keep_their_length(any_network: None, count: int) -> None:
    pcm = speech(16000)[:count].tobytes()
    assert len(Watermark(16000).process(pcm, last=True)) == len(pcm)


def test_without_a_change_of_levels_the_samples_stay_as_they_are(
    any_network: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perth, "residual_db", lambda bands: np.zeros((len(bands), perth.BANDS), np.float32))
    pcm = speech(24000).tobytes()
    assert Watermark(24000).process(pcm, last=True) == pcm


def test_a_checkpoint_can_make_nothing_but_tensors() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x/data.pkl", pickle.dumps(print))
    with zipfile.ZipFile(file) as archive, pytest.raises(pickle.UnpicklingError, match="print"):
        perth._Weights(archive, "x/data.pkl").load()


@pytest.mark.skipif(find_spec("perth") is not None, reason="the extra watermark is installed")
def test_without_its_extra_the_watermark_says_what_to_install() -> None:
    with pytest.raises(perth.WatermarkMissingError, match="VOXFLEET_EXTRAS=watermark"):
        Watermark(24000)


@pytest.mark.skipif(find_spec("perth") is None, reason="the extra watermark is not installed")
def test_the_mark_is_found_in_marked_speech_alone() -> None:
    samples, rate = soundfile.read(BUNDLED_DIRECTORY / "voices" / "ruth.flac", dtype="int16")
    samples = samples[: 3 * rate]
    marked = Watermark(rate).process(samples.tobytes(), last=True)
    compressed = encode_clip(marked, rate, "mp3", noted=False)
    heard, heard_rate = soundfile.read(io.BytesIO(compressed), dtype="float32")
    assert is_marked(watermark_confidence(np.frombuffer(marked, "<i2") / 32768, rate))
    assert is_marked(watermark_confidence(heard, heard_rate))
    assert not is_marked(watermark_confidence(samples / 32768, rate))
