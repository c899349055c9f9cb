"""A request as the engine takes it: checked against every limit, and turned into a key stream and a state.

builder = SequenceBuilder(checkpoint, options, info, max_model_len, voices)
sequence = builder.build(SpeechRequest("r1", "Hello there.", seed=7))
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from engine.errors import RequestError
from engine.sequence import Sequence
from models.encodable import check_encodable
from models.lora.pool import AdapterPool
from models.lora.rows import LoadedAdapter
from models.sentences import ended, sentence_ends
from models.speech import DEFAULT_VOICE, INSTRUCTIONS, ModelInfo, SpeechRequest
from models.voxcpm.checkpoint import REQUEST_BOUNDS, Checkpoint
from models.voxcpm.options import EngineOptions
from models.voxcpm.requests.generation import (
    GenerationState,
    SilenceGuard,
    patches_in,
    patches_within,
    text_ratio_cap,
)
from models.voxcpm.requests.prompt import REFERENCE_MARKS, build_sequence
from models.voxcpm.watch.watch import SpeechWatch

_BRACKETS = re.compile(r"[()\uff08\uff09]")
"""Instructions stand in them, so there are none inside."""
VoiceReference = Callable[[str], np.ndarray | None]
"""Name of a voice -> its reference latents [n, P, D], None for the voice of no reference."""


class SequenceBuilder:
    """Builds the sequences of one engine.

    Args:
        default_temperature: for requests that choose none; what else they may leave out stands in `info`.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        options: EngineOptions,
        info: ModelInfo,
        max_model_len: int,
        voice_reference: VoiceReference,
        default_temperature: float,
        adapters: AdapterPool,
    ) -> None:
        self.config, self.tokenizer = checkpoint.config, checkpoint.tokenizer
        self.options, self.info, self.max_model_len = options, info, max_model_len
        self._statistics = checkpoint.statistics
        self._voice_reference, self._default_temperature = voice_reference, default_temperature
        self._adapters = adapters
        self._whole_sentences = checkpoint.whole_sentences
        self._salt = f"{checkpoint.revision}/{checkpoint.dtype}".encode()

    def build(self, request: SpeechRequest) -> Sequence:
        """The request as the engine takes it. Raises RequestError where a limit is broken."""
        self._validate_text(request)
        self._validate_audio(request)
        check_numbers(request, self.config.patch_seconds)
        text, prompt_text = as_read(request.text, self._whole_sentences), request.prompt_text
        if self._whole_sentences:
            prompt_text = prompt_text and ended(prompt_text)
        tokens = self.tokenizer.encode(text)
        num_text_tokens = len(tokens)
        if not tokens:
            raise RequestError("text has nothing that can be spoken", param="text")
        if request.instructions:
            tokens = self.tokenizer.encode(instructed(text, request.instructions))
        reference = request.reference_latents
        told_otherwise = request.prompt_latents is not None or request.adapter is not None
        gives_way = request.voice == DEFAULT_VOICE and told_otherwise
        if reference is None and not gives_way:
            reference = self._voice_reference(request.voice)
        keys = build_sequence(
            self.tokenizer.encode(prompt_text + text) if prompt_text else tokens,
            reference=reference,
            prompt=request.prompt_latents,
            generated=request.resume_latents,
        )
        adapter = None if request.adapter is None else self._adapters.get(request.adapter)
        state = self._state(request, num_text_tokens, len(keys) - request.resume_patches, adapter)
        new_patches = state.max_patches - state.index
        return Sequence(
            request.request_id,
            keys,
            new_patches,
            state,
            self._salt if adapter is None else self._salt + f"/{adapter.digest}".encode(),
            num_resumed_tokens=request.resume_patches,
            token_seconds=self.config.patch_seconds,
            num_lasting_tokens=0 if reference is None else len(reference) + REFERENCE_MARKS,
        )

    def _state(
        self,
        request: SpeechRequest,
        num_text_tokens: int,
        prompt_length: int,
        adapter: LoadedAdapter | None,
    ) -> GenerationState:
        min_patches = patches_in(request.min_seconds or 0.0, self.config.patch_seconds)
        max_patches, reason = self._limit(request, num_text_tokens, prompt_length, min_patches)
        cfg_value = _choose(request.cfg_value, self.info.default_cfg_value)
        num_steps = _choose(request.inference_timesteps, self.info.default_inference_timesteps)
        return GenerationState(
            seed=request.seed,
            cfg_value=cfg_value,
            num_steps=num_steps,
            temperature=_choose(request.temperature, self._default_temperature),
            max_patches=max_patches,
            limit_reason=reason,
            min_stop_index=self.options.min_stop_index,
            min_patches=min_patches,
            index=request.resume_patches,
            silence=self._silence_guard(request) if self.options.silence_guard else None,
            watch=self._watch(request, num_text_tokens, cfg_value, num_steps),
            adapter=adapter,
        )

    def _limit(
        self, request: SpeechRequest, num_text_tokens: int, prompt_length: int, min_patches: int
    ) -> tuple[int, str]:
        """How many patches there are at most, and the finish reason of a clip that has so many."""
        max_patches, reason = self.max_model_len - prompt_length, "length"
        if max_patches < 1:
            raise RequestError(
                f"text, prompt and reference take {prompt_length} positions, "
                f"the model has {self.max_model_len}",
                param="text",
            )
        cap = text_ratio_cap(num_text_tokens)
        if self.options.ratio_cap and max(cap, min_patches) < max_patches:
            max_patches, reason = (cap, "runaway") if cap >= min_patches else (min_patches, "length")
        if request.max_seconds is not None:
            wanted = patches_within(request.max_seconds, self.config.patch_seconds)
            if wanted <= max_patches:
                max_patches, reason = wanted, "length"
        index = request.resume_patches
        if index >= max_patches:
            raise RequestError(
                f"{index} patches are generated already, the limit is {max_patches}", "resume_latents"
            )
        return max_patches, reason

    def _watch(
        self, request: SpeechRequest, num_text_tokens: int, cfg_value: float, num_steps: int
    ) -> SpeechWatch:
        given = (request.reference_latents, request.prompt_latents)
        return SpeechWatch(
            self._statistics,
            0 if request.min_seconds else num_text_tokens,
            self.config.patch_seconds,
            request.resume_latents,
            request.resume_silence,
            [latents for latents in given if latents is not None],
            cfg_value <= self.info.default_cfg_value and num_steps >= self.info.default_inference_timesteps,
            len(sentence_ends(as_read(request.text, self._whole_sentences))) - 1,
        )

    def _silence_guard(self, request: SpeechRequest) -> SilenceGuard:
        _, lately, _ = request.resume_silence or (0, 0, 0)
        return SilenceGuard(silent_seconds=lately * self.config.patch_seconds)

    def _validate_text(self, request: SpeechRequest) -> None:
        limit = self.info.max_text_characters
        for name in ("text", "prompt_text"):
            check_encodable(getattr(request, name) or "", name)
        if not request.text.strip():
            raise RequestError("text is empty", param="text")
        if len(request.text) > limit:
            raise RequestError(f"text has {len(request.text)} characters, the limit is {limit}", param="text")
        if request.instructions:
            self._validate_instructions(request)
        if (request.prompt_text is None) != (request.prompt_latents is None):
            missing = "prompt_text" if request.prompt_text is None else "prompt_audio"
            raise RequestError("prompt audio and prompt text go together", param=missing)

    def _validate_instructions(self, request: SpeechRequest) -> None:
        check_encodable(request.instructions, "instructions")
        if INSTRUCTIONS not in self.info.features:
            message = "this model takes no instructions"
            raise RequestError(message, "instructions", "instructions_unsupported")
        if request.prompt_text is not None:
            message = "instructions and prompt audio do not go together: speech goes on as the prompt does"
            raise RequestError(message, "instructions")

    def _validate_audio(self, request: SpeechRequest) -> None:
        if request.voice not in self.info.voices:
            raise RequestError(f"voice {request.voice!r} is unknown", param="voice", code="unknown_voice")
        if request.reference_latents is not None and not self.config.supports_reference:
            raise RequestError("this model takes no reference audio", param="reference_latents")
        shape = (self.config.patch_size, self.config.feat_dim)
        for name in ("prompt_latents", "reference_latents", "resume_latents"):
            latents = getattr(request, name)
            if latents is None:
                continue
            if latents.ndim != 3 or latents.shape[1:] != shape:
                raise RequestError(f"{name} must have shape [n, {shape[0]}, {shape[1]}]", param=name)
            if not np.isfinite(latents).all():
                raise RequestError(f"{name} has values that are not finite", param=name)
        patches = request.resume_patches
        silent, lately, since = request.resume_silence or (0, 0, patches)
        if not 0 <= lately <= silent <= patches - since <= patches:
            raise RequestError("resume_silence counts patches of resume_latents", param="resume_silence")


