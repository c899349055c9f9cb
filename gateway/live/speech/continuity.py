"""What a sentence takes over from the one before, so that the two sound like one breath.

A model that announces the feature "prompt" continues the words and the audio it is given: here those of the
sentence before, behind the prompt and beside the reference of the voice itself. Where both are longer than
the model takes, the voice's own prompt gives way. A model that was not trained for it doesn't announce it,
and each sentence begins anew. Of a sentence in parts the last one is taken over.
`python -m benchmarks.voice.continuity` measures what becomes of them.
"""

from __future__ import annotations

from dataclasses import replace

from gateway.streams.clip.clip import Clip
from gateway.streams.clip.conditioning import Conditioning
from worker.protocol import Latents, ModelDescription

MOST_SECONDS = 10.0
"""A longer sentence is not taken over: words and audio of a prompt must be of the same, whole, speech."""


def take_over(voice: Conditioning, before: Clip | None, model: ModelDescription) -> Conditioning:
    """What the worker is told of the voice, as a continuation of the clip `before` if that can be."""
    if before is None or not _can_be_continued(before, model):
        return voice
    text = " ".join(before.spoken_part.split())
    data = b"".join(before.latents)
    patches = len(before.latents)
    if voice.prompt_latents is not None and model.continues(
        (patches + voice.prompt_latents.shape[0]) * model.patch_seconds
    ):
        text = f"{voice.prompt_text.rstrip()} {text}"
        data = voice.prompt_latents.data + data
        patches += voice.prompt_latents.shape[0]
    space = " " if before.request.text[-1:].isspace() else ""
    latents = Latents(shape=(patches, model.patch_size, model.latent_dim), data=data)
    return replace(voice, prompt_text=text + space, prompt_latents=latents)


def _can_be_continued(clip: Clip, model: ModelDescription) -> bool:
    """It was spoken to its end, by the same model, which takes prompts of its length."""
    return (
        clip.finish_reason == "stop"
        and clip.model.revision == model.revision
        and 0 < len(clip.latents) * model.patch_seconds <= MOST_SECONDS
        and model.continues(len(clip.latents) * model.patch_seconds)
    )
