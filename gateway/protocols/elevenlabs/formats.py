"""`output_format`: `mp3_44100_128`, `pcm_24000`, `ulaw_8000` and so on."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.errors import ApiError

DEFAULT_FORMAT = "mp3_44100_128"
_RATES = (8000, 16000, 22050, 24000, 32000, 44100, 48000)
_BIT_RATES = {
    "mp3": {22050: (32,), 24000: (48,), 44100: (32, 64, 96, 128, 192)},
    "opus": {48000: (32, 64, 96, 128, 192)},
}
"""By sample rate, in kbit/s."""


@dataclass(frozen=True)
class OutputFormat:
    """What the audio is to be."""

    format: str
    sample_rate: int
    bit_rate: int | None = None
    """Bits per second."""


def _all() -> dict[str, OutputFormat]:
    found = {f"{name}_{rate}": OutputFormat(name, rate) for name in ("pcm", "wav") for rate in _RATES}
    found |= {f"{name}_8000": OutputFormat(name, 8000) for name in ("ulaw", "alaw")}
    for name, by_rate in _BIT_RATES.items():
        for rate, bit_rates in by_rate.items():
            found |= {f"{name}_{rate}_{kbit}": OutputFormat(name, rate, 1000 * kbit) for kbit in bit_rates}
    return found


FORMATS = _all()


def output_format(name: str, *, over_socket: bool = False) -> OutputFormat:
    """What `name` means. Raises ApiError 422 for none; a wav file has no place in messages."""
    found = FORMATS.get(name)
    if found is None or (over_socket and found.format == "wav"):
        known = ", ".join(name for name in FORMATS if not (over_socket and name.startswith("wav")))
        message = f"output_format: must be one of {known}"
        raise ApiError(422, "invalid_value", message, param="output_format")
    return found