def check_numbers(request: SpeechRequest, patch_seconds: float) -> None:
    """Raises RequestError naming a number of a request that is none, or out of its bounds."""
    ranges = {
        "seed": (0, 2**64 - 1),
        **{name: (bounds.low, bounds.high) for name, bounds in REQUEST_BOUNDS.items()},
        "min_seconds": (0.0, math.inf),
        "max_seconds": (patch_seconds, math.inf),
    }
    for name, (low, high) in ranges.items():
        value = getattr(request, name)
        if value is None:
            continue
        kind, wanted = (Integral, "an integer") if isinstance(low, int) else (Real, "a number")
        strange = isinstance(value, bool) or not isinstance(value, kind)
        if strange or (isinstance(value, int) and value > sys.float_info.max):
            raise RequestError(f"{name} must be {wanted}, got {value!r}", param=name)
        if not low <= value <= high:
            allowed = f"at least {low:g}" if high == math.inf else f"between {low} and {high}"
            raise RequestError(f"{name} must be {allowed}", param=name)


def as_read(text: str, whole_sentences: bool) -> str:
    """A text to be spoken as the tokenizer gets it; see `Checkpoint.whole_sentences`."""
    text = normalize_whitespace(text)
    return ended(text) if whole_sentences else text


def instructed(text: str, instructions: str) -> str:
    """A text with what stands before it in brackets: how it is spoken, as in the published package."""
    told = normalize_whitespace(_BRACKETS.sub(" ", instructions))
    return f"({told}){text}" if told else text


def normalize_whitespace(text: str) -> str:
    """Line breaks and runs of white space become one space, as in the published package."""
    return " ".join(text.split())


def _choose(value: Any, default: Any) -> Any:
    return default if value is None else value
