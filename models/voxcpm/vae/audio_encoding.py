"""Reference and prompt audio to latent patches, with the padding the model was trained with.

A prompt is padded on the left, so that its last patch ends where the speech ends and generation joins
it; a reference is padded on the right. Of a reference that is longer than those the model was trained with
(`max_reference_seconds` of its generation_config.json) the part with the most speech is taken.

Where the file says so (`reference_resynthesis`, 0 to 1), a reference that a request brings is moved by that
share towards what the VAE makes of its own reading of it. A model that heard few speakers takes some
recordings for one of those; it does so less where they sound as its own decoder does. The voices that a
checkpoint brings, files, are taken as they are, and encoded once.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch

from engine.device.staging import upload
from engine.errors import RequestError
from models.bounds import Bounds
from models.speech import AudioRole
from models.voxcpm.checkpoint import Checkpoint

CACHE_ENTRIES = 64
SPEECH_LEVEL = 0.1
"""Share of the loudest 20 ms of a recording: what is quieter is a pause."""
FRAME_SECONDS = 0.02
SAMPLE_RATES = Bounds(1, 10**7)
LOUDEST = 100.0
"""Of samples from -1 to 1 that were made too loud; those of 16 bits that nobody divided go far beyond."""
OF_RECORDERS = (".m4a", ".webm")
"""Suffixes of what telephones and browsers record."""


class LatentMemory:
    """Latents of the latest recordings, by what tells their content; safe to use from several threads."""

    def __init__(self) -> None:
        self._latents: OrderedDict[Hashable, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, content: Hashable, encode: Callable[[], np.ndarray]) -> np.ndarray:
        """The latents known for `content`, or what `encode` makes."""
        with self._lock:
            if content in self._latents:
                self._latents.move_to_end(content)
                return self._latents[content]
        latents = encode()
        with self._lock:
            self._latents[content] = latents
            while len(self._latents) > CACHE_ENTRIES:
                self._latents.popitem(last=False)
        return latents


class AudioEncoder:
    """Encodes audio with a checkpoint's VAE; safe to call from several threads.

    max_model_len: positions of a request, of which audio takes one a patch; None is the checkpoint's.
    """

    def __init__(self, checkpoint: Checkpoint, max_model_len: int | None = None) -> None:
        self._vae = checkpoint.vae
        self._config = checkpoint.config
        self._device = checkpoint.device
        self._longest_seconds = (max_model_len or self._config.max_length) * self._config.patch_seconds
        self._longest_reference: float | None = checkpoint.generation.get("max_reference_seconds")
        self._resynthesis: float = checkpoint.generation.get("reference_resynthesis", 0.0)
        self._files = LatentMemory()
        self._stream = torch.cuda.Stream(self._device) if self._device.type == "cuda" else None
        """A stream of its own, so that a long reference does not hold up the steps of the engine."""

    def encode(self, samples: np.ndarray, sample_rate: int, role: AudioRole) -> np.ndarray:
        """What a request brings: mono float32 [samples] at any rate -> float32 [n, P, D].

        Raises RequestError for audio that `check_samples` refuses, that is empty once it is resampled, that
        is longer than a request can be, or for a role this model lacks.
        """
        return self._encode(samples, sample_rate, role, self._resynthesis if role == "reference" else 0.0)

    @torch.inference_mode()
    def _encode(
        self, samples: np.ndarray, sample_rate: int, role: AudioRole, resynthesis: float
    ) -> np.ndarray:
        if role == "reference" and not self._config.supports_reference:
            raise RequestError("this model takes no reference audio", param="reference")
        check_samples(samples, sample_rate, role)
        samples = resample(samples, sample_rate, self.sample_rate)
        if not len(samples):
            raise RequestError(f"{role} audio must be mono and not empty", param=role)
        if role == "reference" and self._longest_reference is not None:
            samples = most_speech(samples, self.sample_rate, self._longest_reference)
        if (seconds := len(samples) / self.sample_rate) > self._longest_seconds:
            limit = f"this model has room for less than {self._longest_seconds:g}"
            raise RequestError(f"{role} audio has {seconds:.1f} s, {limit}", param=role)
        with torch.cuda.stream(self._stream):
            latents = self._latents(samples, role)
            if resynthesis:
                latents = torch.lerp(latents, self._resynthesised(latents), resynthesis)
            patches = latents[0].unflatten(1, (-1, self._config.patch_size)).permute(1, 2, 0)
            return patches.contiguous().cpu().numpy()

    def _latents(self, samples: np.ndarray, role: AudioRole) -> torch.Tensor:
        """float32 [samples] at the VAE's rate -> latents [1, D, N]."""
        return self._vae.encode(upload(self.pad(samples, role), self._device)[None, None])

    def _resynthesised(self, latents: torch.Tensor) -> torch.Tensor:
        """Latents [1, D, N] of the audio that the VAE makes of a reference's latents [1, D, N]."""
        audio = self._vae.decode(latents)[0, 0].cpu().numpy()
        heard = resample(audio, self._config.audio_vae_config.output_sample_rate, self.sample_rate)
        return self._latents(heard, "reference")[..., : latents.shape[-1]]

    @property
    def sample_rate(self) -> int:
        return self._config.audio_vae_config.sample_rate

    def pad(self, samples: np.ndarray, role: AudioRole) -> np.ndarray:
        """Pad with zeros to whole patches, on the left for a prompt and on the right for a reference."""
        patch = self._config.patch_size * self._config.audio_vae_config.hop_length
        missing = -len(samples) % patch
        padding = (missing, 0) if role == "prompt" else (0, missing)
        return np.pad(samples.astype(np.float32), padding)

    def encode_file(self, path: Path, role: AudioRole) -> np.ndarray:
        """An audio file that libsndfile reads, as it is; equal content is encoded once."""
        content = (hashlib.sha256(path.read_bytes()).hexdigest(), role)
        return self._files.get(content, lambda: self._encode(*read_audio(path), role, resynthesis=0.0))


