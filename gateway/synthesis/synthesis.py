"""One request through the gateway, whichever API it came by: admitted, leased, relayed, moved on when a
worker fails.

`Synthesis.run()` is one coroutine. Cancelling it, at any point, gives back everything it held. What happens
on the way is told to a `Listener` by plain calls that never wait, so a slow client cannot slow down the
relay.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import partial

import structlog

from gateway.errors import ApiError
from gateway.operations.measurements.objectives import Kind
from gateway.requests import NATIVE, TtsRequest, check_limits, random_seed
from gateway.service import Gateway
from gateway.slots.line.about import About
from gateway.slots.line.standing import NOBODY, Priority, Standing
from gateway.slots.line.tickets import Lease, Ticket
from gateway.slots.requirement import Requirement
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.spoken import Spoken
from gateway.streams.clip.takes import HeldTakes, Takes
from gateway.streams.listener import UNWITNESSED, Listener, Outcome, Witness
from gateway.streams.resumption.token import TokenWriter
from gateway.synthesis.accounting import settle_speech
from gateway.synthesis.feed import Feed
from gateway.synthesis.patience import Patience
from gateway.synthesis.retakes import note_retake
from gateway.synthesis.served import Served
from gateway.text import Lexicon
from gateway.timing.listening import confidence_in
from gateway.voices.resolution import Speaker
from models.sentences import has_words

__all__ = ["Listener", "Outcome", "Synthesis"]

logger = structlog.get_logger(__name__)

_SILENCE_SECONDS = 0.1
"""How long a text without words is silent."""


class Synthesis(Served[Outcome]):
    """Serves one request. `run` is called once."""

    def __init__(
        self,
        gateway: Gateway,
        request: TtsRequest,
        request_id: str,
        listener: Listener,
        standing: Standing = NOBODY,
        clip: Clip | None = None,
        token: TokenWriter | None = None,
        witness: Witness = UNWITNESSED,
        protocol: str = NATIVE,
        lexicon: Lexicon | None = None,
        longest_seconds: float | None = None,
        one_part: bool = False,
        whole: bool = False,
        speaker: Speaker | None = None,
    ) -> None:
        """One clip of `request` for `listener`.

        Args:
            clip: what there is of it already.
            token: tells the listener how to resume.
            lexicon: instead of the one that holds for the request.
            longest_seconds: of speech, instead of what holds for every clip.
            one_part: speak the present part of the text alone; its limits were checked before.
            whole: the listener hears nothing before its end, so a part that went wrong is spoken again.
            speaker: instead of the voice that the request names.
        """
        super().__init__(gateway, request_id, protocol)
        self._request = request
        self._listener = listener
        self._witness = witness
        self._standing = standing
        self._lexicon = lexicon
        self._one_part = one_part
        seed = random_seed() if request.seed is None else request.seed
        self.clip = clip or Clip(request, seed, longest_seconds or self._settings.max_audio_seconds)
        self._request = self.clip.request  # whose text is without markup
        self._audio_seconds_before = self.clip.audio_seconds
        self._ticket_began = self.clip.audio_seconds
        """`clip.audio_seconds` when the present ticket was admitted."""
        self._given_speaker = speaker
        self._speaker = speaker or Speaker(request.voice)
        self._whole = whole
        self._takes: Takes | None = None
        self._feed = Feed(gateway, self.clip, listener, token)

    @property
    def seed(self) -> int:
        """The seed of the clip; final when the listener has heard `started`."""
        return self.clip.seed

    async def _run(self) -> Outcome:
        self._takes = self._new_takes()
        self._gateway.check_open()
        if not self._one_part:
            check_limits(self._request, self._settings)
        asked = self._request
        if self.clip.begun:  # with an adapter or without; its voice may name another one since
            asked = asked.model_copy(update={"adapter": asked.adapter or ""})
        self._speaker = await self._gateway.speaker_of(asked, self._standing.tenant, self._given_speaker)
        self._request = self.clip.adopt(self._speaker.fill_in(self._request))
        if not self.clip.begun:
            await self.clip.find_words(await self._lexicon_of(self._request))
        requirement = self.same_model() or self._speaker.requirement(self._request.model)
        self._gateway.check_shortest(self._request, requirement)
        if self.clip.script is None and not has_words(self._request.text):
            return self._silence(requirement)
        self._gateway.retry_budget.add_request()
        await self._speak(requirement, self._standing)
        while self.clip.finish_reason is None and not self._one_part:
            await self._listener.caught_up()
            await self._feed.drained()
            await Patience(self._settings, self._request_id).persist(lambda: self._go_on(requirement))
        if not self.clip.samples:
            raise ApiError(500, "no_audio", "no audio was generated")
        self._deliver(b"", last=True)
        await self._feed.drained()
        outcome = self._outcome()
        await self._feed.all_told()
        return outcome

    async def _go_on(self, requirement: Requirement) -> None:
        """The next parts. Raises ApiError."""
        self._gateway.check_open()
        self._attempts.queue_again()
        rest = self._standing.for_the_rest(self._audio_seconds_here)
        await self._speak(self.same_model() or requirement, rest)

    async def _speak(self, requirement: Requirement, standing: Standing) -> None:
        """All that is missing, or as many parts of the text as its listener takes."""
        self._ticket_began = self.clip.audio_seconds
        await self._try(requirement, standing, self._about)

    def _let_go(self) -> None:
        self._takes = None  # which refers to this
        self._feed.drop()

    @property
    def _about(self) -> About:
        request, client = self._request, self._standing.client
        return About(self._speaker.title, len(request.text), self._protocol, client)

    async def _lexicon_of(self, request: TtsRequest) -> Lexicon:
        if self._lexicon is not None:
            return self._lexicon
        return await self._gateway.lexicons.of(self._standing.tenant, request.lexicon)

    def _silence(self, requirement: Requirement) -> Outcome:
        """A text without words needs no worker; protocols whose clients may send one answer with a moment
        of silence. Raises ApiError.
        """
        pool = self._gateway.pool
        model = next(iter(pool.workers.models_for(requirement)), None)
        if model is None:
            raise pool.why_unservable(requirement) or ApiError(503, "no_worker", "no worker is up yet")
        self.clip.begin(model)
        self._feed.speed = self.clip.speed
        self._started_at = time.monotonic()
        self._feed.open("")
        self._witness.speaking("", self.clip, self._feed.sample_rate)
        self._feed.silence(_SILENCE_SECONDS)
        return Outcome(self._feed.sample_rate, _SILENCE_SECONDS, 0, 0.0, 0.0, 0.0, "stop", self.seed, 0)

    def _new_takes(self) -> Takes:
        most, repeated = self._settings.max_retakes, partial(note_retake, self._gateway, self._request_id)
        if self._whole:
            return HeldTakes(self.clip, self._feed.take, most, repeated, self._came, self._understand)
        return Takes(self.clip, self._deliver, most, repeated)

    async def _understand(self, pcm: bytes) -> float | None:
        """How well what is heard of the present part fits its text, where somebody has time to listen."""
        aligner, clip = self._gateway.aligner, self.clip
        if aligner is None or not clip.is_watched:
            return None
        language = await asyncio.to_thread(clip.text.language_of, clip.part)
        return await confidence_in(aligner, clip.spoken_part, language, pcm, clip.model.sample_rate)

    # ------------------------------------------------------------------------------------ `attempts.Work`

    @property
    def patches(self) -> int:
        """Patches committed so far."""
        return self.clip.patches

    async def use(self, ticket: Ticket, lease: Lease) -> None:
        """One attempt: what is missing of the clip, one part of its text after the other.

        A listener that cannot keep up gets no more than the present part, and the slot is given back.
        """
        worker, client = lease.worker, self._gateway.clients[lease.worker.id]
        audio_seconds_before = self.clip.audio_seconds
        try:
            self.clip.conditioning = await self._speaker.conditioning(worker, client)
            while self.clip.finish_reason is None:
                if not self.clip.latents:
                    await self._check_consent()
                await self._relay(Spoken(self.clip, self._takes), ticket, lease)
                self._attempts.forgive()
                if flaw := await self._takes.settle():
                    worker.figures.flaws[flaw] += 1
                if self.clip.take and self.clip.finish_reason is None:  # the next take is due
                    continue
                if self._one_part or self._feed.is_behind:
                    break
                await self._feed.drained()
            seconds = time.monotonic() - lease.granted_at
            worker.service_time.observe(seconds)
            worker.figures.served(seconds, self.clip.audio_seconds - audio_seconds_before)
        finally:
            ticket.audio_seconds = self.clip.audio_seconds - self._ticket_began

    async def _check_consent(self) -> None:
        """Before each part of the text. What is deleted meanwhile is spoken with to the end of the clip.

        Raises ApiError 403.
        """
        try:
            await self._speaker.check()
        except ApiError as error:
            if error.status_code != 404:
                raise

    def same_model(self) -> Requirement | None:
        """A clip that was begun stays with its model."""
        model = self.clip.model
        return self._speaker.requirement(model.name, model.revision) if self.clip.begun else None

    def lost(self, worker_id: str, reason: str) -> None:
        """A worker failed."""
        self._witness.lost(worker_id, reason)

    @property
    def _audio_seconds_here(self) -> float:
        """What was generated of the clip in this request, not before a resumption."""
        return self.clip.audio_seconds - self._audio_seconds_before

    # ---------------------------------------------------------------------------------------- to the listener

    def _queued(self, ticket: Ticket, position: int, eta_seconds: float | None) -> None:
        self._listener.queued(ticket.id, position, eta_seconds)

    def _start(self, lease: Lease) -> None:
        self._feed.speed = self.clip.speed
        if self._first_start():
            self._feed.open(lease.worker.id)
        self._feed.speaking()
        self._witness.speaking(lease.worker.id, self.clip, self._feed.sample_rate)

    def _deliver(self, pcm: bytes, last: bool = False) -> None:
        self._came(pcm)
        self._feed.take(pcm, last)

    def _came(self, pcm: bytes) -> None:
        self._attempts.heard(len(pcm) / 2 / self.clip.model.sample_rate / self._feed.speed)

    # --------------------------------------------------------------------------------------------- accounting

    def _outcome(self) -> Outcome:
        return Outcome(
            sample_rate=self._feed.sample_rate,
            audio_seconds=self._audio_seconds_before + self._feed.samples / self._feed.sample_rate,
            patches=self.clip.patches,
            queue_seconds=self._started_at - self._began_at,
            first_audio_seconds=self._attempts.hearing.first_audio_at - self._began_at,
            generation_seconds=time.monotonic() - self._started_at,
            finish_reason=self.clip.finish_reason or "stop",  # of a part
            seed=self.clip.seed,
            migrations=self._attempts.migrations,
        )

    @property
    def kind(self) -> Kind:
        """The kind of the request, as far as it is known by now."""
        model = self.clip.model.name if self.clip.model else self._request.model
        tenant = self._standing.tenant
        kind = Kind.of(model=model, voice=self._request.voice, protocol=self._protocol, tenant=tenant)
        return replace(kind, voice=self._speaker.kind)

    def _record(self, outcome: str, status: int | None) -> None:
        account = self._account(outcome, status, self.kind, self._attempts.hearing.first_audio_at)
        awaited = self._standing.priority is not Priority.BULK
        settle_speech(self._gateway, self._request, account, self._audio_seconds_here, awaited=awaited)
        self._witness.ended(outcome)
