"""VoxCPM as a Python object.

    voice = VoxCPM.from_pretrained("bundled")
    for chunk in voice.generate("Good morning."):          # float32 [samples]
        play(chunk, voice.sample_rate)
    async for chunk in voice.generate("Good morning.", seed=3): ...
    voice.close()

Calls may come from many threads and tasks at once; the engine behind batches them. With `devices` there are
several, an engine each.
"""

from __future__ import annotations

import hashlib
import secrets
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from engine import forks
from engine.errors import RequestError
from engine.loop import EngineLoop
from models import denoising
from models.bounds import check_switch, take_eager
from models.encodable import check_encodable
from models.lora.pool import AdapterInfo
from models.lora.rows import LoadedAdapter
from models.pool.member import DeviceState
from models.sentences import has_words, parts
from models.speech import AudioRole, ModelInfo, SpeechRequest
from models.voxcpm.checkpoint import Progress
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.loading import load_engine
from models.voxcpm.pool.adapter import PooledAdapter
from models.voxcpm.pool.loading import load_pool
from models.voxcpm.pool.pool import DevicePool
from models.voxcpm.requests.sequence_builder import check_numbers
from models.voxcpm.speech_stream import SpeechStream
from models.voxcpm.vae.audio_encoding import LatentMemory, check_samples, read_audio

Audio = str | Path | tuple[np.ndarray, int]
"""The path of a file, or (mono float32 samples, sample rate)."""
DEFAULT_ADAPTER = "default"


