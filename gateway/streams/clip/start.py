"""The message that makes a worker generate what is missing of the present part of a clip."""

from __future__ import annotations

from dataclasses import astuple

from gateway.streams.clip.clip import Clip
from gateway.streams.clip.conditioning import Conditioning
from gateway.streams.clip.parts import TOLD_LANGUAGE
from gateway.streams.clip.progress import seed_of_take
from gateway.streams.clip.sample import NOBODY
from worker.protocol import INSTRUCTIONS, Latents, StartRequest

_LONGEST_PART_SECONDS = 600.0
"""What a worker is told that one part may last, unless more is asked for."""


def start_request(clip: Clip, wire_id: str, attempt: int) -> StartRequest:
    """What other parts and takes lasted counts for the limits of its length."""
    request, model, voice = clip.request, clip.model, _voice(clip)
    shortest = request.min_seconds * request.speed if request.min_seconds else 0.0
    before = spent = 0.0
    if clip.speech_samples:
        before = clip.part_start * model.patch_seconds
        spent = (clip.speech_samples - len(clip.latents) * model.patch_samples) / model.sample_rate
    return StartRequest(
        request_id=wire_id,
        attempt=attempt,
        text=clip.spoken_part,
        seed=seed_of_take(clip.seed, clip.part, clip.take),
        language=clip.text.parts[clip.part].language if TOLD_LANGUAGE in model.features else None,
        instructions=_instructions(clip, voice),
        voice=voice.voice,
        reference_latents=voice.reference_latents,
        prompt_text=voice.prompt_text,
        prompt_latents=voice.prompt_latents,
        adapter=voice.adapter,
        cfg_value=request.cfg_value,
        inference_timesteps=request.inference_timesteps,
        temperature=request.temperature,
        min_seconds=max(shortest - before, 0.0) if shortest and clip.is_last_part else None,
        max_seconds=min(clip.longest_seconds - spent, max(_LONGEST_PART_SECONDS, shortest)),
        resume_latents=_resume_latents(clip),
        resume_silence=astuple(clip.silence) if clip.silence.patches else None,
    )


def _voice(clip: Clip) -> Conditioning:
    """As the request names it, or that of the parts before."""
    if clip.sample is None or clip.conditioning != NOBODY:
        return clip.conditioning
    return clip.sample.condition(clip.model)


def _instructions(clip: Clip, voice: Conditioning) -> str | None:
    """None for a model that follows none, and where speech goes on: it does so as it is."""
    told = INSTRUCTIONS in clip.model.features and voice.prompt_latents is None
    return clip.request.instructions or None if told else None


def _resume_latents(clip: Clip) -> Latents | None:
    if not clip.latents:
        return None
    shape = (len(clip.latents), clip.model.patch_size, clip.model.latent_dim)
    return Latents(shape=shape, data=b"".join(clip.latents))
