"""What is done with a slot: utterance after utterance, each a clip of its own.

What fails with a worker goes the way of every request (`gateway/synthesis/attempts.py`): the utterance goes
on elsewhere from its last patch, and so it does after a pause that cost the slot.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial

from gateway.audio.formats import output_sample_rate
from gateway.live.messages import Start
from gateway.live.session import timers
from gateway.live.session.session import LiveSession
from gateway.live.speech.at_work import AtWork
from gateway.live.speech.saying import Saying
from gateway.live.speech.speaker import LiveSpeaker
from gateway.live.speech.tracing import UtteranceSpans
from gateway.live.speech.witness import CUT_OFF, LiveWitness
from gateway.service import Gateway
from gateway.slots.capacity.worker import Worker
from gateway.slots.line.tickets import Lease, Ticket
from gateway.slots.requirement import DUPLEX_ACTIVE, DUPLEX_PAUSED, Requirement
from gateway.streams.clip.clip import Clip
from gateway.streams.interruption import Interruption
from gateway.streams.relay import relay
from gateway.synthesis.attempts import Attempts, as_api_error
from gateway.synthesis.retakes import note_retake
from gateway.workers.client import RequestRejected, WorkerRefused
from telemetry import NO_SPAN

_SILENT_PIECE_SECONDS = 0.5
"""Of a silence, which goes out piece by piece."""
_SILENCE_PACE = 20
"""How much faster than it is heard: a client that reads as fast as speech comes is not left behind."""


class _CutOff(Exception):
    """The utterance is not wanted any more."""


class Speaking:
    """The `Work` of a session's attempts. `changed` is set when there may be something to do."""

    def __init__(
        self,
        gateway: Gateway,
        session: LiveSession,
        start: Start,
        request_id: str,
        speaker: LiveSpeaker,
        attempts: Attempts,
        witness: LiveWitness,
        protocol: str,
    ) -> None:
        self._gateway = gateway
        self._settings = gateway.settings
        self._session = session
        self._start = start
        self._protocol = protocol
        self._speaker = speaker
        self._attempts = attempts
        self._witness = witness
        repeated = partial(note_retake, gateway, request_id)
        self.saying = Saying(gateway, session, start, witness, attempts.heard, repeated)
        self.changed = asyncio.Event()
        self._at_work = AtWork(session.confirmed)
        self._utterance = Interruption()
        self._spans = UtteranceSpans(gateway, request_id, protocol)

    def ask(self, paused: bool) -> bool:
        """Have the worker pause or go on, if one is at work."""
        return self._at_work.ask(paused)

    def cut(self) -> bool:
        """Drop the utterance that is spoken; whether a worker is at it."""
        if self.saying.clip is not None:
            self._witness.ended(CUT_OFF)
            self.end_span(CUT_OFF)
        self.saying.cut()
        self._utterance.end_with(_CutOff())
        return self._at_work.begun

    @property
    def patches(self) -> int:
        """Patches of the utterance that is being spoken."""
        clip = self.saying.clip
        return clip.patches if clip else 0

    def same_model(self) -> Requirement | None:
        """What was begun stays with its model."""
        return self._speaker.same_model(self.saying.clip)

    def lost(self, worker_id: str, reason: str) -> None:
        """A worker failed."""
        self._witness.lost(worker_id, reason)

    async def use(self, ticket: Ticket, lease: Lease) -> None:
        """Speak what there is to say, until there is nothing for a while."""
        session = self._session
        self._speaker.model = lease.worker.model.name
        if not self.saying.sample_rate:
            self.saying.sample_rate = output_sample_rate(
                "pcm", self._start.sample_rate, lease.worker.model.sample_rate
            )
        session.got_slot(
            lease.worker.id,
            self.saying.sample_rate,
            session_id=self._witness.session_id,
            seed=self._speaker.seed,
        )
        self.show_mode(ticket)
        lease.keep()
        pool, audio_seconds = self._gateway.pool, self.saying.audio_seconds
        began = pool.now()
        try:
            while await self._something_to_say(lease.worker):
                if lease.id not in lease.worker.leases:
                    raise WorkerRefused("the worker was started again, and nobody holds a slot of it")
                await self._speak(ticket, lease)
            lease.worker.figures.served(0.0, 0.0)  # the slot waited for text too: no pace to be told
        finally:
            spoken = self.saying.audio_seconds - audio_seconds
            ticket.audio_seconds += max(spoken, pool.now() - began)  # nobody else had the slot meanwhile
            session.lost_slot(for_good=False)
        if not session.finished:
            session.gave_back("pause" if session.paused else "idle")

    def show_mode(self, ticket: Ticket) -> None:
        """Tell the pool whether the session rests in its slot."""
        mode = DUPLEX_PAUSED if self._session.paused else DUPLEX_ACTIVE
        if ticket.mode != mode:
            self._gateway.pool.set_mode(ticket, mode)

    async def _something_to_say(self, worker: Worker) -> bool:
        """Wait for it; False when there is nothing for `live_slot_seconds`, or a fifth of that where somebody
        waits for the slot, or ever. How long text may wait in a pause is the session's to tell.
        """
        session, silent = self._session, 0
        while not session.may_speak:
            if session.finished:
                return False
            self.changed.clear()
            rests = session.paused and bool(session.timeline)
            seconds = None if rests else self._settings.live_slot_seconds / timers.LOOKS
            try:
                async with asyncio.timeout(seconds):
                    await self.changed.wait()
                silent = 0
            except TimeoutError:
                silent += 1
                is_over = silent >= timers.LOOKS or self._gateway.pool.is_awaited(worker)
                if is_over and not session.may_speak:
                    return False
        return True

    async def _speak(self, ticket: Ticket, lease: Lease) -> None:
        """One utterance, or the rest of it, or a silence; returns early when it is paused between two parts,
        or cut off.
        """
        if (seconds := self._session.timeline.begin_silence()) is not None:
            try:
                await self._be_silent(seconds)
            finally:
                self._session.timeline.end_silence()
            return
        clip = self.saying.clip or self._begin(ticket)
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
            another_may = self._attempts.second_opinion.is_to_be_had(lease.worker, at_once=True)
            if error.detail.param != "text" or another_may:
                raise
            await self._end(clip, "refused")
            self._session.complain(as_api_error(error))
        finally:
            self._at_work.end()
            self._session.settled()

    async def _be_silent(self, seconds: float) -> None:
        rate = self.saying.sample_rate
        left, piece = round(seconds * rate), round(_SILENT_PIECE_SECONDS * rate)
        self._utterance = Interruption()
        with contextlib.suppress(_CutOff):
            async with self._utterance:
                while left > 0:
                    self.saying.silent(min(left, piece))
                    left -= piece
                    await asyncio.sleep(_SILENT_PIECE_SECONDS / _SILENCE_PACE)
                self._session.was_silent()

    def _begin(self, ticket: Ticket) -> Clip | None:
        utterance = self._session.timeline.begin()
        if utterance is None:
            self._session.passed_over()
            return None
        clip = self._speaker.clip(utterance.text, utterance.index)
        self.saying.begin(utterance, clip)
        self._gateway.retry_budget.add_request()
        self._attempts.renew(self._spans.begin(self._attempts.migrations, self._session.first_audio.since))
        ticket.excluded = frozenset()
        self._session.began(utterance)
        self._witness.began(clip.request, self._speaker.seed)
        return clip

    def end_span(self, outcome: str, status: int | None = None) -> None:
        """The trace of the utterance is over, if there is one."""
        kind, clip = self._speaker.kind(self._protocol), self.saying.clip
        audio_seconds = clip.audio_seconds if clip else 0.0
        self._spans.end(outcome, kind, self._attempts, audio_seconds, status)
        self._attempts.span = NO_SPAN  # a slot that is waited for later is the next utterance's

    async def _end(self, clip: Clip, finish_reason: str) -> None:
        if clip.samples:
            await self.saying.drained(last=True)
        if clip is not self.saying.clip:  # cut off meanwhile
            return
        self.end_span(finish_reason)
        self.saying.end()
        self._session.spoke(finish_reason)
        self._witness.ended(finish_reason)

    async def _relay(self, clip: Clip, ticket: Ticket, lease: Lease) -> None:
        worker, client = lease.worker, self._gateway.clients[lease.worker.id]
        if not clip.latents:
            await self._speaker.check()
        voice = await self._speaker.conditioning(worker, client)
        self.saying.open(clip, voice, worker.model)
        while clip.finish_reason is None and not self._session.paused:
            with self._attempts.attempt(lease) as span:
                await relay(
                    self.saying.piece(clip),
                    lease,
                    client,
                    self._settings,
                    on_start=lambda: self.saying.speaking(clip, worker.id),
                    may_leave=lambda: self._gateway.may_leave(worker, ticket),
                    opened=self._at_work.opened,
                    keep=True,
                    span=span,
                )
            self._at_work.part_ended()
            await self.saying.drained()
