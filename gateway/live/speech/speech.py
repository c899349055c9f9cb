"""The voice of a live session: its slot, and sentence after sentence spoken there.

`LiveSpeech.run()` is one coroutine, as `Synthesis.run()` is: cancelling it, at any point, gives back what it
holds. It queues when there is something to say, and for as long as it holds its slot speaks utterances as
clips of their own. What fails with a worker goes the way of every request (`gateway/synthesis/attempts.py`):
the utterance goes on elsewhere from its last patch, and so it does after a pause that cost the slot.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial

import structlog

from gateway.audio.formats import output_sample_rate
from gateway.errors import ApiError
from gateway.live.messages import Start
from gateway.live.session.session import LiveSession
from gateway.live.speech.at_work import AtWork
from gateway.live.speech.saying import Saying
from gateway.live.speech.speaker import LiveSpeaker
from gateway.live.speech.tracing import UtteranceSpans
from gateway.live.speech.witness import CUT_OFF, LiveWitness
from gateway.requests import NATIVE
from gateway.service import Gateway
from gateway.slots.line.about import About
from gateway.slots.line.standing import Standing
from gateway.slots.line.tickets import Lease, Ticket
from gateway.slots.requirement import DUPLEX_ACTIVE, DUPLEX_PAUSED, Requirement
from gateway.streams.clip.clip import Clip
from gateway.streams.interruption import Interruption
from gateway.streams.relay import relay
from gateway.synthesis.attempts import Attempts, as_api_error
from gateway.synthesis.retakes import note_retake
from gateway.voices.resolution import VoiceKind
from gateway.workers.client import RequestRejected, WorkerRefused
from telemetry import NO_SPAN

logger = structlog.get_logger(__name__)


class _CutOff(Exception):
    """The utterance is not wanted any more."""


class _LetGo(Exception):
    """The slot, or the place in the queue, is not wanted for now."""


class LiveSpeech:
    """The `Voice` of a session, and the `Work` of its attempts."""

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
        self._settings = gateway.settings
        self._session = session
        self._start = start
        self._request_id = request_id
        self._standing = standing
        self._protocol = protocol
        self._witness = witness
        self._attempts = Attempts(gateway, request_id)
        self._speaker = LiveSpeaker(gateway, start, standing.tenant)
        session.splitter.lexicon = self._speaker.lexicon
        self._ticket: Ticket | None = None
        repeated = partial(note_retake, gateway, request_id)
        self._saying = Saying(gateway, session, start, witness, self._attempts.heard, repeated)
        self._at_work = AtWork(session.confirmed)
        self._changed = asyncio.Event()
        self._whole, self._hold, self._utterance = Interruption(), Interruption(), Interruption()
        self._spans = UtteranceSpans(gateway, request_id, protocol)

    @property
    def audio_seconds(self) -> float:
        """Spoken so far."""
        return self._saying.audio_seconds

    @property
    def model(self) -> str | None:
        """Which speaks; None until a worker took the session."""
        return self._speaker.model if self._saying.sample_rate else None

    @property
    def voice_kind(self) -> VoiceKind:
        """Of the voice, as far as it is known."""
        return self._speaker.voice_kind

    @property
    def seed(self) -> int:
        """Of all its sentences."""
        return self._speaker.seed

    @property
    def migrations(self) -> int:
        """How often an utterance moved to another worker."""
        return self._attempts.migrations

    async def run(self) -> None:
        """Returns when the client asked for the end and all is said. Raises ApiError."""
        session = self._session
        await self._speaker.find()
        session.splitter.lexicon = self._speaker.lexicon
        session.open()
        try:
            async with self._whole:
                while not session.finished:
                    self._changed.clear()
                    if session.wants_slot and not session.paused:
                        await self._queue()
                    else:
                        await self._changed.wait()
                await self._saying.all_told()
            if session.farewell is not None:
                raise session.farewell
        except ApiError as error:
            self._end_span(error.code, error.status_code)
            raise
        finally:
            self._end_span("client_gone")
            self._saying.drop()
            session.close()

    async def _queue(self) -> None:
        """Wait for a slot and keep it until it is not needed any more."""
        self._gateway.check_open()
        self._attempts.queue_again()
        requirement = self.same_model() or self._speaker.requirement()
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
                    while not await self._attempts.next(ticket, self):
                        self._attempts.rest(ticket, self._session.paused)
            except _LetGo:
                logger.info("live session let go of its slot", request_id=self._request_id)
            finally:
                self._ticket = None
                self._session.lost_slot(for_good=True)

    def _tell_position(self, ticket: Ticket) -> None:
        position = max(ticket.position, 1)
        eta_seconds = self._gateway.pool.estimate_wait(ticket.requirement, position)
        self._session.queued(ticket.id, position, eta_seconds)

    # ----------------------------------------------------------------------------------------- `states.Voice`

    def wake(self) -> None:
        """Look what there is to do."""
        self._changed.set()
        if self._ticket is not None:
            self._attempts.rest(self._ticket, self._session.paused)
            self._show_mode(self._ticket)
            if self._session.finished and self._ticket.waiting:
                self.let_go()

    def ask(self, paused: bool) -> bool:
        """Have the worker pause or go on, if one is at work."""
        return self._at_work.ask(paused)

    def cut(self) -> bool:
        """Drop the utterance that is spoken."""
        if self._saying.clip is not None:
            self._witness.ended(CUT_OFF)
            self._end_span(CUT_OFF)
        self._saying.cut()
        self._utterance.end_with(_CutOff())
        return self._at_work.begun

    def let_go(self) -> None:
        """Give back slot or place."""
        self._hold.end_with(_LetGo())

    def fail(self, error: ApiError) -> None:
        """End the session."""
        self._whole.end_with(error)

    # ---------------------------------------------------------------------------------------- `attempts.Work`

    @property
    def patches(self) -> int:
        """Of the utterance that is being spoken."""
        clip = self._saying.clip
        return clip.patches if clip else 0

    def same_model(self) -> Requirement | None:
        """What was begun stays with its model."""
        return self._speaker.same_model(self._saying.clip)

    def lost(self, worker_id: str, reason: str) -> None:
        """A worker failed."""
        self._witness.lost(worker_id, reason)

    async def use(self, ticket: Ticket, lease: Lease) -> None:
        """Speak what there is to say, until there is nothing for a while."""
        session = self._session
        self._speaker.model = lease.worker.model.name
        if not self._saying.sample_rate:
            self._saying.sample_rate = output_sample_rate(
                "pcm", self._start.sample_rate, lease.worker.model.sample_rate
            )
        session.got_slot(
            lease.worker.id, self._saying.sample_rate, session_id=self._witness.session_id, seed=self.seed
        )
        self._show_mode(ticket)
        lease.keep()
        audio_seconds = self.audio_seconds
        try:
            while await self._something_to_say():
                if lease.id not in lease.worker.leases:
                    raise WorkerRefused("the worker was started again, and nobody holds a slot of it")
                await self._speak(ticket, lease)
            lease.worker.figures.served(0.0, 0.0)  # the slot waited for text too: no pace to be told
        finally:
            ticket.audio_seconds += self.audio_seconds - audio_seconds
            session.lost_slot(for_good=False)
        if not session.finished:
            session.gave_back("idle")

    def _show_mode(self, ticket: Ticket) -> None:
        mode = DUPLEX_PAUSED if self._session.paused else DUPLEX_ACTIVE
        if ticket.mode != mode:
            self._gateway.pool.set_mode(ticket, mode)

    async def _something_to_say(self) -> bool:
        """Wait for it; False when there is nothing for `live_slot_seconds`, or ever."""
        session = self._session
        while not session.may_speak:
            if session.finished:
                return False
            self._changed.clear()
            limit_seconds = None if session.paused else self._settings.live_slot_seconds
            try:
                async with asyncio.timeout(limit_seconds):
                    await self._changed.wait()
            except TimeoutError:
                if not session.may_speak:
                    return False
        return True

    async def _speak(self, ticket: Ticket, lease: Lease) -> None:
        """One utterance, or the rest of it; returns early when it is paused between two parts, or cut off."""
        clip = self._saying.clip or self._begin()
        if clip is None:
            return
        self._at_work.begin()
        try:
            self._utterance = Interruption()
            with contextlib.suppress(_CutOff):
                async with self._utterance:
                    await self._relay(clip, ticket, lease)
                if clip.finish_reason is not None:
                    await self._end(clip, clip.finish_reason)
        except RequestRejected as error:
            if error.detail.param != "text":
                raise
            await self._end(clip, "refused")
            self._session.complain(as_api_error(error))
        finally:
            self._at_work.end()
            self._session.settled()

    def _begin(self) -> Clip | None:
        utterance = self._session.timeline.begin()
        if utterance is None:
            return None
        clip = self._speaker.clip(utterance.text, utterance.index)
        self._saying.begin(utterance, clip)
        self._gateway.retry_budget.add_request()
        self._attempts.renew(self._spans.begin(self.migrations, self._session.first_audio.since))
        if self._ticket is not None:
            self._ticket.excluded = frozenset()
        self._session.began(utterance)
        self._witness.began(clip.request, self.seed)
        return clip

    def _end_span(self, outcome: str, status: int | None = None) -> None:
        kind, clip = self._speaker.kind(self._protocol), self._saying.clip
        audio_seconds = clip.audio_seconds if clip else 0.0
        self._spans.end(outcome, kind, self._attempts, audio_seconds, status)
        self._attempts.span = NO_SPAN  # a slot that is waited for later is the next utterance's

    async def _end(self, clip: Clip, finish_reason: str) -> None:
        if clip.samples:
            await self._saying.drained(last=True)
        if clip is not self._saying.clip:  # cut off meanwhile
            return
        self._end_span(finish_reason)
        self._saying.end()
        self._session.spoke(finish_reason)
        self._witness.ended(finish_reason)

    async def _relay(self, clip: Clip, ticket: Ticket, lease: Lease) -> None:
        worker, client = lease.worker, self._gateway.clients[lease.worker.id]
        voice = await self._speaker.conditioning(worker, client)
        self._saying.open(clip, voice, worker.model)
        while clip.finish_reason is None and not self._session.paused:
            with self._attempts.attempt(lease) as span:
                await relay(
                    self._saying.piece(clip),
                    lease,
                    client,
                    self._settings,
                    on_start=lambda: self._saying.speaking(clip, worker.id),
                    may_leave=lambda: self._gateway.may_leave(worker, ticket),
                    opened=self._at_work.opened,
                    keep=True,
                    span=span,
                )
            self._at_work.part_ended()
            await self._saying.drained()
