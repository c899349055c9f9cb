"""What was heard in a recording, and what is wrong with it, in words that say what to do about it.

`examine` trims the edges, measures, and says what it found, and where. What would make a voice of no use is
an error, for which `check` refuses the recording; what would make it a poor one is a warning.

The thresholds are judgements about a single speaker near a microphone. They cannot tell music from noise, nor
one speaker from two, and a room that echoes passes. So does what was overdriven before it was resampled, or
coded with loss: its peaks are round again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gateway.errors import ApiError
from gateway.voices.recordings.decoding import Recording
from gateway.voices.recordings.loudness import SILENCE_LUFS, integrated_loudness
from gateway.voices.recordings.regions import Region, regions_of

MIN_SECONDS = 2.0
_ADVISED_SECONDS, _ENOUGH_SECONDS = 5.0, 30.0
_FRAME_SECONDS = 0.02
_MARGIN_SECONDS = 0.1
"""Kept of the silence before and after."""
_SILENCE_DB = -60.0
_SPEECH_BELOW_PEAK_DB = 40.0
"""Frames this much quieter than the loudest are pauses."""
_SILENT_LUFS, _QUIET_LUFS = -50.0, -33.0
_LEAST_CEILING, _BELOW_CEILING = 1000, 0.002
"""The largest sample of speech that was cut off there, and which samples count as cut off with it."""
_CLIPPED_RUN = 3
_CLIPPED_SHARE, _CLIPPED_SHARE_REFUSED = 1e-4, 1e-2
_CLIPPED_JOIN_SECONDS = 0.1
_LOW_RATE = 16_000
_TELEPHONE_HERTZ, _ABOVE_HERTZ = (2600, 3400), (4300, 5200)
_TELEPHONE_DROP_DB = 40.0
"""From the loud frames of the one to the loudest of the other. Sentences without any s have 32 at most."""
_LEAST_SPEECH_SHARE = 0.5
_LONG_PAUSE_SECONDS = 1.5
_PAUSE_SECONDS = 0.3
_LEAST_RANGE_DB = 24.0
"""Between the quiet and the loud twentieth of the frames: speech in a quiet room has 30 and more. With hiss
or a street 15 dB below it there are less than these.
"""
_QUIET_PERCENT = 25.0
"""Frames among which noise is heard by itself."""


@dataclass(frozen=True)
class Check:
    """One remark on a recording."""

    code: str
    severity: Literal["info", "warning", "error"]
    message: str
    regions: tuple[Region, ...] = ()
    """Where it is; none for what holds for the whole."""

    def to_dict(self) -> dict[str, Any]:
        """As the API says it."""
        regions = [region._asdict() for region in self.regions]
        return {"code": self.code, "severity": self.severity, "message": self.message, "regions": regions}


@dataclass(frozen=True)
class Checked:
    """A recording without the silence at its ends, and what was heard in it."""

    recording: Recording
    loudness_lufs: float
    checks: list[Check]
    sound_seconds: float
    """How much of it is louder than a pause."""

    @property
    def refusal(self) -> Check | None:
        """Why no voice can be made of it."""
        return next((check for check in self.checks if check.severity == "error"), None)


def check(recording: Recording, cleanable: bool = False) -> Checked:
    """`examine`, of what a voice can be made of.

    Raises ApiError 422 (param "audio"). Takes a while: not for the event loop.
    """
    checked = examine(recording, cleanable)
    if (refusal := checked.refusal) is not None:
        raise ApiError(422, refusal.code, refusal.message, param="audio")
    return checked


def examine(recording: Recording, cleanable: bool = False) -> Checked:
    """Trim, measure and judge. Takes a while: not for the event loop.

    cleanable: whether its noise can be taken out where the client wants that.
    """
    levels = frame_levels(recording)
    if levels.max(initial=-np.inf) < _SILENCE_DB:
        message = "the recording is silent: check that the right microphone is on"
        return Checked(recording, SILENCE_LUFS, [Check("audio_silent", "error", message)], 0.0)
    remarks = _on_clipping(recording)
    first, end = sounding(recording, levels)
    trimmed = Recording(recording.samples[first:end], recording.sample_rate)
    inner = frame_levels(trimmed)
    sound_seconds = float(is_sound(inner).sum()) * _FRAME_SECONDS
    if trimmed.seconds < MIN_SECONDS:
        message = (
            f"there are {trimmed.seconds:.1f} s between the first and the last sound, and at least"
            f" {MIN_SECONDS:g} s are needed: record 5 to 15 s of speech"
        )
        remarks.append(Check("audio_too_short", "error", message))
        return Checked(trimmed, SILENCE_LUFS, remarks, sound_seconds)
    loudness = integrated_loudness(trimmed.samples / 32768.0, trimmed.sample_rate)
    offset_seconds = first / recording.sample_rate
    remarks += [*_on_length(trimmed), *_on_level(loudness), *_on_rate(trimmed), *_on_band(trimmed, inner)]
    remarks += [*_on_pauses(inner, offset_seconds), *_on_noise(inner, offset_seconds, cleanable)]
    if recording.seconds - trimmed.seconds > _FRAME_SECONDS:
        remarks.append(_trimmed(recording, first, end))
    return Checked(trimmed, loudness, remarks, sound_seconds)


def frame_levels(recording: Recording) -> np.ndarray:
    """float [frames]: level of each 20 ms in dB of full scale; what is left over at the end is dropped.

    A constant offset, as cheap microphones have it, is no sound.
    """
    return 10 * np.log10(_frames(recording).var(axis=1) + 1e-12)


def _frames(recording: Recording) -> np.ndarray:
    size = round(_FRAME_SECONDS * recording.sample_rate)
    return recording.samples[: len(recording.samples) // size * size].reshape(-1, size) / 32768.0


def is_sound(levels: np.ndarray) -> np.ndarray:
    """bool [frames]: those that are no pause."""
    return levels > max(_SILENCE_DB, levels.max() - _SPEECH_BELOW_PEAK_DB)


def sounding(recording: Recording, levels: np.ndarray) -> tuple[int, int]:
    """From which sample to which there is sound, and a tenth of a second around it."""
    loud = np.flatnonzero(is_sound(levels))
    rate = recording.sample_rate
    size, margin = round(_FRAME_SECONDS * rate), round(_MARGIN_SECONDS * rate)
    first = max(0, int(loud[0]) * size - margin)
    return first, min(len(recording.samples), (int(loud[-1]) + 1) * size + margin)


def is_clipped(samples: np.ndarray) -> np.ndarray:
    """bool [n]: the third and later samples of each run at the ceiling.

    That is full scale, or less where a recording was turned down after it had been overdriven.
    """
    values = samples.astype(np.int32)
    full = np.zeros(len(values), bool)
    for side in (values, -values):
        if (ceiling := side.max(initial=0)) >= _LEAST_CEILING:
            full |= side >= (1 - _BELOW_CEILING) * ceiling
    runs = full.copy()
    for shift in range(1, _CLIPPED_RUN):
        runs[shift:] &= full[:-shift]
        runs[:shift] = False
    return runs


def _on_clipping(recording: Recording) -> list[Check]:
    clipped = is_clipped(recording.samples)
    share = float(clipped.mean())
    if share <= _CLIPPED_SHARE:
        return []
    where = regions_of(clipped, 1 / recording.sample_rate, _CLIPPED_JOIN_SECONDS)
    if share > _CLIPPED_SHARE_REFUSED:
        message = "the recording is overdriven: turn the microphone down or move away from it"
        return [Check("audio_clipped", "error", message, where)]
    message = "it is overdriven in places: turn the microphone down a little"
    return [Check("clipping", "warning", message, where)]


def _on_length(recording: Recording) -> list[Check]:
    seconds = recording.seconds
    if seconds < _ADVISED_SECONDS:
        message = f"{seconds:.1f} s are little: a voice is caught better in 5 to 15 s"
        return [Check("short", "warning", message)]
    if seconds > _ENOUGH_SECONDS:
        return [Check("long", "info", f"{seconds:.0f} s are more than is needed: 5 to 15 s are enough")]
    return []


def _on_level(loudness: float) -> list[Check]:
    if loudness < _SILENT_LUFS:
        message = f"the recording is too quiet ({loudness:.0f} LUFS): move closer to the microphone"
        return [Check("audio_too_quiet", "error", message)]
    if loudness < _QUIET_LUFS:
        message = f"it is quiet ({loudness:.0f} LUFS): closer to the microphone, noise matters less"
        return [Check("quiet", "warning", message)]
    return []


def _on_rate(recording: Recording) -> list[Check]:
    if recording.sample_rate >= _LOW_RATE:
        return []
    message = f"{recording.sample_rate} samples per second sound like a telephone: record at 16000 or more"
    return [Check("narrow_band", "warning", message)]


def _on_band(recording: Recording, levels: np.ndarray) -> list[Check]:
    """A check of a file whose rate promises more than its microphone, or the way from it, has let through."""
    if recording.sample_rate < _LOW_RATE:
        return []
    sound = _frames(recording)[is_sound(levels)]
    power = np.abs(np.fft.rfft(sound * np.hanning(sound.shape[1]))) ** 2
    hertz = np.fft.rfftfreq(sound.shape[1], 1 / recording.sample_rate)

    def level(band: tuple[int, int], percent: float) -> float:
        of_frames = power[:, (hertz >= band[0]) & (hertz < band[1])].mean(axis=1)
        return 10 * np.log10(np.percentile(of_frames, percent) + 1e-12)

    if level(_TELEPHONE_HERTZ, 90) - level(_ABOVE_HERTZ, 99) < _TELEPHONE_DROP_DB:
        return []
    message = "nothing is heard above 4 kHz, as from a telephone or Bluetooth headset: use another microphone"
    return [Check("telephone", "warning", message)]


def _on_pauses(levels: np.ndarray, offset_seconds: float) -> list[Check]:
    sound = is_sound(levels)
    if sound.mean() < _LEAST_SPEECH_SHARE:
        message = "more than half of it is pauses: speak through, or cut them out"
        where = regions_of(~sound, _FRAME_SECONDS, least_seconds=_PAUSE_SECONDS)
        return [Check("pauses", "warning", message, _later(where, offset_seconds))]
    where = regions_of(~sound, _FRAME_SECONDS, least_seconds=_LONG_PAUSE_SECONDS)
    if not where:
        return []
    message = f"there are pauses of {_LONG_PAUSE_SECONDS:g} s and more: the voice may pause as long"
    return [Check("long_pause", "warning", message, _later(where, offset_seconds))]


def _on_noise(levels: np.ndarray, offset_seconds: float, cleanable: bool) -> list[Check]:
    low, quiet, high = np.percentile(levels, [5, _QUIET_PERCENT, 95])
    if high - low >= _LEAST_RANGE_DB:
        return []
    message = "noise or music fills the pauses: the voice will have it too. Record in a quiet room"
    if cleanable:
        message += ", or have noise taken out with denoise=true"
    where = regions_of(levels <= quiet, _FRAME_SECONDS, 3 * _FRAME_SECONDS, 2 * _FRAME_SECONDS)
    return [Check("noise", "warning", message, _later(where, offset_seconds))]


def _trimmed(recording: Recording, first: int, end: int) -> Check:
    rate = recording.sample_rate
    ends = (Region(0.0, first / rate), Region(end / rate, recording.seconds))
    where = tuple(Region(round(a, 3), round(b, 3)) for a, b in ends if b > a)
    seconds = sum(b - a for a, b in where)
    return Check("trimmed", "info", f"{seconds:.1f} s of silence were cut off at the ends", where)


def _later(regions: tuple[Region, ...], seconds: float) -> tuple[Region, ...]:
    return tuple(Region(round(start + seconds, 3), round(end + seconds, 3)) for start, end in regions)
