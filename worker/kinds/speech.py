"""Between the wire and a speech engine: `StartRequest` to `SpeechRequest`, `SpeechOutput` to `Frame`.

In the engine a request is called by its id and attempt, "r1.2": a second attempt may arrive while the engine
has not yet let go of the first.
"""

from __future__ import annotations

import numpy as np

from engine.errors import RequestError
from models.speech import FinishReason, ModelInfo, SpeechEngine, SpeechOutput, SpeechRequest
from worker.protocol import INVALID_ADAPTER, Counters, Frame, FrameKind, Latents, StartRequest

LATENT_FIELDS = ("prompt_latents", "reference_latents", "resume_latents")
_SHORT_TEXT_CHARACTERS = 150
"""As many take 0.1 ms to tokenise; a thread takes half of that for nothing, and in a burst waits its turn."""
_PLAIN_FIELDS = (
    "text",
    "language",
    "instructions",
    "seed",
    "voice",
    "prompt_text",
    "cfg_value",
    "inference_timesteps",
    "temperature",
    "min_seconds",
    "max_seconds",
)


class SpeechKind:
    """The `worker.kinds.ModelKind` of speech."""

    start = StartRequest
    gathers = False

    def __init__(self, engine: SpeechEngine) -> None:
        self._info = engine.info

    def is_quick(self, start: StartRequest) -> bool:
        """Short text without audio to check."""
        with_audio = any(getattr(start, name) is not None for name in LATENT_FIELDS)
        return not with_audio and len(start.text) <= _SHORT_TEXT_CHARACTERS

    def request(self, start: StartRequest) -> SpeechRequest:
        """Raises RequestError."""
        return to_speech_request(start, self._info)

    def begun(self, request: SpeechRequest) -> int:
        """Patches that were made before."""
        return request.resume_patches

    def accepted(self, request: SpeechRequest) -> dict[str, int]:
        """The rate of its audio."""
        return {"sample_rate": self._info.sample_rate}

    def size(self, request: SpeechRequest) -> dict[str, int]:
        """The size of a request, for the log."""
        return {"characters": len(request.text)}

    def ending(self, request_id: str, index: int, reason: FinishReason) -> SpeechOutput:
        """The last output of a request that got no last patch."""
        return SpeechOutput.ending(request_id, index, reason)

    def fault(self, ending: SpeechOutput, start: StartRequest) -> RequestError | None:
        """The adapter, where values grew out of bounds with one."""
        if start.adapter is None or not ending.not_finite:
            return None
        return RequestError(f"with this adapter, {ending.error}", "adapter", INVALID_ADAPTER)

    def frame(self, outputs: list[SpeechOutput], start: StartRequest, index: int, step: int) -> Frame:
        """The frame of one output: each patch is a frame."""
        return to_frame(outputs[0], start, step)

    def count(self, frame: Frame, counters: Counters) -> None:
        """Count a frame that goes out."""
        if frame.kind is FrameKind.AUDIO:
            counters.patches += 1
            counters.audio_seconds += frame.samples / self._info.sample_rate


def to_speech_request(start: StartRequest, info: ModelInfo) -> SpeechRequest:
    """Raises RequestError for latents that are not of this model's shape or not finite."""
    plain = {name: getattr(start, name) for name in _PLAIN_FIELDS}
    latents = {name: to_array(getattr(start, name), info, name) for name in LATENT_FIELDS}
    return SpeechRequest(
        f"{start.request_id}.{start.attempt}",
        **plain,
        **latents,
        resume_silence=start.resume_silence,
        adapter=start.adapter.digest if start.adapter else None,
    )


def to_array(latents: Latents | None, info: ModelInfo, param: str) -> np.ndarray | None:
    """float32 [n, P, D], or None when there are no patches. Raises RequestError naming `param`."""
    if latents is None or latents.shape[0] == 0:
        return None
    if latents.shape[1:] != (info.patch_size, info.latent_dim):
        expected = f"[n, {info.patch_size}, {info.latent_dim}]"
        raise RequestError(
            f"{param} must have shape {expected}, not {list(latents.shape)}", param, "invalid_latents"
        )
    array = np.frombuffer(latents.data, dtype="<f4").reshape(latents.shape).astype(np.float32)
    if not np.isfinite(array).all():
        raise RequestError(f"{param} has values that are no numbers", param, "invalid_latents")
    return array


def from_array(array: np.ndarray) -> Latents:
    """Latents [n, P, D] for the wire."""
    return Latents(shape=array.shape, data=np.ascontiguousarray(array, dtype="<f4").tobytes())


def to_frame(output: SpeechOutput, start: StartRequest, step: int) -> Frame:
    """AUDIO for an output with a patch, FINAL for one without. `step`: engine steps so far."""
    has_patch = len(output.audio) > 0
    return Frame(
        kind=FrameKind.AUDIO if has_patch else FrameKind.FINAL,
        request_id=start.request_id,
        attempt=start.attempt,
        sequence=output.index,
        step=step,
        latents=np.ascontiguousarray(output.latents, dtype="<f4").tobytes() if has_patch else b"",
        pcm=to_pcm(output.audio),
        last=output.finish_reason is not None,
        finish_reason=output.finish_reason,
        flaw=output.flaw if start.watch and has_patch else "",
        silent=bool(start.watch) and has_patch and output.silent,
    )


def to_pcm(audio: np.ndarray) -> bytes:
    """s16 little-endian of float samples, full scale 32767, clipped to [-1, 1]."""
    return np.rint(np.clip(audio, -1.0, 1.0) * 32767.0).astype("<i2").tobytes()
