"""The voice of a live session: when it queues for a slot, and how long it keeps one.

`LiveSpeech.run()` is one coroutine, as `Synthesis.run()` is: cancelling it, at any point, gives back what it
holds. It queues when there is something to say, and keeps its slot as long as `Speaking` has a use for it.
A session that has begun to speak is not ended by a full queue, or a worker that is started again: it comes
again until there is room.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import replace

import structlog

from gateway.errors import ApiError
from gateway.live.messages import Start
from gateway.live.session.session import LiveSession
from gateway.live.speech.speaker import LiveSpeaker
from gateway.live.speech.speaking import Speaking
from gateway.live.speech.witness import LiveWitness
from gateway.requests import NATIVE
from gateway.service import Gateway
from gateway.slots.line.about import About
from gateway.slots.line.standing import Standing
from gateway.slots.line.tickets import Ticket
from gateway.streams.interruption import Interruption
from gateway.synthesis.attempts import Attempts
from gateway.synthesis.patience import Patience
from gateway.synthesis.trail import Trail
from gateway.voices.resolution import VoiceKind

logger = structlog.get_logger(__name__)


class _LetGo(Exception):
    """The slot, or the place in the queue, is not wanted for now."""


class LiveSpeech:
    """The `Voice` of a session."""

    def __init__(
        self,
        gateway: Gateway,
        session: LiveSession,
        start: Start,
        request_id: str,
        standing: Standing,
        witness: LiveWitness,
        protocol: str = NATIVE,
    ) -> None:
        self._gateway = gateway
        self._session = session
        self._request_id = request_id
        self._standing = standing
        self._protocol = protocol
        self._attempts = Attempts(gateway, request_id)
        self._speaker = LiveSpeaker(gateway, start, standing.tenant)
        session.splitter.lexicon = self._speaker.lexicon
        self._ticket: Ticket | None = None
        self._work = Speaking(
            gateway, session, start, request_id, self._speaker, self._attempts, witness, protocol
        )
        self._whole, self._hold = Interruption(), Interruption()
        self.begun = False
        """What is to be said follows from what was heard or read already: no room in line is no end of it."""
        self._patience = Patience(gateway.settings, request_id)

    @property
    def audio_seconds(self) -> float:
        """Seconds of audio spoken so far."""
        return self._work.saying.audio_seconds

    @property
    def model(self) -> str | None:
        """Which speaks; None until a worker took the session."""
        return self._speaker.model if self._work.saying.sample_rate else None

    @property
    def voice_kind(self) -> VoiceKind:
        """The kind of the voice, as far as it is known."""
        return self._speaker.voice_kind

    @property
    def seed(self) -> int:
        """The seed of all its sentences."""
        return self._speaker.seed

    @property
    def migrations(self) -> int:
        """How often an utterance moved to another worker."""
        return self._attempts.migrations

    @property
    def trail(self) -> Trail:
        """Where the session was."""
        return self._attempts.trail

    async def run(self) -> None:
        """Returns when the client asked for the end and all is said. Raises ApiError."""
        session = self._session
        await self._speaker.find()
        session.splitter.lexicon = self._speaker.lexicon
        session.open()
        try:
            async with self._whole:
                while not session.finished:
                    self._work.changed.clear()
                    if session.wants_slot and not session.paused:
                        await self._take_turn()
                    else:
                        await self._work.changed.wait()
                await self._work.saying.all_told()
            if session.farewell is not None:
                raise session.farewell
        except ApiError as error:
            self._work.end_span(error.code, error.status_code)
            raise
        finally:
            self._work.end_span("client_gone")
            self._work.saying.drop()
            session.close()

    async def _take_turn(self) -> None:
        """Use a slot, or wait a while where the line has no room, or no worker is there. Raises ApiError."""
        asked_at = time.monotonic()
        try:
            await self._queue()
        except ApiError as error:
            if not self.begun:
                raise
            await self._wait_outside(self._patience.seconds_after(error, asked_at))

    async def _wait_outside(self, seconds: float) -> None:
        session = self._session
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while session.may_speak:
                    self._work.changed.clear()
                    await self._work.changed.wait()
        if not session.may_speak:
            self._patience.end()
            if not session.paused and not session.finished:
                session.gave_back("idle")

    async def _queue(self) -> None:
        """Wait for a slot and keep it until it is not needed any more."""
        self._gateway.check_open()
        self._attempts.queue_again()
        requirement = self._work.same_model() or self._speaker.requirement()
        about = About(self._speaker.title, None, self._protocol, self._standing.client)
        with self._gateway.pool.admit(
            self._request_id, requirement, self._tell_position, self._standing, about
        ) as ticket:
            self._ticket, ticket.on_end = ticket, self.fail
            try:
                self._hold = Interruption()
                async with self._hold:
                    if ticket.lease is None:
                        self._tell_position(ticket)
                    self._attempts.rest(ticket, self._session.paused)
                    while not await self._attempts.next(ticket, self._work):
                        self._attempts.rest(ticket, self._session.paused)
            except _LetGo:
                logger.info("live session let go of its slot", request_id=self._request_id)
            finally:
                self._ticket = None
                if ticket.attempts:
                    self.begun = True
                    self._patience.end()
                self._session.lost_slot(for_good=True)

    def _tell_position(self, ticket: Ticket) -> None:
        position = max(ticket.position, 1)
        eta_seconds = self._gateway.pool.estimate_wait(ticket.requirement, position)
        self._session.queued(ticket.id, position, eta_seconds)

    def wake(self) -> None:
        """Look what there is to do."""
        self._work.changed.set()
        if self._ticket is not None:
            self._attempts.rest(self._ticket, self._session.paused)
            self._work.show_mode(self._ticket)
            if self._session.finished and self._ticket.waiting:
                self.let_go()

    def ask(self, paused: bool) -> bool:
        """Have the worker pause or go on, if one is at work."""
        return self._work.ask(paused)

    def cut(self) -> bool:
        """Drop the utterance that is spoken."""
        return self._work.cut()

    def stand_alone(self) -> None:
        """What it accompanied has ended."""
        self._standing = replace(self._standing, accompanies=False)
        if self._ticket is not None:
            self._gateway.pool.tickets.count(self._ticket)

    def let_go(self) -> None:
        """Give back slot or place."""
        self._hold.end_with(_LetGo())

    def is_awaited(self) -> bool:
        """Whether it has a slot for which somebody waits."""
        lease = self._ticket.lease if self._ticket is not None else None
        return lease is not None and self._gateway.pool.is_awaited(lease.worker)

    def fail(self, error: ApiError) -> None:
        """End the session."""
        self._whole.end_with(error)