def check_samples(samples: np.ndarray, sample_rate: float, role: AudioRole) -> None:
    """Raises RequestError for what cannot be audio, however long it is."""
    problem = None
    if not isinstance(samples, np.ndarray):
        problem = f"must be a NumPy array of floats from -1 to 1, not a {type(samples).__name__}"
    elif samples.dtype.kind != "f":
        problem = f"must be floats from -1 to 1, not {samples.dtype}"
    elif samples.ndim != 1 or not len(samples):
        problem = f"must be mono and not empty, not of shape {samples.shape}"
    elif not np.isfinite(samples).all():
        problem = "has values that are not finite"
    elif (peak := np.abs(samples).max()) > LOUDEST:
        problem = f"must be floats from -1 to 1, it goes to {peak:g}"
    if problem is not None:
        raise RequestError(f"{role} audio {problem}", param=role)
    if not SAMPLE_RATES.hold(sample_rate):
        problem = f"the sample rate of {role} audio must be {SAMPLE_RATES}, got {sample_rate!r}"
        raise RequestError(problem, param=role)


def most_speech(samples: np.ndarray, sample_rate: int, longest_seconds: float) -> np.ndarray:
    """The first stretch of at most `longest_seconds` that has the fewest pauses: float32 [samples]."""
    frame = round(FRAME_SECONDS * sample_rate)
    wanted = max(int(longest_seconds * sample_rate) // frame, 1)
    frames = len(samples) // frame
    if frames <= wanted:
        return samples
    levels = np.square(samples[: frames * frame].reshape(frames, frame), dtype=np.float64).mean(axis=1)
    loud = np.cumsum(np.concatenate([[0], levels > SPEECH_LEVEL**2 * levels.max()]))
    start = int(np.argmax(loud[wanted:] - loud[:-wanted])) * frame
    return samples[start : start + wanted * frame]


def read_audio(path: Path, param: str = "audio") -> tuple[np.ndarray, int]:
    """(mono float32 [samples], sample rate) of an audio file. Raises RequestError when it can't be read."""
    import av
    import soundfile

    try:
        with path.open("rb") as file:  # libsndfile does not tell why it cannot open one
            if path.suffix.lower() in OF_RECORDERS:
                return _decoded(file)
            samples, sample_rate = soundfile.read(file, dtype="float32", always_2d=True)
    except (soundfile.LibsndfileError, av.FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "error_string", None) or getattr(error, "strerror", None) or error
        raise RequestError(f"{path.name} cannot be read as audio: {reason}", param=param) from error
    return samples.mean(axis=1), sample_rate


def _decoded(file: BinaryIO) -> tuple[np.ndarray, int]:
    """Samples and rate of a file that libsndfile does not read. Raises ValueError, also without audio."""
    import av

    with av.open(file) as container:
        stream = next(iter(container.streams.audio), None)
        if stream is None:
            raise ValueError("there is no audio in it")
        mono = av.AudioResampler("flt", "mono")
        frames = [part for frame in (*container.decode(stream), None) for part in mono.resample(frame)]
    return np.concatenate([frame.to_ndarray()[0] for frame in frames]), frames[0].sample_rate


def resample(samples: np.ndarray, source_rate: int, target_rate: int) -> np.ndarray:
    """float32 [samples] at `source_rate` -> float32 at `target_rate`."""
    if source_rate == target_rate:
        return samples
    import soxr

    if samples.dtype not in (np.float32, np.float64):
        samples = samples.astype(np.float32)
    return soxr.resample(samples, source_rate, target_rate)
