"""What `VoxCPM.generate` is given of the wrong kind or out of range is named at the call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import RequestError
from models.voxcpm import VoxCPM

CHECKPOINT = str(Path(__file__).parent.parent / "parity" / "tiny_v2")
TONE = np.sin(np.arange(800) / 9).astype(np.float32)
LONG = "Hello world. Good day. Bye now."


@pytest.fixture(scope="module")
def voice() -> Iterator[VoxCPM]:
    with VoxCPM.from_pretrained(CHECKPOINT, silence_guard=False, part_characters=12) as loaded:
        yield loaded


WRONG: list[tuple[str, Any]] = [
    *[("text", value) for value in (None, 5, b"hello", ["hello"])],
    *[("instructions", value) for value in (5, b"calm")],
    *[("prompt_text", value) for value in (5, b"hum")],
    *[("min_seconds", value) for value in ("2", float("nan"), -1, [], 10**400, True)],
    *[("max_seconds", value) for value in ("2", float("nan"), -1, [], 10**400, True)],
    *[(name, True) for name in ("seed", "cfg_value", "inference_timesteps", "temperature")],
    *[("denoise", value) for value in ("no", 0, 1, None)],
]
NO_AUDIO: list[Any] = [
    *("", "nowhere.wav", "nowhere.m4a", "a\0b.wav"),
    *((samples, 16000) for samples in (TONE[None], TONE * 32767, np.full(9, 1e300), np.repeat(TONE, 500))),
    *(5, TONE, (TONE,), (TONE, 16000, 1), (TONE.tolist(), 16000), b"tone.wav"),
    *((TONE, rate) for rate in (0, -16000, "16000", None, True, 10**12, float("nan"), float("inf"))),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_an_argument_of_the_wrong_kind_is_named(voice: VoxCPM, name: str, value: Any) -> None:
    """Before the first part of a long text is spoken, not with the last."""
    with pytest.raises(RequestError) as refused:
        voice.generate(**{"text": LONG, name: value})
    assert refused.value.param == name


@pytest.mark.parametrize("audio", NO_AUDIO)
def test_what_is_no_recording_is_refused(voice: VoxCPM, audio: Any) -> None:
    """The resampler computes for ever at a rate that is no number."""
    for role in ("reference", "prompt"):
        with pytest.raises(RequestError) as refused:
            voice.generate("hello", **{f"{role}_audio": audio})
        assert refused.value.param == role


def test_a_least_length_above_the_longest_is_refused(voice: VoxCPM) -> None:
    with pytest.raises(RequestError, match="min_seconds is 2, above the 1 of max_seconds") as refused:
        voice.generate(LONG, min_seconds=2, max_seconds=1)
    assert refused.value.param == "min_seconds"


@pytest.mark.parametrize("name", [5, ["anna"], b"anna"])
def test_the_name_of_an_adapter_is_a_text(voice: VoxCPM, name: Any) -> None:
    for use in (
        lambda: voice.generate("hello", lora=name),
        lambda: voice.unload_lora(name),
        lambda: voice.set_lora_enabled(False, name),
    ):
        with pytest.raises(RequestError, match="an adapter is named by a text, got") as refused:
            use()
        assert refused.value.param == "adapter"


@pytest.mark.parametrize("path", [None, 5, b"anna"])
def test_an_adapter_is_loaded_from_a_folder(voice: VoxCPM, path: Any) -> None:
    with pytest.raises(RequestError, match="path must be that of an adapter's folder, got"):
        voice.load_lora(path)


def test_the_name_of_a_model_is_no_engine() -> None:
    with pytest.raises(TypeError, match=r"VoxCPM\.from_pretrained\('bundled'\)"):
        VoxCPM("bundled")  # type: ignore[arg-type]


def test_an_adapter_is_switched_by_a_truth_value(voice: VoxCPM) -> None:
    with pytest.raises(RequestError, match="enabled must be True or False, got 'no'"):
        voice.set_lora_enabled("no")  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["float16", "longdouble", ">f4"])
def test_samples_of_any_floats_are_resampled(voice: VoxCPM, dtype: str) -> None:
    tone = (TONE / 2).astype(np.float16)
    clips = [
        voice.synthesize("hello", seed=1, max_seconds=0.02, reference_audio=(tone.astype(kind), 8000))
        for kind in ("float32", dtype)
    ]
    assert np.abs(clips[0] - clips[1]).max() <= 1e-4 * np.abs(clips[0]).max()
