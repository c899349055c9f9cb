"""VoxCPM as a speech engine: requests in, patches of audio out (`models.speech.SpeechEngine`).

It turns a `SpeechRequest` into a key stream and a `GenerationState`, checks limits where they can be
named, and hands both to the model-agnostic `engine.llm_engine.LLMEngine`:

    engine = load_engine("bundled", device="cpu", max_num_seqs=8)
    engine.add_request(SpeechRequest("r1", "Hello there.", seed=7))
    while engine.has_unfinished():
        for output in engine.step(): ...
"""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np

from engine.config import EngineConfig
from engine.errors import EngineError, RequestError
from engine.llm_engine import LLMEngine, SequenceOutput
from engine.sequence import Sequence
from models.speech import AudioRole, ModelInfo, SpeechOutput, SpeechRequest
from models.voxcpm.audio_encoding import AudioEncoder
from models.voxcpm.checkpoint import Checkpoint, Progress, load_checkpoint, resolve_model
from models.voxcpm.generation import GenerationState, SilenceGuard, patches_in, text_ratio_cap
from models.voxcpm.kv_sizing import default_blocks
from models.voxcpm.noise import patch_noise
from models.voxcpm.options import EngineOptions
from models.voxcpm.prompt import build_sequence
from models.voxcpm.runner import NoiseSource, Patch, VoxCPMRunner
from models.voxcpm.step_programs import ProgramPlan

__all__ = ["EngineOptions", "VoxCPMEngine", "load_engine", "normalize_whitespace"]

logger = logging.getLogger(__name__)

DEFAULT_VOICE = "default"


