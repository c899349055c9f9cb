"""What is wrong with a recording, in words that say what to do about it.

`check` trims the edges, measures, and returns the audio as it is kept. What would make a voice of no use is
refused; what would make it a poor one is said.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from gateway.errors import ApiError
from gateway.voices.decoding import Recording
from gateway.voices.loudness import integrated_loudness

MIN_SECONDS = 2.0
_ADVISED_SECONDS = 5.0
_FRAME_SECONDS = 0.02
_MARGIN_SECONDS = 0.1
"""Kept of the silence before and after."""
_SILENCE_DB = -60.0
_SPEECH_BELOW_PEAK_DB = 40.0
"""Frames this much quieter than the loudest are pauses."""
_SILENT_LUFS, _QUIET_LUFS = -50.0, -33.0
_FULL_SCALE = 32_700
_CLIPPED_RUN = 3
_CLIPPED_SHARE, _CLIPPED_SHARE_REFUSED = 1e-4, 1e-2
_LOW_RATE = 16_000
_LEAST_SPEECH_SHARE = 0.5
_LEAST_RANGE_DB = 20.0


@dataclass(frozen=True)
class Check:
    """One remark on a recording."""

    code: str
    severity: Literal["info", "warning"]
    message: str

    def to_dict(self) -> dict[str, str]:
        """As the API says it."""
        return asdict(self)


@dataclass(frozen=True)
class Checked:
    """A recording that can be used."""

    recording: Recording
    loudness_lufs: float
    checks: list[Check]


def check(recording: Recording) -> Checked:
    """Trim, measure and judge. Raises ApiError 422 (param "audio"). Takes a while: not for the event loop."""
    levels = frame_levels(recording)
    if levels.max(initial=-np.inf) < _SILENCE_DB:
        raise _refusal("audio_silent", "the recording is silent: check that the right microphone is on")
    clipped = clipped_share(recording.samples)
    if clipped > _CLIPPED_SHARE_REFUSED:
        message = "the recording is overdriven: turn the microphone down or move away from it"
        raise _refusal("audio_clipped", message)
    trimmed = trim(recording, levels)
    if trimmed.seconds < MIN_SECONDS:
        message = (
            f"there are {trimmed.seconds:.1f} s between the first and the last sound, and at least"
            f" {MIN_SECONDS:g} s are needed: record 5 to 15 s of speech"
        )
        raise _refusal("audio_too_short", message)
    loudness = integrated_loudness(trimmed.samples / 32768.0, trimmed.sample_rate)
    if loudness < _SILENT_LUFS:
        message = f"the recording is too quiet ({loudness:.0f} LUFS): move closer to the microphone"
        raise _refusal("audio_too_quiet", message)
    remarks = [*_remarks(trimmed, loudness, clipped), *_on_pauses_and_noise(frame_levels(trimmed))]
    if recording.seconds - trimmed.seconds > _FRAME_SECONDS:
        cut = f"{recording.seconds - trimmed.seconds:.1f} s of silence were cut off at the ends"
        remarks.append(Check("trimmed", "info", cut))
    return Checked(trimmed, loudness, remarks)


def frame_levels(recording: Recording) -> np.ndarray:
    """float [frames]: level of each 20 ms in dB of full scale; what is left over at the end is dropped."""
    size = round(_FRAME_SECONDS * recording.sample_rate)
    frames = recording.samples[: len(recording.samples) // size * size].reshape(-1, size) / 32768.0
    return 10 * np.log10((frames**2).mean(axis=1) + 1e-12)


def trim(recording: Recording, levels: np.ndarray) -> Recording:
    """Without the silence at its ends, but for a tenth of a second."""
    loud = np.flatnonzero(levels > max(_SILENCE_DB, levels.max() - _SPEECH_BELOW_PEAK_DB))
    rate = recording.sample_rate
    size, margin = round(_FRAME_SECONDS * rate), round(_MARGIN_SECONDS * rate)
    first = max(0, int(loud[0]) * size - margin)
    end = min(len(recording.samples), (int(loud[-1]) + 1) * size + margin)
    return Recording(recording.samples[first:end], rate)


def clipped_share(samples: np.ndarray) -> float:
    """Share of the samples in runs of three and more at full scale."""
    full = np.abs(samples.astype(np.int32)) >= _FULL_SCALE
    runs = full.copy()
    for shift in range(1, _CLIPPED_RUN):
        runs[shift:] &= full[:-shift]
        runs[:shift] = False
    return float(runs.sum()) / max(1, len(samples))


def _remarks(recording: Recording, loudness: float, clipped: float) -> list[Check]:
    found: list[Check] = []
    if recording.seconds < _ADVISED_SECONDS:
        message = f"{recording.seconds:.1f} s are little: a voice is caught better in 5 to 15 s"
        found.append(Check("short", "warning", message))
    if loudness < _QUIET_LUFS:
        message = f"it is quiet ({loudness:.0f} LUFS): closer to the microphone, noise matters less"
        found.append(Check("quiet", "warning", message))
    if clipped > _CLIPPED_SHARE:
        message = "it is overdriven in places: turn the microphone down a little"
        found.append(Check("clipping", "warning", message))
    if recording.sample_rate < _LOW_RATE:
        message = (
            f"{recording.sample_rate} samples per second sound like a telephone: record at 16000 or more"
        )
        found.append(Check("narrow_band", "warning", message))
    return found


def _on_pauses_and_noise(levels: np.ndarray) -> list[Check]:
    found: list[Check] = []
    if (levels > levels.max() - _SPEECH_BELOW_PEAK_DB).mean() < _LEAST_SPEECH_SHARE:
        message = "more than half of it is pauses: speak through, or cut them out"
        found.append(Check("pauses", "warning", message))
    if np.percentile(levels, 95) - np.percentile(levels, 5) < _LEAST_RANGE_DB:
        message = "noise or music fills the pauses: the voice will have it too. Record in a quiet room"
        found.append(Check("noise", "warning", message))
    return found


def _refusal(code: str, message: str) -> ApiError:
    return ApiError(422, code, message, param="audio")
