"""What every speech engine speaks, whichever model is behind it.

A `SpeechRequest` goes in, one `SpeechOutput` per patch comes out. A patch is the unit of generation: a few
latent frames and the audio they decode to, 80 or 160 ms. A request with `resume_latents` of n patches goes on
where they end: its first output is patch n, and its audio joins the audio of patch n - 1 without a seam.

Shapes: P = latent frames per patch (`ModelInfo.patch_size`), D = `ModelInfo.latent_dim`, n = patches.
This module needs numpy only, so that a worker without a model needs no torch.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np

FinishReason = Literal["stop", "length", "cancelled", "runaway", "error"]
FINISH_REASONS: tuple[FinishReason, ...] = get_args(FinishReason)
Flaw = Literal["", "clipped", "quiet", "repeated", "noisy", "long", "short", "silent"]
"""What may be wrong with speech."""
AudioRole = Literal["prompt", "reference"]
DEFAULT_VOICE = "default"
WORDS_ONLY = "words_only"
"""The feature of a model that has to be given words: it has no tokens for digits, or misreads figures."""

LANGUAGE = "language"
"""The feature of a model that wants to be told the language of a text."""

ANY_VOICE = "any_voice"
"""The feature of a model whose default voice is nobody's: it makes up a speaker for each text."""
INSTRUCTIONS = "instructions"
"""The feature of a model that can be told how to speak."""

WATCHED = "watched"
"""The feature of a model whose outputs tell flaws."""
ADAPTERS = "adapters"
"""The feature of a model, in the form of its device, whose requests may name an adapter."""
WATCH_FITTED = "watch_fitted"
"""The feature of one that knows its own good speech: noise and unlikely lengths are told too."""


@dataclass(frozen=True)
class VoiceInfo:
    """What people are told of a named voice."""

    name: str
    language: str = ""
    """ISO 639 code; empty: any of the model's."""
    description: str = ""
    tags: tuple[str, ...] = ()
    """How it speaks, a word each: "calm"."""


MOST_CHARACTERS = 10**7
"""The longest text, whatever a model says that it takes; a gateway believes no larger number."""


@dataclass(frozen=True)
class ModelInfo:
    """What a worker announces about the model it serves."""

    name: str
    revision: str
    """Hash of everything that decides the output: weights, config, tokenizer."""
    sample_rate: int
    """Samples per second of the generated audio."""
    patch_samples: int
    """Samples of generated audio per patch."""
    patch_size: int
    """P: latent frames per patch."""
    latent_dim: int
    """D: values per latent frame."""
    reference_sample_rate: int
    """Samples per second that reference and prompt audio are resampled to before they are encoded."""
    languages: tuple[str, ...] = ()
    voices: tuple[str, ...] = ("default",)
    voice_details: tuple[VoiceInfo, ...] = ()
    """Details of the voices of which there is something to tell."""
    features: tuple[str, ...] = ()
    """What else a request may use, such as "reference" and "prompt"; `WORDS_ONLY`."""
    max_text_characters: int = 4096
    """The longest text of one request to the engine."""
    part_characters: int | None = None
    """Longer text is spoken in parts of at most this many characters (`models.sentences`); None: never."""
    max_prompt_seconds: float | None = None
    """The longest prompt that the model continues well; None: any that leaves room for the speech."""
    default_cfg_value: float = 2.0
    default_inference_timesteps: int = 10
    kind: str = "speech"

    @property
    def patch_seconds(self) -> float:
        """Seconds of audio per patch."""
        return self.patch_samples / self.sample_rate

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON types; tuples become lists."""
        values = asdict(self)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ModelInfo:
        """The inverse of `to_dict`. Raises TypeError for a missing or an unknown field."""
        fields = _with_tuples(values)
        details = (VoiceInfo(**_with_tuples(voice)) for voice in fields.pop("voice_details", ()))
        return cls(**fields, voice_details=tuple(details))


def _with_tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


@dataclass
class SpeechRequest:
    """Text to be spoken, and everything that shapes how. None means the model's default."""

    request_id: str
    text: str
    seed: int
    """Same seed, same request, same audio: noise is a function of (seed, patch index) alone."""
    voice: str = DEFAULT_VOICE
    """The default voice gives way to a prompt and to an adapter, which tell who speaks."""
    language: str | None = None
    """Code of the language of the text; told to models with the feature `LANGUAGE`."""
    instructions: str | None = None
    """How to speak, or who does; for models with the feature `INSTRUCTIONS`, and not beside a prompt."""
    prompt_text: str | None = None
    """The words of the prompt audio; given together with `prompt_latents`."""
    prompt_latents: np.ndarray | None = None
    """float32 [n, P, D]: audio that the generated speech continues."""
    reference_latents: np.ndarray | None = None
    """float32 [n, P, D]: audio whose voice the generated speech takes."""
    cfg_value: float | None = None
    inference_timesteps: int | None = None
    temperature: float | None = None
    min_seconds: float | None = None
    max_seconds: float | None = None
    resume_latents: np.ndarray | None = None
    """float32 [n, P, D]: patches generated earlier; generation goes on with patch n."""
    adapter: str | Any | None = None
    """Name of an adapter that the engine has, or what it gave for that; None: the model as it is."""
    resume_silence: tuple[int, int, int] | None = None
    """How many of those were silent, how many at the end were silent, and how many there were audible."""

    @property
    def resume_patches(self) -> int:
        """Number of patches that were generated before this request: the index of its first output."""
        return 0 if self.resume_latents is None else len(self.resume_latents)


