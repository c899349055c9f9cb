"""What happens to a clip's samples between the model and its listener."""

from __future__ import annotations

from gateway.audio.formats import Resampler
from gateway.audio.tempo import Tempo
from gateway.audio.watermark import Watermark


class Output:
    """One clip at the model's rate in; out at the listener's, with the inaudible mark where it is wanted."""

    def __init__(
        self, model_rate: int, listener_rate: int, *, speed: float = 1.0, watermark: bool = False
    ) -> None:
        """Rates in samples per second; `speed`: of the speech, whose pitch stays. Raises
        WatermarkMissingError.
        """
        self._model_rate, self._listener_rate = model_rate, listener_rate
        self._set_speed(speed)
        self._resampler = Resampler(model_rate, listener_rate)
        self._watermark = Watermark(listener_rate) if watermark else None
        self._taken = self._given = 0

    def process(self, pcm: bytes, last: bool = False, speed: float | None = None) -> bytes:
        """s16le samples in; out what is ready, with `last` all the rest. `speed`: from these samples on."""
        rest = b""
        if speed is not None and speed != self._speed:
            rest = self._tempo.process(b"", last=True)
            self._set_speed(speed)
        ready = self._resampler.process(rest + self._tempo.process(pcm, last), last)
        if self._watermark is not None:
            ready = self._watermark.process(ready, last)
        self._taken += len(pcm) // 2
        self._given += len(ready) // 2
        return ready

    def _set_speed(self, speed: float) -> None:
        self._speed = speed
        self._tempo = Tempo(self._model_rate, speed)
        self._ratio = speed * self._model_rate / self._listener_rate

    @property
    def samples_behind(self) -> int:
        """Samples of the model's rate that were taken and are not given out yet, rounded up to full ones.

        Of a clip of one speed.
        """
        return max(0, self._taken - int(self._given * self._ratio))
