"""What is written down of a live session that is recorded, and nothing of one that is not."""

from __future__ import annotations

from typing import Any

from gateway.requests import TtsRequest
from gateway.sessions import Recording
from gateway.streams.clip.clip import Clip
from gateway.text.ssml import MOST_PAUSE_SECONDS
from gateway.timing.part import PartTimes

CUT_OFF = "cancelled"
_PARAMETERS = ("voice", "adapter", "instructions", "cfg_value", "inference_timesteps", "temperature")


class LiveWitness:
    """Passes on to a `Recording` what belongs to an utterance."""

    def __init__(self, recording: Recording | None) -> None:
        self._recording = recording
        self._index = -1
        self._characters = 0
        """Characters of the utterance."""
        self._first_sample = 0
        """The sample at which they begin to be said."""
        self._silence = 0
        """Samples of silence before the next utterance."""
        self._silences: dict[int, int] = {}
        """The same of utterances that had some, with which they are recorded."""
        self._rate = 0
        self._in_words = False
        self._respelt: dict[str, str] = {}
        self._language: str | None = None

    @property
    def session_id(self) -> str | None:
        """The id of the session that it is recorded as."""
        return self._recording.session_id if self._recording else None

    def event(self, kind: str, **facts: Any) -> None:
        """Something that is no speech."""
        if self._recording is not None:
            self._recording.event(kind, **facts)

    def began(self, request: TtsRequest, seed: int) -> None:
        """An utterance begins."""
        if self._recording is not None:
            parameters = {name: getattr(request, name) for name in _PARAMETERS}
            self._index = self._recording.utterance(request.text, {**parameters, "seed": seed})
            self._characters, self._first_sample = len(request.text), self._silence
            if self._silence:
                self._recording.audio(self._index, bytes(2 * self._silence), self._rate)
                self._silences[self._index], self._silence = self._silence, 0

    def silent(self, samples: int, sample_rate: int) -> None:
        """So many samples of silence before the next utterance. As much of it is recorded as a clip may have:
        whoever sends pauses and no word hears hours of them.
        """
        most = round(MOST_PAUSE_SECONDS * sample_rate)
        self._silence, self._rate = min(self._silence + samples, most), sample_rate

    def speaking(self, worker_id: str, clip: Clip) -> None:
        """A worker speaks it, or goes on with it."""
        self._in_words, self._respelt = clip.text.in_words(clip.part), clip.respelt
        self._language = clip.text.parts[clip.part].language
        if self._recording is not None:
            self._recording.worker(self._index, worker_id)

    def lost(self, worker_id: str, reason: str) -> None:
        """The worker failed."""
        self.event("worker_lost", worker_id=worker_id, reason=reason)

    def begins_again(self, part: int, sample: int) -> None:
        """A part of it went wrong, was cut after so many samples of the utterance, and is said again."""
        sample += self._silences.get(self._index, 0)
        self.event("cut", index=self._index, sample=sample)
        if part == 0:
            self._first_sample = sample

    def audio(self, pcm: bytes, sample_rate: int) -> None:
        """The next samples of it."""
        if self._recording is not None:
            self._recording.audio(self._index, pcm, sample_rate)

    def timed(self, index: int, part: PartTimes, sample_rate: int) -> None:
        """When the words of an utterance, or of a part of it, were said in its audio."""
        if self._recording is not None:
            self._recording.words(index, part, sample_rate, -self._silences.get(index, 0))

    def ended(self, outcome: str) -> None:
        """The utterance is over. Of one that was cut off it is not known which of its text was spoken."""
        if self._recording is not None:
            if outcome != CUT_OFF:
                self._recording.spoken(
                    self._index, 0, self._characters, self._first_sample,
                    in_words=self._in_words, respelt=self._respelt, language=self._language,
                )  # fmt: skip
            self._recording.utterance_done(self._index, outcome)

    def finish(self, outcome: str) -> None:
        """The session is."""
        if self._recording is not None:
            self._recording.finish(outcome)
