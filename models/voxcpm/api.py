"""VoxCPM as a Python object.

    voice = VoxCPM.from_pretrained("bundled")
    for chunk in voice.generate("Good morning."):          # float32 [samples]
        play(chunk, voice.sample_rate)
    async for chunk in voice.generate("Good morning.", seed=3): ...
    voice.close()

Calls may come from many threads and tasks at once; the engine behind batches them.
"""

from __future__ import annotations

import hashlib
import secrets
import uuid
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from engine.errors import EngineError, RequestError
from engine.loop import EngineLoop
from engine.output_stream import OutputStream
from models import denoising
from models.lora.pool import AdapterInfo
from models.sentences import has_words, parts
from models.speech import AudioRole, ModelInfo, SpeechOutput, SpeechRequest
from models.voxcpm.checkpoint import Progress
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.loading import load_engine
from models.voxcpm.vae.audio_encoding import LatentMemory, read_audio

Audio = str | Path | tuple[np.ndarray, int]
"""A file, or (mono float32 samples, sample rate)."""
DEFAULT_ADAPTER = "default"


class SpeechStream:
    """The audio of one text while it is generated: iterate it, or iterate it asynchronously.

    Yields float32 [samples] in [-1, 1], one patch each; the parts of a long text follow one another.
    `finish_reason` is set after the last patch. The request is cancelled when an iteration is abandoned, and
    when nobody holds the stream any more, iterated or not. Raises engine.errors.EngineError when generation
    fails.
    """

    def __init__(self, loop: EngineLoop, request: SpeechRequest, texts: list[str], info: ModelInfo) -> None:
        """texts: the parts of `request.text`. Raises RequestError."""
        self._loop, self._request, self._info = loop, request, info
        self._texts = deque(texts or [request.text])
        self._patches = 0
        self._cancelled = False
        self.seed = request.seed
        self.finish_reason: str | None = None
        self._stream: OutputStream | None = None
        self._stream = self._submit_next()

    def __del__(self) -> None:
        self._leave()

    def cancel(self) -> None:
        """Stop generating; the iteration ends. Safe from any thread."""
        self._cancelled = True
        if (stream := self._stream) is not None:
            stream.cancel()

    def outputs(self) -> Iterator[SpeechOutput]:
        """Patches with their latents, for callers that keep them."""
        try:
            while (stream := self._stream) is not None:
                for output in stream:
                    yield self._note(output)
                self._end(stream)
        finally:
            self._leave()

    def __iter__(self) -> Iterator[np.ndarray]:
        return (output.audio for output in self.outputs() if len(output.audio))

    async def __aiter__(self) -> AsyncIterator[np.ndarray]:
        try:
            while (stream := self._stream) is not None:
                async for output in stream:
                    if len(self._note(output).audio):
                        yield output.audio
                self._end(stream)
        finally:
            self._leave()

    def _submit_next(self) -> OutputStream:
        """Start the next part, within what is left of the bounds of the clip's length."""
        seconds = self._patches * self._info.patch_seconds
        shortest, longest = self._request.min_seconds, self._request.max_seconds
        part = replace(
            self._request,
            request_id=uuid.uuid4().hex,
            text=self._texts.popleft(),
            min_seconds=None if shortest is None or self._texts else max(0.0, shortest - seconds),
            max_seconds=None if longest is None else longest - seconds,
        )
        self._patches_before = self._patches
        return self._loop.submit(part)

    def _note(self, output: SpeechOutput) -> SpeechOutput:
        """The output as one of the whole clip; starts the next part where one ends."""
        if output.finish_reason == "error":
            self.finish_reason = "error"
            raise EngineError(output.error or "generation failed")
        output.index += self._patches_before
        self._patches += len(output.audio) > 0
        if output.finish_reason is None:
            return output
        if self._goes_on(output.finish_reason):
            output.finish_reason = None
            self._stream = self._submit_next()
            if self._cancelled:  # before `cancel` could see this stream
                self._stream.cancel()
        elif self._cancelled and self._texts:
            output.finish_reason = "cancelled"
        self.finish_reason = output.finish_reason
        return output

    def _goes_on(self, finish_reason: str) -> bool:
        longest = self._request.max_seconds
        patch_seconds = self._info.patch_seconds
        time_left = longest is None or longest - self._patches * patch_seconds >= patch_seconds
        return bool(self._texts) and time_left and not self._cancelled and finish_reason != "cancelled"

    def _end(self, stream: OutputStream) -> None:
        """After the last output of `stream`: unless the next part has begun, that was all."""
        if self._stream is stream:
            self._stream = None

    def _leave(self) -> None:
        if self.finish_reason is None:
            self.finish_reason = "cancelled"
            if self._stream is not None:
                self._stream.cancel()


