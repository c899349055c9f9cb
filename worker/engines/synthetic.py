"""A speech engine without a model, for load tests, fault tests and pages.

Every patch is a short tone and a block of latents, both a pure function of (text, seed, reference, patch
index). So any clip can be checked byte for byte against `SyntheticEngine.render`, whichever workers had a
part in it. Latents given to resume from must be the ones that text, seed and reference make; others are
refused, which finds a relay that lost, repeated or mixed up patches. A step of the whole batch takes
`step_ms`, as on a device.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.errors import RequestError
from models.speech import AudioRole, FinishReason, ModelInfo, SpeechOutput, SpeechRequest

INFO = ModelInfo(
    name="synthetic",
    revision="synthetic-1",
    sample_rate=24_000,
    patch_samples=3_840,
    patch_size=4,
    latent_dim=64,
    reference_sample_rate=16_000,
    languages=("en",),
    voices=("default",),
    features=("reference", "prompt"),
)
CHARACTERS_PER_SECOND = 15.0
MAX_SECONDS = 600.0
_PENTATONIC_CYCLES = (32, 36, 40, 48, 54, 64, 72, 80, 96, 108)
"""Whole cycles per patch, 200 to 675 Hz: each patch starts and ends at zero, so the seams are silent."""
_RANGES = {
    "cfg_value": (0.1, 10.0),
    "inference_timesteps": (2, 100),
    "temperature": (0.0, 2.0),
    "min_seconds": (0.0, MAX_SECONDS),
    "max_seconds": (INFO.patch_seconds, MAX_SECONDS),
}


@dataclass
class _Running:
    request: SpeechRequest
    key: bytes
    next_index: int
    num_patches: int
    finish_reason: FinishReason


class SyntheticEngine:
    """A `SpeechEngine` of `slots` concurrent requests; more wait in order of arrival."""

    info = INFO
    device = "cpu"

    def __init__(self, step_ms: float = 40.0, slots: int = 4) -> None:
        self._step_seconds = step_ms / 1000.0
        self._slots = slots
        self._requests: OrderedDict[str, _Running] = OrderedDict()
        self._paused: dict[str, _Running] = {}

    def prepare(self, request: SpeechRequest) -> _Running:
        """Raise RequestError for a bad field, or for `resume_latents` that are not of (text, seed)."""
        _validate_text(request)
        for name, (low, high) in _RANGES.items():
            value = getattr(request, name)
            if value is not None and not low <= value <= high:
                raise RequestError(f"{name} must be from {low:g} to {high:g}", name, "out_of_range")
        if (request.min_seconds or 0.0) > (request.max_seconds or math.inf):
            raise RequestError("min_seconds is larger than max_seconds", "min_seconds", "out_of_range")
        if (request.prompt_text is None) != (request.prompt_latents is None):
            raise RequestError(
                "prompt audio and prompt text are given together", "prompt_text", "invalid_prompt"
            )
        _validate_resume(request)
        return _Running(request, key_of(request), request.resume_patches, *plan(request))

    def add(self, prepared: _Running) -> None:
        """Take up what `prepare` returned. Raises RequestError."""
        request_id = prepared.request.request_id
        if request_id in self._requests or request_id in self._paused:
            raise RequestError("a request of this id is open", "request_id", "duplicate_request")
        self._requests[request_id] = prepared

    def add_request(self, request: SpeechRequest) -> None:
        """`prepare` and `add` in one. Raises RequestError."""
        self.add(self.prepare(request))

    def cancel(self, request_id: str) -> bool:
        """Drop a request; False when there is no such one."""
        paused = self._paused.pop(request_id, None)
        return (self._requests.pop(request_id, None) or paused) is not None

    def pause(self, request_id: str) -> bool:
        """Keep a request out of the steps that follow; False when there is no such one."""
        if running := self._requests.pop(request_id, None):
            self._paused[request_id] = running
        return request_id in self._paused

    def resume(self, request_id: str) -> bool:
        """Undo `pause`; False when there is no such request."""
        if paused := self._paused.pop(request_id, None):
            self._requests[request_id] = paused
        return request_id in self._requests

    def has_unfinished(self) -> bool:
        """Whether a request waits or runs, paused ones left aside."""
        return bool(self._requests)

    def step(self) -> list[SpeechOutput]:
        """One patch of each of the oldest `slots` requests, after `step_ms`."""
        ends_at = time.monotonic() + self._step_seconds
        batch = list(self._requests.values())[: self._slots]
        outputs = [self._advance(running) for running in batch]
        time.sleep(max(0.0, ends_at - time.monotonic()))
        return outputs

    def _advance(self, running: _Running) -> SpeechOutput:
        index = running.next_index
        running.next_index += 1
        finished = running.next_index == running.num_patches
        if finished:
            del self._requests[running.request.request_id]
        return SpeechOutput(
            running.request.request_id,
            index,
            *make_patch(running.key, index),
            finish_reason=running.finish_reason if finished else None,
        )

    def encode_audio(self, samples: np.ndarray, sample_rate: int, role: AudioRole) -> np.ndarray:
        """Latents [n, P, D]: the mean level of each `patch_seconds` of audio, repeated."""
        piece = max(1, round(sample_rate * INFO.patch_seconds))
        num_patches = max(1, math.ceil(len(samples) / piece))
        padded = np.zeros(num_patches * piece, dtype=np.float32)
        padded[: len(samples)] = samples
        levels = np.abs(padded.reshape(num_patches, 1, 1, piece)).mean(axis=-1)
        return np.broadcast_to(levels, (num_patches, INFO.patch_size, INFO.latent_dim)).astype(np.float32)

    def close(self) -> None:
        """Drop all requests."""
        self._requests.clear()
        self._paused.clear()

    @staticmethod
    def render(request: SpeechRequest) -> tuple[np.ndarray, np.ndarray]:
        """The whole clip that any worker must produce: audio [n * patch_samples] and latents [n, P, D]."""
        num_patches, _ = plan(request)
        key = key_of(request)
        patches = [make_patch(key, index) for index in range(num_patches)]
        return np.concatenate([audio for audio, _ in patches]), np.stack([latents for _, latents in patches])


def plan(request: SpeechRequest) -> tuple[int, FinishReason]:
    """Number of patches of the clip and why it ends there: 15 characters are one second of speech."""
    wanted = max(1, round(len(request.text) / CHARACTERS_PER_SECOND / INFO.patch_seconds))
    wanted = max(wanted, math.ceil((request.min_seconds or 0.0) / INFO.patch_seconds - 1e-9))
    allowed = int((request.max_seconds or MAX_SECONDS) / INFO.patch_seconds + 1e-9)
    return (wanted, "stop") if wanted <= allowed else (allowed, "length")


def key_of(request: SpeechRequest) -> bytes:
    """What every patch of a clip is derived from: text, seed, and the reference if there is one."""
    key = hashlib.blake2b(
        request.text.encode("utf-8", "surrogatepass"), key=request.seed.to_bytes(8, "little")
    )
    if request.reference_latents is not None:
        key.update(np.ascontiguousarray(request.reference_latents, dtype="<f4").tobytes())
    return key.digest()


def make_patch(key: bytes, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Audio [patch_samples] and latents [P, D] of patch `index` of the clip `key`."""
    values = INFO.patch_size * INFO.latent_dim
    digest = hashlib.shake_128(key + index.to_bytes(4, "little")).digest(2 * values + 4)
    latents = np.frombuffer(digest, dtype="<i2", count=values).astype(np.float32) / 8192.0
    cycles = _PENTATONIC_CYCLES[digest[-4] % len(_PENTATONIC_CYCLES)]
    level = 0.15 + 0.15 * int.from_bytes(digest[-3:], "little") / 2**24
    return _sine(cycles) * np.float32(level), latents.reshape(INFO.patch_size, INFO.latent_dim)


@lru_cache(maxsize=len(_PENTATONIC_CYCLES))
def _sine(cycles: int) -> np.ndarray:
    phase = np.arange(INFO.patch_samples) * (2 * np.pi * cycles / INFO.patch_samples)
    return np.sin(phase).astype(np.float32)


def _validate_text(request: SpeechRequest) -> None:
    if not request.text.strip():
        raise RequestError("text is empty", "text", "empty_text")
    if len(request.text) > INFO.max_text_characters:
        message = f"text has {len(request.text)} characters, at most {INFO.max_text_characters} are allowed"
        raise RequestError(message, "text", "text_too_long")
    if request.voice not in INFO.voices:
        raise RequestError("there is no such voice", "voice", "unknown_voice")


def _validate_resume(request: SpeechRequest) -> None:
    if request.resume_latents is None:
        return
    num_patches, _ = plan(request)
    if request.resume_patches >= num_patches:
        raise RequestError("the clip to resume is complete already", "resume_latents", "nothing_to_resume")
    key = key_of(request)
    for index, latents in enumerate(request.resume_latents):
        if not np.array_equal(latents, make_patch(key, index)[1]):
            message = f"patch {index} is not what this text and seed make"
            raise RequestError(message, "resume_latents", "foreign_latents")
