"""The utterance that is being spoken, from its text to the audio and the times of words that go out.

After `cut`, what still comes of it goes nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gateway.audio.delivery import Delivery
from gateway.audio.output import Output
from gateway.live.messages import Start
from gateway.live.session.session import LiveSession
from gateway.live.session.timeline import Utterance
from gateway.live.speech.continuity import take_over
from gateway.live.speech.witness import LiveWitness
from gateway.service import Gateway
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.conditioning import Conditioning
from gateway.streams.clip.spoken import Spoken
from gateway.streams.clip.takes import Takes
from gateway.streams.clip.times import ClipTimes, InOrder
from gateway.timing.part import PartTimes
from worker.protocol import ModelDescription


class Saying:
    """One utterance after the other; `sample_rate`, of what goes out, is set before the first."""

    def __init__(
        self,
        gateway: Gateway,
        session: LiveSession,
        start: Start,
        witness: LiveWitness,
        heard: Callable[[float], None],
        repeated: Callable[[int, str, str], None],
    ) -> None:
        """`heard`: told the seconds of audio that came, as they are played. `repeated`: of a part."""
        self._gateway = gateway
        self._session = session
        self._start = start
        self._witness = witness
        self._heard = heard
        self._repeated = repeated
        self.clip: Clip | None = None
        self._before: Clip | None = None
        """The one before it."""
        self._delivery: Delivery | None = None
        self._order = InOrder()
        self._times: ClipTimes | None = None
        """Times of words in the utterance that is being spoken, where they are asked for."""
        self._speed = start.speed
        """The speed of that utterance."""
        self.sample_rate = 0
        self.audio_seconds = 0.0

    def begin(self, utterance: Utterance, clip: Clip) -> None:
        """Begin with the next utterance."""
        self.clip = clip
        if self._start.timestamps != "none":
            tell = partial(self._timed, utterance)
            self._times = ClipTimes(clip, self._gateway.aligner, self._order, tell)

    def open(self, clip: Clip, voice: Conditioning, model: ModelDescription) -> None:
        """A worker takes the clip, with its voice and what is taken over of the one before it."""
        clip.conditioning = take_over(voice, self._before, model)
        if not clip.begun:
            self._speed, watermark = self._start.speed, self._gateway.settings.watermark
            output = Output(model.sample_rate, self.sample_rate, speed=self._speed, watermark=watermark)
            self._delivery = Delivery(output, self._hand_out, model.sample_rate, self._gateway.marker)

    def piece(self, clip: Clip) -> Spoken:
        """The piece of the clip that a worker is asked for next."""

        def repeated(part: int, flaw: str, outcome: str) -> None:
            self._repeated(part, flaw, outcome)
            if clip is self.clip:
                self._session.begins_again(clip.cut_seconds / self._speed)
                self._witness.begins_again(part, self._session.timeline.current.samples)

        most = self._gateway.settings.max_retakes
        return Spoken(clip, Takes(clip, lambda pcm: self._deliver(clip, pcm), most, repeated))

    def speaking(self, clip: Clip, worker_id: str) -> None:
        """A worker has begun to speak the clip."""
        self._witness.speaking(worker_id, clip)
        if clip is self.clip and self._times is not None:
            self._times.speaking()
        if clip is self.clip and not clip.text.reading.as_written:
            self._session.timeline.say(clip.text.said)

    def silent(self, samples: int) -> None:
        """So many samples of silence between two utterances."""
        self._session.heard(bytes(2 * samples))
        self._witness.silent(samples, self.sample_rate)

    async def drained(self, last: bool = False) -> None:
        """Returns when all that came is handed out. `last`: nothing comes after it."""
        if last:
            self._delivery.take(b"", last=True)
        await self._delivery.drained()

    def end(self) -> None:
        """All of it is handed out."""
        if self._times is not None:
            self._times.end()
        self.clip, self._before, self._times = None, self.clip, None

    def cut(self) -> None:
        """Nobody wants the rest, nor is the next one to go on from it."""
        self.drop()
        self.clip = self._before = self._times = None

    def drop(self) -> None:
        """Drop audio and times that have not left yet."""
        self._order.drop()
        if self._delivery is not None:
            self._delivery.drop()

    async def all_told(self) -> None:
        """Returns when the times of all words are told."""
        await self._order.all_told()

    def _timed(self, utterance: Utterance, part: PartTimes) -> None:
        self._gateway.metrics.timed_parts.labels(part.source).inc()
        self._session.timed(utterance, part)
        self._witness.timed(utterance.index, part, self.sample_rate)

    def _deliver(self, clip: Clip, pcm: bytes) -> None:
        """Audio of the utterance, unless it was cut off meanwhile."""
        if clip is not self.clip:
            return
        seconds = len(pcm) / 2 / clip.model.sample_rate
        self._heard(seconds / self._speed)
        if self._times is not None:
            self._times.heard(pcm)
        self.audio_seconds += seconds
        self._delivery.take(pcm)

    def _hand_out(self, pcm: bytes) -> None:
        self._session.heard(pcm)
        self._witness.audio(pcm, self.sample_rate)
