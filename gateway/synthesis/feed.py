"""The audio of a clip on its way to the listener: at the rate and speed that it asked for, with the times of
its words and the pieces of its token.
"""

from __future__ import annotations

from collections import deque

from gateway.audio.delivery import Delivery
from gateway.audio.formats import output_sample_rate
from gateway.audio.output import Output
from gateway.service import Gateway
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.times import ClipTimes, InOrder
from gateway.streams.listener import Listener
from gateway.streams.resumption.token import Growth, TokenWriter
from gateway.timing.part import PartTimes


class Feed:
    """Open from the first worker that takes the clip on; nothing waits but `drained` and `all_told`."""

    def __init__(self, gateway: Gateway, clip: Clip, listener: Listener, token: TokenWriter | None) -> None:
        """`token`: told to the listener."""
        self._gateway = gateway
        self._clip = clip
        self._listener = listener
        self._token = token
        self._sealed: deque[tuple[Growth, int]] = deque()
        """Pieces of the token, and the samples of the clip that each covers, until the listener has those."""
        self._delivery: Delivery | None = None
        self.speed = 1.0
        """The speed of the part that is being spoken, against the model's."""
        self.samples = 0
        """Samples that the listener got here."""
        self.sample_rate = 0
        """Samples per second of the audio that the listener gets, known when it has heard `started`."""
        self._times: ClipTimes | None = None
        if clip.request.timestamps != "none":
            self._times = ClipTimes(clip, gateway.aligner, InOrder(), self._timed)

    def open(self, worker_id: str) -> None:
        """A worker takes the clip for the first time."""
        request, model_rate = self._clip.request, self._clip.model.sample_rate
        self.sample_rate = output_sample_rate(request.format, request.sample_rate, model_rate)
        watermark = self._gateway.settings.watermark
        output = Output(model_rate, self.sample_rate, speed=self.speed, watermark=watermark)
        self._delivery = Delivery(output, self._give, model_rate, self._gateway.marker)
        self._listener.started(worker_id, self.sample_rate)

    def speaking(self) -> None:
        """A worker speaks the present part from now on."""
        if self._times is not None:
            self._times.speaking()

    def silence(self, seconds: float) -> None:
        """All there is of a text without words."""
        audio = bytes(2 * round(seconds * self.sample_rate))
        self.samples = len(audio) // 2
        self._listener.audio(audio)
        if self._times is not None:
            self._listener.timed(PartTimes.wordless(self._clip.request.text, seconds))

    def take(self, pcm: bytes, last: bool = False) -> None:
        """Audio as the model made it."""
        if self._times is not None:
            self._times.heard(pcm)
        if self._token is not None and self._clip.finish_reason is None:
            self._sealed.append((self._token.extend(self._clip), self._clip.samples))
        self._delivery.take(pcm, last, self.speed)

    @property
    def is_behind(self) -> bool:
        """Whether the listener takes no more for now, or what is on its way to it is too much."""
        return self._listener.is_behind or self._delivery.is_behind

    async def drained(self) -> None:
        """Returns when all that was taken is handed out."""
        await self._delivery.drained()

    async def all_told(self) -> None:
        """All audio is handed out; returns when the times of its words are told."""
        if self._times is not None:
            self._times.end()
            self._listener.spoken()
            await self._times.order.all_told()

    def drop(self) -> None:
        """Drop audio and times that have not left yet."""
        if self._times is not None:
            self._times.order.drop()
        self._times = None  # which refers to this
        if self._delivery is not None:
            self._delivery.drop()

    def _timed(self, part: PartTimes) -> None:
        self._gateway.metrics.timed_parts.labels(part.source).inc()
        self._listener.timed(part)

    def _give(self, ready: bytes) -> None:
        self.samples += len(ready) // 2
        self._listener.audio(ready)
        heard = self._clip.samples - self._delivery.samples_behind
        while self._sealed and self._sealed[0][1] <= heard:
            growth, samples = self._sealed.popleft()
            self._listener.resumable(growth.text, samples, growth.keep)