class VoxCPM(forks.OfOneProcess):
    """A loaded model with its engine thread, or a pool of them. Use as a context manager or call `close`.

    What nobody holds any more, nor a stream of it, is closed by itself.
    """

    def __init__(self, engine: VoxCPMEngine | DevicePool) -> None:
        """engine: what `from_pretrained` loads. Raises TypeError for the name of a model."""
        if isinstance(engine, str | Path):
            raise TypeError(f"a model is loaded by VoxCPM.from_pretrained({str(engine)!r})")
        self._engine = engine
        self._recordings = LatentMemory()
        if isinstance(engine, DevicePool):
            self._loop: EngineLoop | DevicePool = engine
        else:
            self._loop = EngineLoop(engine, name="voxcpm")
            self._loop.start()
        weakref.finalize(self, self._loop.leave, engine.close).atexit = False

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path = "bundled",
        device: str = "auto",
        max_num_seqs: int = 8,
        progress: Progress | None = None,
        *,
        devices: Sequence[str | int] | None = None,
        enforce_eager: bool = False,
        **options: Any,
    ) -> VoxCPM:
        """Load "bundled", a checkpoint directory or a Hugging Face repository id.

        Args:
            device: "cpu", "cuda", "cuda:1" and so on; "auto" takes a GPU where there is one.
            max_num_seqs: how many texts are spoken at once.
            progress: called with the stage of loading and how far it is, from 0 to 1.
            devices: several in place of `device`, such as [0, 1] or ["cuda:0", "cuda:1"], each with an engine
                in a process of its own; see `models.voxcpm.pool`.
            enforce_eager: steps are not recorded as CUDA graphs, as with `graphs="off"`.
            options: those of `models.voxcpm.loading.load_engine`.

        Raises:
            ConfigError, engine.errors.WeightError: naming what is wrong with the checkpoint.
            OptionsError: naming the option that is wrong.
        """
        take_eager(enforce_eager, options)
        if devices is None:
            return cls(load_engine(model, device, max_num_seqs, progress, **options))
        return cls(load_pool(model, devices, max_num_seqs, progress, device=device, **options))

    @property
    def info(self) -> ModelInfo:
        """What the model is: its voices, languages, limits and features."""
        return self._engine.info

    @property
    def devices(self) -> list[DeviceState]:
        """The state of the device, or of each: whether it serves, and why not."""
        if isinstance(self._engine, DevicePool):
            return self._engine.devices
        problem = "" if self._loop.alive else str(self._loop.end_error())
        return [DeviceState(self._engine.device, "lost" if problem else "serving", problem)]

    @property
    def sample_rate(self) -> int:
        """Samples per second of the audio that `generate` yields."""
        return self.info.sample_rate

    def generate(
        self,
        text: str,
        *,
        voice: str = "default",
        lora: str | None = None,
        instructions: str | None = None,
        reference_audio: Audio | None = None,
        prompt_audio: Audio | None = None,
        prompt_text: str | None = None,
        denoise: bool = False,
        seed: int | None = None,
        cfg_value: float | None = None,
        inference_timesteps: int | None = None,
        temperature: float | None = None,
        min_seconds: float | None = None,
        max_seconds: float | None = None,
    ) -> SpeechStream:
        """Start speaking `text`; returns at once. Long text is spoken in parts, see `models.sentences`.

        Args:
            voice: a name of `info.voices`.
            lora: name of a loaded adapter; "" is none, None the one called "default" if that is enabled.
            instructions: how to speak, as in "a warm elderly voice", where the model has that feature.
            reference_audio: speak with the voice of this recording.
            prompt_audio, prompt_text: continue this recording, and what is said in it.
            denoise: take out what is heard behind the speakers of the recordings.
            seed: same seed, same audio; None draws one.
            cfg_value: how closely text and voice are followed; None here and below is the model's default.
            inference_timesteps: steps of flow matching for each patch.
            temperature: scale of the noise that speech is drawn from.
            min_seconds, max_seconds: bounds of the clip's length.

        Recordings that were given lately are not encoded again.

        Raises:
            engine.errors.RequestError: naming the field that is wrong.
        """
        check_encodable(text, "text")
        if not has_words(text):
            raise RequestError("text has no words", param="text")
        check_switch("denoise", denoise, of_request=True)
        seed = secrets.randbits(32) if seed is None else seed
        request = SpeechRequest(
            request_id="",
            text=text,
            seed=seed,
            voice=voice,
            adapter=self._adapter(lora),
            instructions=instructions,
            prompt_text=prompt_text,
            prompt_latents=self._encode(prompt_audio, "prompt", denoise),
            reference_latents=self._encode(reference_audio, "reference", denoise),
            cfg_value=cfg_value,
            inference_timesteps=inference_timesteps,
            temperature=temperature,
            min_seconds=min_seconds,
            max_seconds=max_seconds,
        )
        check_numbers(request, self.info.patch_seconds)
        if min_seconds is not None and max_seconds is not None and min_seconds > max_seconds:
            problem = f"min_seconds is {min_seconds}, above the {max_seconds} of max_seconds"
            raise RequestError(problem, param="min_seconds")
        texts = parts(text, self.info.part_characters, self.info.languages)
        return SpeechStream(self._loop, request, texts, self.info, owner=self)

    def synthesize(self, text: str, **options: Any) -> np.ndarray:
        """The whole clip, float32 [samples]; `options` as in `generate`."""
        return np.concatenate(list(self.generate(text, **options)))

    def load_lora(self, path: str | Path, name: str = DEFAULT_ADAPTER) -> AdapterInfo:
        """Load an adapter from a directory in the layout of the published package or of PEFT.

        One called "default" serves every request that names none. Running requests keep what they began
        with. Raises models.lora.adapter.AdapterError naming what is wrong with it, RequestError where this
        device serves none.
        """
        if not isinstance(path, str | Path):
            raise RequestError(f"path must be that of an adapter's folder, got {path!r}", param="path")
        return self._engine.load_adapter(name, Path(path))

    def unload_lora(self, name: str = DEFAULT_ADAPTER) -> bool:
        """Forget an adapter; False when there is none of that name."""
        return self._engine.adapters.remove(_adapter_name(name))

    def list_loras(self) -> list[AdapterInfo]:
        """The loaded adapters."""
        return self._engine.adapters.listed()

    def set_lora_enabled(self, enabled: bool, name: str | None = None) -> None:
        """Switch one adapter on or off, or all. Raises RequestError for an unknown name."""
        check_switch("enabled", enabled, of_request=True)
        self._engine.adapters.enable(enabled, None if name is None else _adapter_name(name))

    def reset_lora(self) -> None:
        """Forget all adapters."""
        self._engine.adapters.clear()

    def close(self) -> None:
        """Stop the engine thread; open streams raise EngineError."""
        self._loop.close()
        self._engine.close()

    def __enter__(self) -> VoxCPM:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _adapter(self, lora: str | None) -> LoadedAdapter | PooledAdapter | None:
        """The adapter with which all parts of a text are spoken."""
        adapters = self._engine.adapters
        if lora is None:
            return adapters.find(DEFAULT_ADAPTER)
        return adapters.get(lora) if _adapter_name(lora) else None

    def _encode(self, audio: Audio | None, role: AudioRole, denoise: bool) -> np.ndarray | None:
        if audio is None:
            return None
        if denoise and not denoising.is_available():
            raise RequestError("the extra `denoise` is not installed", param="denoise")
        samples, sample_rate = _samples_of(audio, role)
        if denoise and sample_rate < denoising.LEAST_RATE:
            least = f"at least {denoising.LEAST_RATE} samples per second"
            raise RequestError(f"denoise needs {least}, {role} audio has {sample_rate}", param="denoise")
        digest = hashlib.sha256(np.ascontiguousarray(samples)).digest()
        content = (digest, samples.dtype.str, samples.shape, sample_rate, role, denoise)

        def encoded() -> np.ndarray:
            heard = denoising.denoised(samples, sample_rate) if denoise else samples
            return self._engine.encode_audio(heard, sample_rate, role)

        return self._recordings.get(content, encoded)


def _adapter_name(name: object) -> str:
    """Raises RequestError for what is no text."""
    if not isinstance(name, str):
        raise RequestError(f"an adapter is named by a text, got {name!r}", param="adapter")
    return name


def _samples_of(audio: Audio, role: AudioRole) -> tuple[np.ndarray, int]:
    """Raises RequestError for what is neither a file that can be read nor samples with their rate."""
    if isinstance(audio, str | Path):
        audio = read_audio(Path(audio), role)
    if not isinstance(audio, tuple) or len(audio) != 2:
        raise RequestError(f"{role} audio must be the path of a file, or (samples, sample rate)", param=role)
    check_samples(*audio, role)
    return audio