class VoxCPM:
    """A loaded model with its engine thread. Use as a context manager or call `close`."""

    def __init__(self, engine: VoxCPMEngine) -> None:
        self._engine = engine
        self._recordings = LatentMemory()
        self._loop = EngineLoop(engine, name="voxcpm")
        self._loop.start()

    @classmethod
    def from_pretrained(
        cls,
        model: str = "bundled",
        device: str = "auto",
        max_num_seqs: int = 8,
        progress: Progress | None = None,
        **options: Any,
    ) -> VoxCPM:
        """Load "bundled", a checkpoint directory or a Hugging Face repository id.

        `options` are those of `models.voxcpm.loading.load_engine`. Raises ConfigError or
        engine.errors.WeightError naming what is wrong with the checkpoint, and OptionsError with an option.
        """
        return cls(load_engine(model, device, max_num_seqs, progress, **options))

    @property
    def info(self) -> ModelInfo:
        return self._engine.info

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

        voice: a name of `info.voices`. lora: name of a loaded adapter, "" for none; None is the one called
        "default", where that is loaded and enabled. instructions: how to speak, "a warm elderly voice", where
        the model has that feature. reference_audio: speak with this voice. prompt_audio and prompt_text:
        continue this recording. denoise: take out what is heard behind the speakers of recordings. Those that
        were given lately are not encoded again. seed: same seed, same audio; random when not given. None
        elsewhere means the model's default. Raises engine.errors.RequestError naming the field.
        """
        if not has_words(text):
            raise RequestError("text has no words", param="text")
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
        texts = parts(text, self.info.part_characters, self.info.languages)
        return SpeechStream(self._loop, request, texts, self.info)

    def synthesize(self, text: str, **options: Any) -> np.ndarray:
        """The whole clip, float32 [samples]; `options` as in `generate`."""
        return np.concatenate(list(self.generate(text, **options)))

    def load_lora(self, path: str | Path, name: str = DEFAULT_ADAPTER) -> AdapterInfo:
        """Load an adapter from a directory in the layout of the published package or of PEFT.

        One called "default" serves every request that names none. Running requests keep what they began
        with. Raises models.lora.adapter.AdapterError naming what is wrong with it, RequestError where this
        device serves none.
        """
        return self._engine.adapters.add(name, self._engine.read_adapter(Path(path)))

    def unload_lora(self, name: str = DEFAULT_ADAPTER) -> bool:
        """Forget an adapter; False when there is none of that name."""
        return self._engine.adapters.remove(name)

    def list_loras(self) -> list[AdapterInfo]:
        return self._engine.adapters.listed()

    def set_lora_enabled(self, enabled: bool, name: str | None = None) -> None:
        """Switch one adapter on or off, or all. Raises RequestError for an unknown name."""
        self._engine.adapters.enable(enabled, name)

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

    def _adapter(self, lora: str | None) -> str | None:
        if lora is None:
            return DEFAULT_ADAPTER if self._engine.adapters.usable(DEFAULT_ADAPTER) else None
        return lora or None

    def _encode(self, audio: Audio | None, role: AudioRole, denoise: bool) -> np.ndarray | None:
        if audio is None:
            return None
        if denoise and not denoising.is_available():
            raise RequestError("the extra `denoise` is not installed", param="denoise")
        samples, sample_rate = audio if isinstance(audio, tuple) else read_audio(Path(audio))
        digest = hashlib.sha256(np.ascontiguousarray(samples)).digest()
        content = (digest, samples.dtype.str, samples.shape, sample_rate, role, denoise)

        def encoded() -> np.ndarray:
            heard = denoising.denoised(samples, sample_rate) if denoise else samples
            return self._engine.encode_audio(heard, sample_rate, role)

        return self._recordings.get(content, encoded)
