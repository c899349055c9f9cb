"""Whether a text was said in some audio, by an aligner that has nothing else to do.

    confidence = await confidence_in(aligner, "Good morning.", "en", pcm, 24000)

Whoever has a slot of a worker meanwhile must not wait for long: an aligner that is at work is not asked, and
one that takes its time not waited for. It tells how likely the text is, given the audio, which takes a
fraction of the time of writing down what is said.
"""

from __future__ import annotations

import asyncio

from gateway.text import Spoken
from gateway.timing.aligner import Aligner, AlignmentError
from gateway.timing.alignment import pieces
from gateway.timing.whisper import LONGEST_SECONDS

LEAST_WORDS = 4
"""Fewer are too few to tell by."""
_PATIENCE_SECONDS = 3.0


async def confidence_in(
    aligner: Aligner, text: str, language: str, pcm: bytes, sample_rate: int
) -> float | None:
    """From 0 to 1, how well spoken text fits s16le mono samples; None where that is not known."""
    said = pieces(Spoken.of(text))
    too_long = len(pcm) / 2 / sample_rate > LONGEST_SECONDS
    if aligner.busy or len(said) < LEAST_WORDS or too_long:
        return None
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            heard = await aligner.align(pcm, sample_rate, said, language)
    except (AlignmentError, TimeoutError):
        return None
    return heard.confidence
