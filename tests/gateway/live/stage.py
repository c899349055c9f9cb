"""A live session without sockets, workers or real time: tests are its client, its voice and its clock."""

from __future__ import annotations

from typing import Any

from gateway.errors import ApiError
from gateway.live.session.session import LiveSession
from gateway.settings import GatewaySettings
from tests.gateway.stages.fleet import ManualClock

RATE = 24_000
LIMITS = {
    "live_session_seconds": 1000,
    "live_idle_seconds": 60,
    "live_pause_seconds": 30,
    "live_flush_seconds": 4,
    "live_text_characters": 100,
}


class Stage:
    """A session, its client's ear, and a voice that does nothing by itself."""

    def __init__(self, **limits: Any) -> None:
        self.clock = ManualClock()
        self.messages: list[dict[str, Any]] = []
        self.unsent_samples = 0
        self.speaking = self.awaited = False
        self.asked: list[bool] = []
        self.cuts = self.releases = 0
        self.failure: ApiError | None = None
        settings = GatewaySettings(**{**LIMITS, **limits})
        self.session = LiveSession(settings, self, self.clock.call_later, self.clock)
        self.session.voice = self
        self.session.open()

    # the client's end

    def tell(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    def audio(self, pcm: bytes) -> None:
        self.messages.append({"type": "audio", "samples": len(pcm) // 2})

    def timed(self, index: int, epoch: int, part: object) -> None:
        self.messages.append({"type": "timestamps", "index": index, "epoch": epoch, "part": part})

    def drop_audio(self) -> int:
        dropped, self.unsent_samples = self.unsent_samples, 0
        return dropped

    # the voice

    def wake(self) -> None:
        """Tests drive the voice themselves."""

    def ask(self, paused: bool) -> bool:
        if self.speaking:
            self.asked.append(paused)
        return self.speaking

    def cut(self) -> bool:
        self.cuts += 1
        return self.speaking

    def is_awaited(self) -> bool:
        return self.awaited

    def let_go(self) -> None:
        self.releases += 1
        self.settle()
        self.session.lost_slot(for_good=True)

    def fail(self, error: ApiError) -> None:
        self.failure = error

    # what tests say

    def lease(self) -> None:
        self.session.got_slot("w0", RATE)

    def begin(self) -> str:
        utterance = self.session.timeline.begin()
        self.session.began(utterance)
        self.speaking = True
        return utterance.text

    def speak(self, samples: int = RATE) -> None:
        self.session.heard(bytes(2 * samples))

    def finish(self) -> None:
        self.session.spoke("stop")
        self.settle()

    def settle(self) -> None:
        self.speaking = False
        self.session.settled()

    def kinds(self) -> list[str]:
        return [message["type"] for message in self.messages]

    def last(self, kind: str) -> dict[str, Any]:
        return [message for message in self.messages if message["type"] == kind][-1]
