"""What a request's client hears on the way, what it is told at the end, and how far ahead of it we are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.streams.clip.clip import Clip
    from gateway.timing.part import PartTimes


class Listener:
    """What a request's client hears of it, whichever protocol it speaks; this one forgets it.

    The calls come in the order of the pieces and, but for `caught_up`, never wait. The end is that of
    `Synthesis.run`: an `Outcome` or an ApiError.
    """

    def queued(self, ticket_id: str, position: int, eta_seconds: float | None) -> None:
        """The request waits; called again whenever its position changes."""

    def started(self, worker_id: str, sample_rate: int) -> None:
        """A worker took it. Called once, also when other workers go on with it later."""

    def timed(self, part: PartTimes) -> None:
        """When the words of a part were said whose audio has come; told where the request asks for it. May
        raise ApiError to end the request.
        """

    def audio(self, pcm: bytes) -> None:
        """The next s16le samples. May raise ApiError to end the request."""

    def spoken(self) -> None:
        """All audio has come, and times of words may follow; told where the request asks for them."""

    @property
    def is_behind(self) -> bool:
        """Whether it has so much left to take that the next part of the text should wait."""
        return False

    async def caught_up(self) -> None:
        """Returns when it is not behind any more. The one call that waits, between two parts."""

    def resumable(self, token: str, samples: int, keep: int | None) -> None:
        """Appended to what came before, `token` covers the clip up to `samples`, which were heard already.

        `keep`: of what came before so many characters are enough; None: all are needed.

        Told to clients that want to be able to resume.
        """


class Witness:
    """Hears what a listener is not told: who speaks, and how it ended. This one forgets it."""

    def speaking(self, worker_id: str, clip: Clip, sample_rate: int) -> None:
        """A worker begins a part of the clip or goes on with it; `sample_rate` is the listener's."""

    def lost(self, worker_id: str, reason: str) -> None:
        """The worker failed; another one may go on."""

    def ended(self, outcome: str) -> None:
        """The last word: a finish reason, the code of an error, or `client_gone`."""


UNWITNESSED = Witness()


@dataclass(frozen=True)
class Outcome:
    """How a request ended that was served to its end."""

    sample_rate: int
    audio_seconds: float
    """Seconds that its client hears, at the speed that was asked for."""
    patches: int
    """Generated."""
    queue_seconds: float
    first_audio_seconds: float
    generation_seconds: float
    finish_reason: str
    seed: int
    migrations: int

    @property
    def real_time_factor(self) -> float:
        """Seconds of generation per second of audio."""
        return self.generation_seconds / self.audio_seconds


class Hearing:
    """What a client has heard, if it plays at once and never stops.

    Its lead is the audio that it has and hasn't played yet: at a real-time factor of 0.25, after one second
    of generation, three seconds. A pause shorter than the lead is not heard.
    """

    def __init__(self) -> None:
        self.first_audio_at: float | None = None
        self.last_audio_at: float | None = None
        self._audio_seconds = 0.0

    def take(self, audio_seconds: float, now: float) -> None:
        """The next audio was delivered."""
        if self.first_audio_at is None:
            self.first_audio_at = now
        self.last_audio_at = now
        self._audio_seconds += audio_seconds

    def pause_seconds(self, now: float) -> tuple[float, float]:
        """How long there was no audio, and how much of that outlasted what the client had."""
        pause = now - self.last_audio_at
        return pause, max(0.0, pause - self.lead_seconds(self.last_audio_at))

    def lead_seconds(self, now: float) -> float:
        """Delivered and not played yet; 0 before the first audio and while the client waits."""
        if self.first_audio_at is None:
            return 0.0
        return max(0.0, self._audio_seconds - (now - self.first_audio_at))
