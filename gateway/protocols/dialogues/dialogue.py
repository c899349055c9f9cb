"""Text that comes in pieces and is spoken meanwhile, for protocols over a socket: a live session of its own.

    dialogue = Dialogue(gateway, request_id, start, "elevenlabs", listener)
    dialogue.open(caller)
    task = asyncio.create_task(dialogue.run())
    dialogue.append("Good morn")
    dialogue.append("ing. ")
    dialogue.finish()
    await task              # all is said

The listener hears the same pieces as that of a clip, and when what was flushed is said.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import structlog

from gateway.callers.identity import Caller
from gateway.errors import ApiError, internal_error
from gateway.live.hosted import HostedSession
from gateway.live.messages import Start
from gateway.live.session.states import check_appended
from gateway.protocols.dialogues.hearing import DialogueListener
from gateway.protocols.dialogues.silences import Silences
from gateway.protocols.tags import Tags
from gateway.service import Gateway
from gateway.streams.interruption import Interruption
from gateway.timing.part import PartTimes
from models.sentences import first_word

logger = structlog.get_logger(__name__)

_SILENCE_SECONDS = 0.1
"""Of text without words."""
_MOST_FLUSHES = 10_000
"""That wait until all before them is said."""
_SILENCE_RATE = 24_000
"""Where no worker has said another."""


class _Flush(NamedTuple):
    at: int
    """In characters."""
    silences: int
    """All that come before it."""


class Dialogue:
    """One stretch of speech; also the `Outlet` of its session."""

    def __init__(
        self,
        gateway: Gateway,
        request_id: str,
        start: Start,
        protocol: str,
        listener: DialogueListener,
        tags: Tags | None = None,
        *,
        accompanies: bool = False,
    ) -> None:
        """`tags`: takes those out of the text that its protocol has. `accompanies`: as `HostedSession`."""
        self._tags = tags
        self._start = start
        self._most_characters = gateway.settings.max_text_characters
        self._listener = listener
        self._hosted = HostedSession(gateway, self, request_id, protocol, accompanies=accompanies)
        self._session = self._hosted.session
        self._session.passed_over = self._feed
        self._interruption = Interruption()
        self._request_id = request_id
        self._appended = ""
        """From the first character on that is not spoken yet."""
        self._spoken = 0
        """Characters before that."""
        self._fed = 0
        """Characters up to which the session has them; what it has no room for waits here."""
        self._breaks: deque[tuple[int, float]] = deque()
        """Flushes beyond that, in characters, and seconds of silence that are to follow them."""
        self._ends: dict[int, int] = {}
        """Where the utterances end that are being spoken, by index."""
        self._flushes: deque[_Flush] = deque()
        self._silences = Silences()
        self._silent = 0
        """Characters up to which nothing that is not spoken yet has words."""
        self._audible = False
        self.has_text = self.finishing = self.cancelled = False

    def open(self, caller: Caller) -> None:
        """Before anything else. Raises ApiError for what the caller may not have; then it is over."""
        try:
            self._hosted.open(self._start, caller)
        except ApiError as error:
            self._hosted.settle(error.code, error.status_code)
            raise

    async def run(self) -> None:
        """Returns when `finish` was called and all is said, or after `cancel`. Raises ApiError."""
        outcome, status = "client_gone", None
        try:
            async with self._interruption:
                if not self.cancelled:
                    await self._hosted.run()
            outcome = "cancelled" if self.cancelled else "stop"
        except _Cancelled:
            outcome = "cancelled"
        except ApiError as error:
            outcome, status = error.code, error.status_code
            raise
        except Exception:
            outcome, status = "internal_error", 500
            logger.exception("unhandled error", request_id=self._request_id)
            raise internal_error() from None
        finally:
            self._hosted.settle(outcome, status)
        if outcome == "stop" and self.has_text and not self._audible:
            self.be_silent()

    def be_silent(self) -> None:
        """A moment, where text has no words: some clients wait for audio after any text."""
        self._audible = True
        rate = self._start.sample_rate or _SILENCE_RATE
        self._listener.started("", rate)
        self._listener.audio(bytes(2 * round(_SILENCE_SECONDS * rate)))

    @property
    def waiting_characters(self) -> int:
        """Appended, and not spoken yet."""
        return len(self._appended)

    # ---------------------------------------------------------------------------------------- from the client

    def append(self, text: str) -> str:
        """More text; what is said of it. Raises ApiError when too much waits already, and goes on."""
        stopping = self.finishing or self._session.stopping
        check_appended(text, len(self._appended), self._most_characters, stopping=stopping)
        said = ""
        for piece in [text] if self._tags is None else self._tags.take(text):
            if isinstance(piece, str):
                self._appended += piece
                said += piece
            else:
                self._add_silence(piece)
        self.has_text |= bool(text.strip())
        self._feed()
        return said

    def append_silence(self, seconds: float) -> None:
        """Say nothing for so long, behind what was appended."""
        self._add_silence(seconds)
        self._feed()

    def _add_silence(self, seconds: float) -> None:
        if self._silences.add(seconds):
            self._breaks.append((self.end, seconds))

    def flush(self, *, told: bool = True) -> None:
        """Speak what is incomplete. `told`: the listener hears when it is said, unless too many wait for that
        already, which raises ApiError.
        """
        if told and len(self._flushes) >= _MOST_FLUSHES:
            message = f"{_MOST_FLUSHES} flushes wait until what is before them is said, and no more may"
            raise ApiError(422, "too_many_flushes", message, param="flush")
        self._take_rest()
        if told:
            self._flushes.append(_Flush(self.end, self._silences.count))
        if not self._breaks or self._breaks[-1] != (self.end, 0.0):
            self._breaks.append((self.end, 0.0))
        self._feed()
        self._tell_flushed()

    def finish(self) -> None:
        """Speak what was appended, then end."""
        self._take_rest()
        self.finishing = True
        self._feed()

    def persist(self) -> None:
        """From now on come again where there is no room in line: the client has had a part of it."""
        self._hosted.speech.begun = True

    def _take_rest(self) -> None:
        if self._tags is not None:
            self._appended += self._tags.rest()

    def stand_alone(self) -> None:
        """The request that it accompanied has ended: it counts by itself."""
        self._hosted.speech.stand_alone()

    def cancel(self) -> None:
        """End now: nothing of it is heard any more."""
        self.cancelled = True
        self._listener.drop_audio()
        self._interruption.end_with(_Cancelled())

    def clear(self, played_samples: int = 0) -> int:
        """Speak nothing of what was appended any more, and go on with what comes. How many characters of all
        that was appended had been heard where `played_samples` of all audio were.
        """
        heard = self._session.cancel(played_samples).characters
        self._spoken, self._silent, self._appended = self._fed, 0, ""
        if self._tags is not None:
            self._tags.forget()
        for waiting in (self._breaks, self._ends, self._flushes, self._silences):
            waiting.clear()
        self.has_text = False
        return heard

    def keep_alive(self) -> None:
        """The client is there, and says nothing."""
        self._session.keep_alive()

    def change_speed(self, speed: float) -> None:
        """Change the speed of the sentences that nobody has begun to speak."""
        self._start.speed = speed

    @property
    def end(self) -> int:
        """The end of all that was appended, in characters."""
        return self._spoken + len(self._appended)

    def _feed(self) -> None:
        """Give the session as much as it has room for, and flush where that was asked for."""
        session = self._session
        while not session.stopping and (self._breaks or self._fed < self.end):
            until, seconds = self._breaks[0] if self._breaks else (self.end, 0.0)
            count = min(until - self._fed, session.room_characters)
            if count > 0:
                begin = self._fed - self._spoken
                self._fed += count
                session.append(self._appended[begin : begin + count], more_follows=self._fed < until)
            elif self._fed == until:
                self._breaks.popleft()
                session.flush(seconds)
            elif session.timeline:  # there is room once it is spoken
                return
            else:
                session.flush()
        if self.finishing and not session.stopping:
            session.stop()

    # ------------------------------------------------------------------------------------- `states.Outlet`

    def tell(self, message: dict[str, Any]) -> None:
        """A message of the session."""
        match message["type"]:
            case "queued" | "queue_update":
                self._listener.queued(message["ticket_id"], message["position"], message["eta_seconds"])
            case "started":
                self._listener.started(message["worker_id"], message["sample_rate"])
            case "utterance":
                self._ends[message["index"]] = message["end"]
                self._listener.began(message["text"])
                self._feed()
            case "utterance_done":
                end = self._ends.pop(message["index"], self._spoken)
                self._appended, self._spoken = self._appended[end - self._spoken :], end
                self._feed()
                self._listener.spoke()
                self._tell_flushed()
            case "silence_done":
                self._silences.hear()
                self._feed()
                self._tell_flushed()
            case "error":
                self._listener.refused(message["error"])
            case "idle":
                self._listener.idle()

    def audio(self, pcm: bytes) -> None:
        """Its next samples. Raises ApiError when the client leaves too much unread."""
        self._audible = True
        self._listener.audio(pcm)

    def timed(self, index: int, epoch: int, part: PartTimes) -> None:
        """Words of an utterance, or of a part of it."""
        try:
            self._listener.timed(part)
        except ApiError as error:
            self._interruption.end_with(error)

    def drop_audio(self) -> int:
        """What has not left yet will not."""
        return self._listener.drop_audio()

    def _tell_flushed(self) -> None:
        while self._flushes and self._flushes[0].silences <= self._silences.heard:
            if not self._is_silent(self._flushes[0].at):
                return
            self._flushes.popleft()
            self._listener.flushed()

    def _is_silent(self, until: int) -> bool:
        """Whether what is before that character, and not spoken yet, has no words. Each is looked at once."""
        start = max(self._silent, self._spoken)
        found = first_word(self._appended, start - self._spoken, until - self._spoken)
        self._silent = max(start, until) if found is None else self._spoken + found
        return found is None


class _Cancelled(Exception):
    """The client wants no more of it."""
