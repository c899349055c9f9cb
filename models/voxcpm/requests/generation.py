"""The state of one request while its speech is generated, and the rules that end it.

A clip ends when the stop head says so (never up to patch `min_stop_index`), when the
requested or the model's length is reached, or when it has run away: far more audio than the text can
need, or nothing but silence for seconds. None of that ends it before the least length that was requested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models.lora.rows import LoadedAdapter
from models.voxcpm.watch.watch import SILENCE_LEVEL, SpeechWatch

if TYPE_CHECKING:
    from models.lora.bank import SlotAdapter

MIN_STOP_INDEX = 2
"""A stop is honoured only after this patch index: the `min_len` of the published package."""

TEXT_RATIO_CAP = 6.0
TEXT_RATIO_MARGIN = 10
"""At most tokens * 6 + 10 patches: the published package's bound on a bad case."""

SILENCE_LIMIT_SECONDS = 3.0
_ENDLESS = 2.0**32  # patches
_ROUNDING = 1e-9  # patches


def text_ratio_cap(num_text_tokens: int) -> int:
    """Most patches that a target text of this many tokens can reasonably need."""
    return int(num_text_tokens * TEXT_RATIO_CAP + TEXT_RATIO_MARGIN)


@dataclass
class SilenceGuard:
    """Notices a clip that has gone silent: no sample above -60 dB of full scale for `limit_seconds`."""

    limit_seconds: float = SILENCE_LIMIT_SECONDS
    silent_seconds: float = 0.0

    def ran_away(self, peak: float, seconds: float) -> bool:
        """Take the next `seconds` of audio, no louder than `peak`, into account; True at the limit."""
        self.silent_seconds = 0.0 if peak > SILENCE_LEVEL else self.silent_seconds + seconds
        return self.silent_seconds >= self.limit_seconds


@dataclass
class GenerationState:
    """What the runner needs to know of a request besides its key stream."""

    seed: int
    cfg_value: float
    num_steps: int
    temperature: float
    max_patches: int
    """Patches after which the clip ends, resumed ones included."""
    limit_reason: str
    """Finish reason at `max_patches`: "length" or "runaway"."""
    min_patches: int = 0
    min_stop_index: int = MIN_STOP_INDEX
    index: int = 0
    """Index of the next patch."""
    silence: SilenceGuard | None = None
    watch: SpeechWatch | None = None
    adapter: LoadedAdapter | SlotAdapter | None = None

    def finish_reason(self, stop_predicted: bool, peak: float, patch_seconds: float) -> str | None:
        """Why the clip ends with patch `index`, or None. Call once per patch, before `index` moves on.

        peak: largest magnitude of the patch's audio.
        """
        if self._stops(stop_predicted):
            return "stop"
        if self.index + 1 >= self.max_patches:
            return self.limit_reason
        if self.silence is not None and self.silence.ran_away(peak, patch_seconds):
            return self._end_of_silence()
        return None

    def _end_of_silence(self) -> str | None:
        """A clip that fell silent before it may end has said all it had to say: it ends as soon as it may."""
        patches = self.index + 1
        if patches < self.min_patches:
            return None
        return "stop" if patches == self.min_patches else "runaway"

    def ends(self, stop_predicted: bool) -> bool:
        """Whether the clip ends with patch `index`, however it sounds."""
        return self._stops(stop_predicted) or self.index + 1 >= self.max_patches

    def _stops(self, predicted: bool) -> bool:
        return predicted and self.index > self.min_stop_index and self.index + 1 >= self.min_patches


def patches_in(seconds: float, patch_seconds: float) -> int:
    """Whole patches that cover `seconds`, which may be infinite: more than any model has then."""
    return math.ceil(min(seconds / patch_seconds, _ENDLESS) - _ROUNDING)


def patches_within(seconds: float, patch_seconds: float) -> int:
    """Whole patches that are no longer than `seconds`, which may be infinite as well."""
    return math.floor(min(seconds / patch_seconds, _ENDLESS) + _ROUNDING)
