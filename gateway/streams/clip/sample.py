"""Whose voice the further parts of a clip have, where the model makes up a speaker for each text.

A model with the feature "any_voice" has no voice of its own: a request that names none, with a text in parts,
would be spoken by somebody else in each. So the first part that was spoken well, or a longer one after a very
short one, is a recording for those behind it. It is their reference, or a prompt that they go on with where
the model takes no reference.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gateway.streams.clip.conditioning import Conditioning, words_before
from worker.protocol import ANY_VOICE, Latents, ModelDescription

LONGEST_REFERENCE_SECONDS, LONGEST_PROMPT_SECONDS = 10.0, 20.0
"""The most that is taken of a part: a reference is its beginning, a prompt is whole or none."""
ENOUGH_SECONDS = 3.0
"""Seconds that tell enough of a voice; below, a longer part takes the place of a shorter one."""
NOBODY = Conditioning()


@dataclass(frozen=True)
class VoiceSample:
    """Words, and float32 [n, P, D] of the speech that says them, or of its beginning."""

    text: str
    latents: bytes
    revision: str
    """The revision of the model that made it, which alone understands it."""

    def condition(self, model: ModelDescription) -> Conditioning:
        """What has a worker with `model` speak like it."""
        if model.revision != self.revision:
            return NOBODY
        size = (model.patch_size, model.latent_dim)
        latents = Latents(shape=(len(self.latents) // (4 * size[0] * size[1]), *size), data=self.latents)
        if "reference" in model.features:
            return replace(NOBODY, reference_latents=latents)
        return replace(NOBODY, prompt_text=words_before(self.text), prompt_latents=latents)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        latents = base64.b64encode(self.latents).decode("ascii")
        return {"text": self.text, "latents": latents, "revision": self.revision}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> VoiceSample:
        """The inverse. Raises KeyError, ValueError."""
        latents = base64.b64decode(fields["latents"], validate=True)
        return cls(fields["text"], latents, fields["revision"])


def kept_samples(model: ModelDescription, samples: int, samples_before: int) -> int:
    """Samples from the beginning of a part that tell further parts how to sound; 0: they sound as before.

    `samples_before`: what they sounded like until then.
    """
    seconds = samples / model.sample_rate
    if samples_before >= ENOUGH_SECONDS * model.sample_rate or samples <= samples_before:
        return 0
    if "reference" in model.features:
        return min(samples, int(LONGEST_REFERENCE_SECONDS * model.sample_rate))
    return samples if seconds <= LONGEST_PROMPT_SECONDS and model.continues(seconds) else 0


def better_sample(
    before: VoiceSample | None,
    text: str,
    patches: Sequence[bytes],
    model: ModelDescription,
    voice: Conditioning,
) -> VoiceSample | None:
    """What further parts sound like after one that said `text` in these patches: that, or as before."""
    if ANY_VOICE not in model.features or voice != NOBODY:
        return before
    samples_before = 0
    if before is not None and before.revision == model.revision:
        patches_before = len(before.latents) // (4 * model.patch_size * model.latent_dim)
        samples_before = patches_before * model.patch_samples
    samples = kept_samples(model, len(patches) * model.patch_samples, samples_before)
    if not samples:
        return before
    return VoiceSample(text, b"".join(patches[: samples // model.patch_samples]), model.revision)
