"""Dialogues of several voices, one after the other, which look like one.

cast = Cast(make, start, turned, 100_000)      # `make` makes a `Dialogue` of a `Start`
cast.open(caller)
task = asyncio.create_task(cast.run())
cast.append("Good morning. ")
cast.turn_to("ruth")                  # what comes is hers, and is said when the other voice has ended
cast.append("Good morning!")
cast.finish()
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.callers.identity import Caller
from gateway.errors import ApiError
from gateway.live.messages import Start
from gateway.live.session.states import check_appended
from gateway.protocols.dialogues.dialogue import Dialogue

_MOST_WAITING = 100
"""Voices that wait until the others have ended."""


@dataclass
class _Turn:
    voice: str
    texts: list[str] = field(default_factory=list)
    flushed: bool = False


class Cast:
    """One stretch of speech."""

    def __init__(
        self,
        make: Callable[[Start], Dialogue],
        start: Start,
        turned: Callable[[], None],
        most_characters: int,
    ) -> None:
        """`turned` is told when the next voice begins. `most_characters`: that may wait for their voices."""
        self._most_characters = most_characters
        self._make, self._start, self._turned = make, start, turned
        self._now = make(start)
        self._voice = start.voice
        """Whose what comes next is."""
        self._later: deque[_Turn] = deque()
        self._waiting = 0
        """Characters of those."""
        self._caller: Caller | None = None
        self.finishing = self.cancelled = False

    @property
    def has_text(self) -> bool:
        """Whether whoever speaks has something to say."""
        return bool(self._later) or self._now.has_text

    def open(self, caller: Caller) -> None:
        """Before anything else. Raises ApiError for what the caller may not have."""
        self._caller = caller
        self._now.open(caller)

    async def run(self) -> None:
        """Returns when `finish` was called and all is said, or after `cancel`. Raises ApiError."""
        await self._now.run()
        while self._later and not self.cancelled:
            turn = self._later.popleft()
            self._turned()
            self._now = self._make(self._start.model_copy(update={"voice": turn.voice}))
            self._now.open(self._caller)
            text = "".join(turn.texts)
            self._waiting -= len(text)
            self._now.append(text)
            if turn.flushed:
                self._now.flush()
            if self._later or self.finishing:
                self._now.finish()
            await self._now.run()

    def turn_to(self, voice: str) -> None:
        """What comes next is that voice's. Raises ApiError when too many wait."""
        if voice == self._voice:
            return
        if len(self._later) >= _MOST_WAITING:
            message = f"{_MOST_WAITING} voices wait for the others to end, and no more may"
            raise ApiError(422, "too_much_text", message, param="voice_id")
        if not self._later and not self._now.finishing:
            self._now.finish()
        self._voice = voice
        self._later.append(_Turn(voice))

    def append(self, text: str) -> None:
        """More text. Raises ApiError when too much waits already."""
        if not self._later:
            self._now.append(text)
            return
        check_appended(text, self._waiting, self._most_characters, stopping=self.finishing)
        self._later[-1].texts.append(text)
        self._waiting += len(text)

    def flush(self, *, told: bool = True) -> None:
        """Speak what is incomplete, as a dialogue does. Raises ApiError."""
        if self._later:
            self._later[-1].flushed = True
        else:
            self._now.flush(told=told)

    def finish(self) -> None:
        """Speak what was appended, then end."""
        self.finishing = True
        if not self._later:
            self._now.finish()

    def cancel(self) -> None:
        """End now: nothing of it is heard any more."""
        self.cancelled = True
        self._later.clear()
        self._waiting = 0
        self._now.cancel()

    def keep_alive(self) -> None:
        """The client is there, and says nothing."""
        self._now.keep_alive()