class VoxCPMEngine:
    """See `models.speech.SpeechEngine`, whose methods these are."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        options: EngineOptions | None = None,
        noise: NoiseSource = patch_noise,
        progress: Progress | None = None,
    ) -> None:
        self.checkpoint, self.config = checkpoint, checkpoint.config
        self.device = str(checkpoint.device)
        self.options = options or EngineOptions()
        self.max_model_len = self.options.max_model_len or self.config.max_length
        self._encoder = AudioEncoder(checkpoint)
        self._references: dict[str, np.ndarray] = {}
        self._defaults = _generation_defaults(checkpoint)
        self._max_text_characters = min(
            self.options.max_text_characters,
            checkpoint.generation.get("max_text_characters", self.options.max_text_characters),
        )
        self.info = self._describe()
        num_blocks = self.options.kv_blocks or default_blocks(
            self.config, self.options, self.max_model_len, checkpoint.device, checkpoint.dtype
        )
        self._runner = VoxCPMRunner(
            checkpoint.model,
            checkpoint.vae,
            num_blocks=num_blocks,
            block_size=self.options.block_size,
            max_num_seqs=self.options.max_num_seqs,
            max_model_len=self.max_model_len,
            attention_backend=self.options.attention_backend,
            noise=noise,
        )
        self._llm = LLMEngine(
            self._runner,
            EngineConfig(
                max_num_seqs=self.options.max_num_seqs,
                max_num_batched_tokens=self.options.max_num_batched_tokens,
                max_prefill_tokens=self.options.max_prefill_tokens,
                max_decodes=self.options.max_decodes,
                max_step_seconds=self.options.max_step_seconds,
                block_size=self.options.block_size,
                num_blocks=num_blocks,
                max_model_len=self.max_model_len,
                enable_prefix_caching=self.options.enable_prefix_caching,
                look_ahead=self._wants_programs,
            ),
        )
        self._salt = f"{checkpoint.revision}/{checkpoint.dtype}".encode()
        self._prepare_programs(progress)

    def validate(self, request: SpeechRequest) -> None:
        """Raise RequestError, naming the field, for a request that can never be served."""
        self._sequence(request)

    def add_request(self, request: SpeechRequest) -> None:
        self._llm.add(self._sequence(request))

    def cancel(self, request_id: str) -> bool:
        return self._llm.cancel(request_id)

    def pause(self, request_id: str) -> bool:
        return self._llm.pause(request_id)

    def resume(self, request_id: str) -> bool:
        return self._llm.resume(request_id)

    def step(self) -> list[SpeechOutput]:
        return [self._output(output) for output in self._llm.step() if _is_visible(output)]

    def has_unfinished(self) -> bool:
        return self._llm.has_unfinished()

    def encode_audio(self, samples: np.ndarray, sample_rate: int, role: AudioRole) -> np.ndarray:
        return self._encoder.encode(samples, sample_rate, role)

    def close(self) -> None:
        """Nothing to do beyond dropping references: tensors free themselves."""

    @property
    def _wants_programs(self) -> bool:
        graphs = self.options.graphs
        return graphs == "static" or (graphs == "auto" and self.checkpoint.device.type == "cuda")

    def _prepare_programs(self, progress: Progress | None) -> None:
        if not self._wants_programs:
            return
        plan = ProgramPlan(
            self._defaults["inference_timesteps"], self.options.max_num_seqs, self.max_model_len
        )
        try:
            self._runner.prepare(plan, lambda share: progress and progress("graphs", 0.5 + 0.4 * share))
        except (EngineError, RuntimeError) as error:
            if self.options.graphs != "auto":
                raise
            logger.warning("steps run without CUDA graphs: %s: %s", type(error).__name__, error)

    def warm_up(self) -> None:
        """Run one short request, so that the first real one pays for no lazy initialisation."""
        request = SpeechRequest("warm-up", "Hello.", seed=0, max_seconds=4 * self.config.patch_seconds)
        self.add_request(request)
        while self.has_unfinished():
            self.step()
        for voice in self.info.voices:
            self._voice_reference(voice)

    def _describe(self) -> ModelInfo:
        config, vae = self.config, self.config.audio_vae_config
        features = ["prompt", "reference"] if config.supports_reference else ["prompt"]
        # A checkpoint may say what it was trained for: one that saw no prompts babbles after them.
        features = self.checkpoint.generation.get("features", features)
        return ModelInfo(
            name=self.checkpoint.generation.get("name", self.checkpoint.name),
            revision=self.checkpoint.revision,
            sample_rate=vae.output_sample_rate,
            patch_samples=config.patch_samples,
            patch_size=config.patch_size,
            latent_dim=config.feat_dim,
            reference_sample_rate=vae.sample_rate,
            languages=self.checkpoint.languages,
            voices=(DEFAULT_VOICE, *(name for name in self.checkpoint.voices if name != DEFAULT_VOICE)),
            features=tuple(features),
            max_text_characters=self._max_text_characters,
            part_characters=self.options.part_characters or self.checkpoint.generation.get("part_characters"),
            default_cfg_value=self._defaults["cfg_value"],
            default_inference_timesteps=self._defaults["inference_timesteps"],
        )

    def _validate_text(self, request: SpeechRequest) -> None:
        limit = self._max_text_characters
        if not request.text.strip():
            raise RequestError("text is empty", param="text")
        if len(request.text) > limit:
            raise RequestError(f"text has {len(request.text)} characters, the limit is {limit}", param="text")
        if (request.prompt_text is None) != (request.prompt_latents is None):
            missing = "prompt_text" if request.prompt_text is None else "prompt_audio"
            raise RequestError("prompt audio and prompt text go together", param=missing)

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

    def _validate_numbers(self, request: SpeechRequest) -> None:
        ranges = {
            "seed": (0, 2**64 - 1),
            "cfg_value": (0.0, 10.0),
            "inference_timesteps": (2, 100),
            "temperature": (0.0, 2.0),
            "min_seconds": (0.0, math.inf),
            "max_seconds": (self.config.patch_seconds, math.inf),
        }
        for name, (low, high) in ranges.items():
            value = getattr(request, name)
            if value is not None and not low <= value <= high:
                raise RequestError(f"{name} must be between {low} and {high}", param=name)

    def _sequence(self, request: SpeechRequest) -> Sequence:
        """The request as the engine takes it. Raises RequestError where a limit is broken."""
        self._validate_text(request)
        self._validate_audio(request)
        self._validate_numbers(request)
        tokenizer = self.checkpoint.tokenizer
        text = normalize_whitespace(request.text)
        num_text_tokens = len(tokenizer.encode(text))
        if not num_text_tokens:
            raise RequestError("text has nothing that can be spoken", param="text")
        reference = request.reference_latents
        if reference is None:
            reference = self._voice_reference(request.voice)
        keys = build_sequence(
            tokenizer.encode((request.prompt_text or "") + text),
            reference=reference,
            prompt=request.prompt_latents,
            generated=request.resume_latents,
        )
        state = self._state(request, num_text_tokens, len(keys) - request.resume_patches)
        new_patches = state.max_patches - state.index
        return Sequence(
            request.request_id,
            keys,
            new_patches,
            state,
            self._salt,
            num_resumed_tokens=request.resume_patches,
            token_seconds=self.config.patch_seconds,
        )

    def _state(self, request: SpeechRequest, num_text_tokens: int, prompt_length: int) -> GenerationState:
        max_patches, reason = self.max_model_len - prompt_length, "length"
        if max_patches < 1:
            raise RequestError(
                f"text, prompt and reference take {prompt_length} positions, "
                f"the model has {self.max_model_len}",
                param="text",
            )
        if self.options.ratio_cap and text_ratio_cap(num_text_tokens) < max_patches:
            max_patches, reason = text_ratio_cap(num_text_tokens), "runaway"
        if request.max_seconds is not None:
            wanted = patches_in(request.max_seconds, self.config.patch_seconds)
            if wanted <= max_patches:
                max_patches, reason = wanted, "length"
        index = request.resume_patches
        if index >= max_patches:
            raise RequestError(
                f"{index} patches are generated already, the limit is {max_patches}", "resume_latents"
            )
        return GenerationState(
            seed=request.seed,
            cfg_value=_choose(request.cfg_value, self._defaults["cfg_value"]),
            num_steps=_choose(request.inference_timesteps, self._defaults["inference_timesteps"]),
            temperature=_choose(request.temperature, self._defaults["temperature"]),
            max_patches=max_patches,
            limit_reason=reason,
            min_stop_index=self.options.min_stop_index,
            min_patches=patches_in(request.min_seconds or 0.0, self.config.patch_seconds),
            index=index,
            silence=SilenceGuard() if self.options.silence_guard else None,
        )

    def _voice_reference(self, name: str) -> np.ndarray | None:
        """Latents of a named voice; encoded once, at warm-up, since requests ask on the event loop."""
        voice = self.checkpoint.voices.get(name)
        if voice is None or voice.audio is None:
            return None
        if name not in self._references:
            self._references[name] = self._encoder.encode_file(voice.audio, "reference")
        return self._references[name]

    def _output(self, output: SequenceOutput) -> SpeechOutput:
        sequence, result = output.sequence, output.result
        if result is not None and isinstance(result.output, Patch):
            patch = result.output
            return SpeechOutput(
                sequence.request_id,
                patch.index,
                patch.audio,
                patch.latents,
                output.finish_reason,
                output.error,
            )
        error = output.error or (result.output if result is not None else None)
        return SpeechOutput.ending(
            sequence.request_id, sequence.payload.index, output.finish_reason or "error", error
        )


def load_engine(
    model: str,
    device: str = "auto",
    max_num_seqs: int = 8,
    progress: Progress | None = None,
    **options: Any,
) -> VoxCPMEngine:
    """Load a checkpoint ("bundled", a directory or a hub id) and put an engine on it, warmed up.

    `options` are fields of `EngineOptions`. Raises ConfigError or WeightError naming what is wrong.
    """
    checkpoint = load_checkpoint(resolve_model(model, progress), device, progress=progress)
    engine = VoxCPMEngine(checkpoint, EngineOptions(max_num_seqs=max_num_seqs, **options), progress=progress)
    if progress:
        progress("warm-up", 0.95)
    engine.warm_up()
    return engine


def normalize_whitespace(text: str) -> str:
    """Line breaks and runs of white space become one space, as in the published package."""
    return " ".join(text.split())


def _generation_defaults(checkpoint: Checkpoint) -> dict[str, Any]:
    defaults = {"cfg_value": 2.0, "inference_timesteps": 10, "temperature": 1.0}
    return {name: checkpoint.generation.get(name, value) for name, value in defaults.items()}


def _is_visible(output: SequenceOutput) -> bool:
    return output.result is not None or output.finish_reason is not None or output.error is not None


def _choose(value: Any, default: Any) -> Any:
    return default if value is None else value
