"""What an engine says of the model it serves, and what requests get that don't say otherwise."""

from __future__ import annotations

from itertools import islice
from typing import Any

from models.speech import (
    ADAPTERS,
    ANY_VOICE,
    DEFAULT_VOICE,
    INSTRUCTIONS,
    WATCH_FITTED,
    WATCHED,
    WORDS_ONLY,
    ModelInfo,
    VoiceInfo,
)
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.options import EngineOptions

_VOICES_TOLD, _CHARACTERS_TOLD = 100, 200
"""What is announced of voices at most: a worker's status has bounds."""


def describe(checkpoint: Checkpoint, options: EngineOptions, takes_adapters: bool) -> ModelInfo:
    """The model as gateways and clients are told of it."""
    config, generation = checkpoint.config, checkpoint.generation
    vae, defaults = config.audio_vae_config, generation_defaults(checkpoint)
    features = ["prompt", "reference", INSTRUCTIONS] if config.supports_reference else ["prompt"]
    # A checkpoint may say what it was trained for: one that saw no prompts babbles after them.
    features = generation.get("features", features)
    if not checkpoint.tokenizer.knows_digits and WORDS_ONLY not in features:
        features = [*features, WORDS_ONLY]
    features = [*features, WATCHED, *([WATCH_FITTED] if checkpoint.statistics else [])]
    default = checkpoint.voices.get(DEFAULT_VOICE)
    if default is None or default.audio is None:
        features = [*features, ANY_VOICE]
    if takes_adapters:
        features = [*features, ADAPTERS]
    return ModelInfo(
        name=generation.get("name", checkpoint.name),
        revision=checkpoint.revision,
        sample_rate=vae.output_sample_rate,
        patch_samples=config.patch_samples,
        patch_size=config.patch_size,
        latent_dim=config.feat_dim,
        reference_sample_rate=vae.sample_rate,
        languages=checkpoint.languages,
        voices=(DEFAULT_VOICE, *(name for name in checkpoint.voices if name != DEFAULT_VOICE)),
        voice_details=tuple(
            VoiceInfo(voice.name, voice.language, voice.description[:_CHARACTERS_TOLD], voice.tags)
            for voice in islice(checkpoint.voices.values(), _VOICES_TOLD)
        ),
        features=tuple(features),
        max_text_characters=min(
            options.max_text_characters,
            generation.get("max_text_characters", options.max_text_characters),
        ),
        part_characters=options.part_characters or generation.get("part_characters"),
        max_prompt_seconds=generation.get("max_prompt_seconds"),
        default_cfg_value=defaults["cfg_value"],
        default_inference_timesteps=defaults["inference_timesteps"],
    )


def generation_defaults(checkpoint: Checkpoint) -> dict[str, Any]:
    """`cfg_value`, `inference_timesteps` and `temperature` of requests without."""
    defaults = {"cfg_value": 2.0, "inference_timesteps": 10, "temperature": 1.0}
    return {name: checkpoint.generation.get(name, value) for name, value in defaults.items()}