@dataclass
class SpeechOutput:
    """One patch of a request, or its end. Exactly the last output of a request has a `finish_reason`."""

    request_id: str
    index: int
    """Patch number from 0, counting resumed patches."""
    audio: np.ndarray
    """float32 [patch_samples] in [-1, 1]; empty when the request ends without a patch."""
    latents: np.ndarray
    """float32 [P, D]; empty when `audio` is."""
    finish_reason: FinishReason | None = None
    error: str | None = None
    """Why, when `finish_reason` is "error"."""
    flaw: Flaw = ""
    """What is wrong with the whole speech, with its last patch; before, once, with the speech so far."""
    silent: bool = False
    """Nobody hears the patch."""
    computing_seconds: float | None = None
    """With the first patch of this attempt: since its first step began, where that is known."""
    not_finite: bool = False
    """The error is what was computed for this request alone: values that are not finite."""

    @classmethod
    def ending(
        cls,
        request_id: str,
        index: int,
        finish_reason: FinishReason,
        error: str | None = None,
        not_finite: bool = False,
    ) -> SpeechOutput:
        """The end of a request that got `index` patches and no last one: it was cancelled, or failed."""
        empty = np.zeros(0, dtype=np.float32)
        return cls(request_id, index, empty, empty.reshape(0, 0), finish_reason, error, not_finite=not_finite)


class SpeechEngine(Protocol):
    """A model that generates speech patch by patch for many requests at once.

    One thread owns the engine and calls `add`, `cancel`, `pause`, `resume`, `step` and `has_unfinished`
    (see `engine.loop.EngineLoop`). `prepare` and `encode_audio` may be called from any thread meanwhile.
    """

    info: ModelInfo

    def prepare(self, request: SpeechRequest) -> Any:
        """The request as `add` takes it, checked and built.

        Raises `engine.errors.RequestError`, naming the field, for one that can never be served.
        """

    def add(self, prepared: Any) -> None:
        """Take up what `prepare` returned, once; the next steps put its outputs out.

        Raises `engine.errors.RequestError`.
        """

    def add_request(self, request: SpeechRequest) -> None:
        """`prepare` and `add` in one."""

    def cancel(self, request_id: str) -> bool:
        """Drop a request and free what it holds; no output follows. False when there is no such request."""

    def pause(self, request_id: str) -> bool:
        """Keep a request out of the following steps until `resume`; it goes on as if nothing had been.

        False when there is no such request.
        """

    def resume(self, request_id: str) -> bool:
        """Undo `pause`. False when there is no such request."""

    def step(self) -> list[SpeechOutput]:
        """Advance every running request by at most one patch."""

    def has_unfinished(self) -> bool:
        """Whether a request waits or runs; one that is paused does neither."""

    def encode_audio(self, samples: np.ndarray, sample_rate: int, role: AudioRole) -> np.ndarray:
        """Latents float32 [n, P, D] of mono audio float32 [samples]; the role decides how it is padded.

        Raises `engine.errors.RequestError` when the audio cannot be used in that role.
        """

    def close(self) -> None:
        """Free the device. The engine is not used afterwards."""
