"""`WS /v2/speak`: speech in turns, each of which is one answer of an agent.

    client   {"type": "Speak", "text": "Good morn"}  {"type": "Flush"}  {"type": "Interrupt"}
             {"type": "Configure", "speed": 1.2}  {"type": "Close"}
    server   {"type": "Connected"}
             {"type": "SpeechStarted"}, binary messages, {"type": "Flushed"}, {"type": "SpeechMetadata"}
             {"type": "SpeechInterrupted"}  {"type": "ConfigureSuccess"}  {"type": "SessionMetadata"}

Flush ends a turn. Text that comes before all of it is said begins the next, whose audio comes behind it.
"""

from __future__ import annotations

import secrets
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, WebSocket

from gateway.api.transfer.client_socket import ClientSocket
from gateway.callers.identity import Caller
from gateway.protocols.deepgram.link import SpeakLink, serve_link
from gateway.protocols.deepgram.messages import Configure, Interrupt, Messages, Plain, PlaybackOffset, Speak
from gateway.protocols.deepgram.request import FASTEST, SLOWEST, SpeakQuery

router = APIRouter()

_MOST_WAITING = 1000
"""Turns that wait until the others are said."""


async def turn_socket(websocket: WebSocket) -> None:
    """Serve one conversation."""
    await serve_link(websocket, TurnSocket)


router.add_websocket_route("/v2/speak", turn_socket, "turn_socket")


@dataclass
class Turn:
    """What is said between two flushes."""

    start: int
    """Where its text begins in all text of the socket, in characters."""
    text: str = ""
    """Without the marks in it."""
    pauses: int = 0
    """Marks in it that are silence."""
    samples: int = 0
    """Samples of its audio so far."""
    complete: bool = False
    """Whether the client has said so."""
    id: str = field(default_factory=lambda: f"dg_sp_{secrets.token_hex(6)}")


class TurnSocket(SpeakLink):
    """One socket, which is one dialogue."""

    messages = Messages(Speak | Interrupt | Configure | Plain)

    def __init__(self, socket: ClientSocket, query: SpeakQuery, caller: Caller) -> None:
        super().__init__(socket, query, caller)
        self._turns: deque[Turn] = deque()
        """The turn that is spoken, and those behind it."""
        self._characters = 0
        """Characters of turns that are over."""
        self._samples = 0
        """Samples sent in all turns."""
        self._unheard = 0
        """Samples of those that nobody heard, because the client interrupted."""
        self._heard_until = 0
        """Milliseconds that the client had played when it last interrupted."""

    def _greet(self) -> None:
        self._tell("Connected", **self._facts, model_uuids=[self._model_uuid])

    async def _speak(self) -> None:
        await super()._speak()
        while self._turns:
            self._end_turn()
        self._tell(
            "SessionMetadata",
            total_audio_duration_ms=self._milliseconds(self._samples - self._unheard),
            total_input_character_count=self._characters,
            total_billable_character_count=self._characters,
        )

    # ---------------------------------------------------------------------------------------- from the client

    def _follow(self, message: Speak | Interrupt | Configure | Plain) -> None:
        match message:
            case Speak():
                self._append(message.text)
            case Interrupt():
                self._interrupt(message.playback_offset)
            case Configure():
                self._configure(message.speed)
            case Plain(type="Flush"):
                self._flush()
            case Plain(type="Close"):
                self._dialogue.finish()
            case Plain(type="KeepAlive"):
                self._dialogue.keep_alive()

    def _append(self, text: str) -> None:
        start, pauses = self._dialogue.end, self._controls.pauses
        said = self._dialogue.append(text)
        if not self._turns or self._turns[-1].complete:
            self._turns.append(Turn(start))
            if len(self._turns) == 1:
                self._begin_turn()
        self._turns[-1].text += said
        self._turns[-1].pauses += self._controls.pauses - pauses

    def _flush(self) -> None:
        if not self._turns or self._turns[-1].complete:
            self._warn_of_no_turn()
            return
        if len(self._turns) > _MOST_WAITING:
            self._warn("too_many_turns", f"{_MOST_WAITING} turns wait to be said: this one is not over")
            return
        self._turns[-1].complete = True
        self._dialogue.flush()

    def _interrupt(self, offset: PlaybackOffset | None) -> None:
        """Drop the turn that is spoken, and all behind it."""
        if not self._turns:
            self._warn_of_no_turn()
            return
        if offset is not None and offset.value < self._heard_until:
            self._warn("invalid_interrupt_offset", "playback_offset: it lies before an earlier one")
            return
        turn = self._turns[0]
        self._characters += sum(len(each.text) for each in self._turns)
        self._turns.clear()
        if offset is None:
            self._dialogue.clear()
            self._tell_interrupted(turn, self._milliseconds(self._samples - self._unheard))
            return
        heard = self._start.sample_rate * offset.value // 1000
        count = max(0, self._dialogue.clear(heard + self._unheard) - turn.start)
        self._unheard, self._heard_until = max(0, self._samples - heard), offset.value
        spoken = {"text_spoken": turn.text[:count], "text_remaining": turn.text[count:]}
        self._tell_interrupted(turn, offset.value, **spoken)

    def _tell_interrupted(self, turn: Turn, played: int, **spoken: str) -> None:
        self._tell("SpeechInterrupted", audio_played_ms=played, **spoken, metadata=self._account(turn))

    def _configure(self, speed: float | None) -> None:
        if speed is not None and not SLOWEST <= speed <= FASTEST:
            description = f"speed must be between {SLOWEST} and {FASTEST}"
            failure = {"code": "SPEED_OUT_OF_RANGE", "field": "speed", "value": speed}
            self._tell("ConfigureFailure", **failure, description=description)
            return
        if speed is not None:
            self._dialogue.change_speed(speed)
        self._tell("ConfigureSuccess", applied={"speed": self._start.speed})

    # ----------------------------------------------------------------------------------------- what is heard

    def audio(self, pcm: bytes) -> None:
        """The next samples of the turn."""
        if self._turns:  # beyond the last one is but the silence of a dialogue without words
            self._turns[0].samples += len(pcm) // 2
            self._samples += len(pcm) // 2
            super().audio(pcm)

    def drop_audio(self) -> int:
        """Drop audio that was not sent yet; returns its samples."""
        dropped = super().drop_audio()
        self._samples -= dropped
        return dropped

    def flushed(self) -> None:
        """All audio of a turn was sent: tell that, and begin the next."""
        self._end_turn()
        if self._turns:
            self._begin_turn()

    def _begin_turn(self) -> None:
        self._tell("SpeechStarted", speech_id=self._turns[0].id)

    def _end_turn(self) -> None:
        turn = self._turns[0]
        if not turn.samples and turn.text.strip():
            self._dialogue.be_silent()
        self._turns.popleft()
        self._characters += len(turn.text)
        self._tell("Flushed", speech_id=turn.id)
        self._tell("SpeechMetadata", **self._account(turn))

    def _account(self, turn: Turn) -> dict[str, Any]:
        controls = {"pronunciations_applied": 0, "breaks_applied": turn.pauses, "pronunciation_warnings": 0}
        return {
            "speech_id": turn.id,
            "audio_duration_ms": self._milliseconds(turn.samples),
            "input_character_count": len(turn.text),
            "billable_character_count": len(turn.text),
            "controls_applied": controls,
        }

    def _milliseconds(self, samples: int) -> int:
        return 1000 * samples // self._start.sample_rate

    def _warn_of_no_turn(self) -> None:
        self._warn("no_active_speech", "nothing is being said: the request is ignored")
