"""A live session with its speech, its recording and its account, for whichever protocol it is held."""

from __future__ import annotations

import time
from dataclasses import replace

import structlog

from gateway.callers.identity import Caller
from gateway.errors import ApiError
from gateway.live.messages import Start
from gateway.live.session.session import LiveSession
from gateway.live.session.states import Outlet
from gateway.live.speech.speech import LiveSpeech
from gateway.live.speech.witness import LiveWitness
from gateway.operations.measurements.objectives import Kind, note, note_request
from gateway.service import Gateway
from gateway.slots.line.standing import Standing

logger = structlog.get_logger(__name__)

_EXPECTED_SECONDS = 5.0
"""Seconds of audio that a session is charged when it gets a slot; corrected by what it was served."""


class HostedSession:
    """`open`, then `run`, and in any case `settle`, each once."""

    def __init__(
        self, gateway: Gateway, outlet: Outlet, request_id: str, protocol: str, *, accompanies: bool = False
    ) -> None:
        """`accompanies`: a request that counts as one with it, until `stand_alone` of its speech."""
        self.session = LiveSession(gateway.settings, outlet)
        self.witness = LiveWitness(None)
        self.speech: LiveSpeech | None = None
        self.kind: Kind
        """The kind of its requests, known once it is open."""
        self._gateway = gateway
        self._request_id = request_id
        self._protocol = protocol
        self._accompanies = accompanies
        self._began_at = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the session was asked for."""
        return time.monotonic() - self._began_at

    def open(self, start: Start, caller: Caller) -> None:
        """What holds for the session, and whose it is. Raises ApiError for what the caller may not have."""
        gateway = self._gateway
        gateway.check_open()
        standing = caller.standing_for(start.priority, _EXPECTED_SECONDS, otherwise=caller.highest)
        standing = replace(standing, accompanies=self._accompanies)
        self._check_sessions(standing)
        facts = start.model_dump(exclude={"type", "record", "priority", "lexicon"}, exclude_none=True)
        facts["protocol"] = self._protocol
        self.witness = LiveWitness(gateway.recorder.open("live", facts, caller.tenant, asked=start.record))
        self.speech = LiveSpeech(
            gateway, self.session, start, self._request_id, standing, self.witness, self._protocol
        )
        self.session.voice = self.speech
        self.session.first_audio.heard = self._heard_first
        self.session.tenant = standing.tenant
        self.kind = Kind.of(
            model=start.model, voice=start.voice, protocol=self._protocol, tenant=standing.tenant
        )

    def _check_sessions(self, standing: Standing) -> None:
        """A session counts against `max_streams` while it rests, too."""
        if not standing.max_streams:
            return
        gateway, tenant = self._gateway, standing.tenant
        open_sessions = gateway.open_here(tenant).plus(gateway.open_elsewhere.of(tenant)).sessions
        if standing.max_streams <= open_sessions:
            message = f"{open_sessions} live sessions of this client are open, and no more may be"
            raise ApiError(429, "too_many_streams", message)

    async def run(self) -> None:
        """Returns when the client asked for the end and all is said. Raises ApiError."""
        self._gateway.live_sessions.add(self.session)
        try:
            await self.speech.run()
        finally:
            self._gateway.live_sessions.discard(self.session)

    def settle(self, outcome: str, status: int | None = None) -> None:
        """One line and one count per session; `status`: of the error that ended it. The text is nobody's
        business.
        """
        metrics, timeline = self._gateway.metrics, self.session.timeline
        metrics.live_sessions.labels(outcome, self._protocol).inc()
        self._gateway.operations.ended(outcome)
        self.witness.finish(outcome)
        if self.speech is None:
            return
        self._note(outcome, status)
        metrics.live_utterances.inc(timeline.utterances)
        metrics.audio_seconds.inc(self.speech.audio_seconds)
        logger.info(
            "live session", request_id=self._request_id, protocol=self._protocol, outcome=outcome,
            utterances=timeline.utterances, cancellations=timeline.epoch,
            audio_seconds=round(self.speech.audio_seconds, 3),
            seconds=round(self.seconds, 3), migrations=self.speech.migrations,
            **self.speech.trail.describe(),
        )  # fmt: skip

    @property
    def _kind_by_now(self) -> Kind:
        speech = self.speech
        return replace(self.kind, voice=speech.voice_kind, model=speech.model or self.kind.model)

    def _heard_first(self, seconds: float) -> None:
        """The first audio of an utterance that the listener waited for."""
        promised_seconds = self._gateway.settings.objective_first_audio_seconds
        note(self._gateway.metrics, "first_audio", self._kind_by_now, missed=seconds > promised_seconds)

    def _note(self, outcome: str, status: int | None) -> None:
        started = self.speech.model is not None
        note_request(
            self._gateway.metrics, self._kind_by_now, outcome=outcome, status=status, started=started,
            first_seconds=None, promised_seconds=self._gateway.settings.objective_first_audio_seconds,
        )  # fmt: skip
