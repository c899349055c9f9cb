"""The states of a live session: what its client may do when, what it is told, and which timers run.

No sockets and no workers here: messages go to an `Outlet`, and a `Voice` has the slot. Everything happens on
one event loop, by plain calls that never wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gateway.errors import ApiError
from gateway.live.session import timers
from gateway.live.session.announcements import Announcements
from gateway.live.session.confirmations import Confirmations
from gateway.live.session.first_audio import FirstAudio
from gateway.live.session.splitter import SentenceSplitter
from gateway.live.session.states import Outlet, State, Voice, check_appended
from gateway.live.session.timeline import Spoken, Timeline, Utterance
from gateway.live.session.timers import Alarm, IdleWatch
from gateway.settings import GatewaySettings
from gateway.slots.line.positions import CallLater, call_later
from gateway.timing.part import PartTimes

_COMPLETE_SHARE = 0.1
"""Share of `live_flush_seconds` after which text that ends like a sentence is spoken."""


class LiveSession:
    """One session. `voice` is set once, before anything else happens."""

    voice: Voice

    def __init__(
        self,
        settings: GatewaySettings,
        outlet: Outlet,
        later: CallLater = call_later,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.timeline = Timeline()
        self.splitter = SentenceSplitter()
        self.first_audio = FirstAudio(clock)
        self.sample_rate = 0
        """Samples per second of the audio that the client gets; known with the first slot."""
        self.tenant = ""
        self.paused = False
        self.stopping = False
        self.farewell: ApiError | None = None
        """Why the session ends although its client did not ask for it: what is appended is still said."""
        self.passed_over: Callable[[], None] = lambda: None
        """Called when text that waited has no words, and so is not spoken: there is room for more."""
        self._settings = settings
        self._outlet = outlet
        self._told = Announcements(outlet, self.timeline)
        self._holding = False
        self._let_go = False
        """The slot was given back, and is not wanted again until something happens."""
        self._cutting = False
        self._confirmations = Confirmations(self._tell_paused)
        self._flush, self._limit, self._end = (Alarm(later) for _ in range(3))
        self._idle = IdleWatch(
            settings.live_idle_seconds, later, clock, self._waits,
            warn=self._told.idle, end=self._idle_too_long,
        )  # fmt: skip

    def open(self) -> None:
        """Start the timers."""
        self._end.set(self._settings.live_session_seconds, self._too_long)
        self._idle.start()

    def close(self) -> None:
        """Stop all timers, and tell the client nothing more."""
        self._told.close()
        self._idle.stop()
        for alarm in (self._flush, self._limit, self._end):
            alarm.clear()

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self._told.closed

    @property
    def state(self) -> State:
        """The state that clients and operators are told."""
        if self.ended:
            return State.ENDED
        if self._cutting:
            return State.CANCELLING
        if self._let_go:
            return State.RELEASED
        if self.paused:
            return State.PAUSED
        return State.ACTIVE if self._holding else State.QUEUED

    @property
    def may_speak(self) -> bool:
        """Whether there is something to say, and it may be said now."""
        return bool(self.timeline) and not self.paused and not self._cutting

    @property
    def wants_slot(self) -> bool:
        """Whether to queue, or to go on with what it has."""
        return not self._let_go and not self.finished

    @property
    def finished(self) -> bool:
        """Whether the client asked for the end and all is said."""
        return self.stopping and not self.timeline and not self.splitter.rest

    # ---------------------------------------------------------------------------------------- from the client

    @property
    def room_characters(self) -> int:
        """How many characters may be appended now."""
        return self._settings.live_text_characters - self._waiting_characters

    @property
    def _waiting_characters(self) -> int:
        return self.timeline.waiting_characters + len(self.splitter.rest)

    def append(self, text: str, *, more_follows: bool = False) -> None:
        """Append text. Raises ApiError when too much waits already; the session goes on.

        `more_follows`: text comes as soon as there is room, so an incomplete sentence waits for it.
        """
        check_appended(
            text, self._waiting_characters, self._settings.live_text_characters, stopping=self.stopping
        )
        self._idle.touch()
        self._add(self.splitter.push(text))
        self._flush.clear()
        if self.splitter.rest.strip() and not (more_follows and self.timeline):
            share = _COMPLETE_SHARE if self.splitter.seems_complete else 1.0
            self._flush.set(share * self._settings.live_flush_seconds, self.flush)

    def keep_alive(self) -> None:
        """The client says that it is still there: the session is not idle."""
        self._idle.touch()

    def flush(self, silence: float = 0.0) -> None:
        """Speak the incomplete sentence as it stands, and then nothing for so many seconds."""
        self._flush.clear()
        self._add(self.splitter.flush(), silence)

    def cancel(self, played_samples: int) -> Spoken:
        """Barge-in after `played_samples`: drop what was not sent yet, begin a new epoch. What was heard."""
        self._flush.clear()
        self.first_audio.forget()
        dropped_samples = self._outlet.drop_audio()
        self._cutting = self.voice.cut()
        rest_characters = self.splitter.clear()
        waiting = self.timeline.waiting_characters + rest_characters
        spoken = self.timeline.cancel(played_samples, dropped_samples, rest_characters, self.sample_rate)
        self._idle.hush()
        self._told.cancelled(spoken, played_samples, waiting)
        self.voice.wake()
        return spoken

    def pause(self) -> None:
        """Pause; the client is told once the worker does."""
        if self.paused or self.stopping:
            return
        self.paused = True
        self.first_audio.forget()
        self._keep_pausing(timers.LOOKS)
        self._ask(True)

    def resume(self) -> None:
        """Go on after a pause, in line again if the slot was given back."""
        if not self.paused:
            return
        self.paused = self._let_go = False
        self._limit.clear()
        self._idle.touch()
        self._ask(False)
        self.voice.wake()

    def stop(self) -> None:
        """Finish what is appended, then end."""
        self.resume()
        self.flush()
        self.stopping = True
        self.voice.wake()

    def shut_down(self, reason: ApiError) -> None:
        """The gateway ends: what is appended is still said, unless the session is paused."""
        if self.paused or not (self.timeline or self.splitter.rest):
            self.voice.fail(reason)
        else:
            self.farewell = reason
            self.stop()

    def complain(self, error: ApiError) -> None:
        """Tell the client of something that does not end the session."""
        self._told.error(error)

    # ----------------------------------------------------------------------------------------- from the voice

    def queued(self, ticket_id: str, position: int, eta_seconds: float | None) -> None:
        """It waits for a slot, at this place in line."""
        self._told.queued(ticket_id, position, eta_seconds)

    def got_slot(self, worker_id: str, sample_rate: int, **facts: Any) -> None:
        """It has a slot; `facts` go into the message that says so."""
        self._holding = True
        self.sample_rate = sample_rate
        self._idle.touch()
        self._told.started(worker_id, sample_rate, **facts)

    def lost_slot(self, for_good: bool) -> None:
        """The slot is gone; unless `for_good`, the ticket is in front of the queue."""
        self._holding = False
        if for_good:
            self._told.queues_anew()

    def gave_back(self, reason: str) -> None:
        """The slot is not wanted for now, because of "idle" or "pause"."""
        if not self._let_go:
            self._let_go = True
            self._told.released(reason)

    def began(self, utterance: Utterance) -> None:
        """The next utterance is being spoken."""
        self._told.utterance(utterance)

    def heard(self, pcm: bytes) -> None:
        """Send audio of the current utterance, or of a silence, s16le samples."""
        samples = len(pcm) // 2
        self._outlet.audio(pcm)
        self.first_audio.came()
        self.timeline.heard(samples)
        self._idle.touch(samples / self.sample_rate)

    def was_silent(self) -> None:
        """All of a silence is on its way."""
        self._told.silence_done()

    def timed(self, utterance: Utterance, part: PartTimes) -> None:
        """Send when the words of a part were said. `part` counts from the beginning of its utterance."""
        if not self.ended and utterance.epoch == self.timeline.epoch:
            before = utterance.first_sample / self.sample_rate
            self._outlet.timed(utterance.index, utterance.epoch, part.moved(utterance.start, before))

    def begins_again(self, cut_seconds: float) -> None:
        """A part of the utterance went wrong and is said again: `cut_seconds` of audio do not count."""
        self.timeline.begin_again(round(cut_seconds * self.sample_rate))

    def spoke(self, finish_reason: str) -> None:
        """The current utterance is complete."""
        self._told.utterance_done(self.timeline.end(finish_reason), finish_reason)

    def confirmed(self, paused: bool) -> None:
        """The worker confirms that it pauses, or goes on."""
        self._confirmations.confirmed(paused)

    def settled(self) -> None:
        """No worker speaks any more, so none will confirm what it was asked for."""
        self._cutting = False
        self._confirmations.settle()
        self.voice.wake()

    # ----------------------------------------------------------------------------------------------- within

    def _add(self, sentences: list[str], silence: float = 0.0) -> None:
        silent = not self.timeline
        for sentence in sentences:
            self.timeline.add(sentence)
        if silence:
            self.timeline.add_silence(silence)
        if self.timeline:
            if not self.paused:
                self._let_go = False
                if silent:
                    self.first_audio.awaited()
            self.voice.wake()

    def _ask(self, paused: bool) -> None:
        self._confirmations.asked(paused, at_worker=self.voice.ask(paused))

    def _tell_paused(self, paused: bool) -> None:
        self.voice.wake()
        if paused:
            self._told.paused(self._settings.live_pause_seconds)
        else:
            self._told.resumed()

    def _keep_pausing(self, looks: int) -> None:
        """Keep the slot until so many looks were taken, or somebody waits for it."""

        def look() -> None:
            if looks > 1 and not self.voice.is_awaited():
                self._keep_pausing(looks - 1)
            else:
                self._paused_too_long()

        self._limit.set(self._settings.live_pause_seconds / timers.LOOKS, look)

    def _paused_too_long(self) -> None:
        self.voice.let_go()
        self._confirmations.settle()
        self.gave_back("pause")

    def _waits(self) -> bool:
        """Whether it is not the client's turn to say something."""
        return self.paused or bool(self.timeline) or (self.wants_slot and not self._holding)

    def _idle_too_long(self) -> None:
        limit = self._settings.live_idle_seconds
        self.voice.fail(ApiError(408, "session_idle", f"nothing was said for {limit:g} s"))

    def _too_long(self) -> None:
        limit = self._settings.live_session_seconds
        self.voice.fail(ApiError(408, "session_timeout", f"a live session lasts at most {limit:g} s"))
