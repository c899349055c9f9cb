"""What of a `StartRequest` makes a worker speak with a certain voice."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace

from worker.protocol import AdapterUse, Latents


@dataclass(frozen=True)
class Conditioning:
    """A voice that the worker has by name, or "default" and the latents of one that it has not."""

    voice: str = "default"
    reference_latents: Latents | None = None
    prompt_text: str | None = None
    """The words of the prompt's audio; both or neither are given."""
    prompt_latents: Latents | None = None
    adapter: AdapterUse | None = None

    @property
    def without_prompt(self) -> Conditioning:
        """The voice by its reference alone."""
        return replace(self, prompt_text=None, prompt_latents=None)


def words_before(words: str) -> str:
    """The words of a prompt before the text, which follows without a gap: with a space, unless they are
    Chinese.
    """
    return words if unicodedata.east_asian_width(words[-1]) in "WF" else f"{words} "
