"""What stands between a synthesis and its listener, and writes down what passes."""

from __future__ import annotations

from gateway.requests import NATIVE, TtsRequest
from gateway.sessions.recorder import Recorder
from gateway.sessions.recording import Recording
from gateway.streams.clip.clip import Clip
from gateway.streams.listener import Listener, Witness
from gateway.timing.part import PartTimes

_PARAMETERS = (
    "seed", "cfg_value", "inference_timesteps", "temperature", "min_seconds", "max_seconds", "speed",
    "adapter", "instructions",
)  # fmt: skip


class ClipWitness(Witness, Listener):
    """The listener and the witness of one clip, which is a session of one utterance."""

    def __init__(self, recording: Recording | None, listener: Listener) -> None:
        """`recording`: None for a clip that is not recorded; then everything just passes."""
        self._recording = recording
        self._listener = listener
        self._was_queued = False
        self._index = -1
        self._take = (-1, 0)
        """Part of the text and take of it, of those that were written down."""
        self._worker_id = ""
        self._sample_rate = 0
        self._samples_before = 0

    @property
    def session_id(self) -> str | None:
        """The id of the session that the clip is recorded as."""
        return self._recording.session_id if self._recording else None

    # ------------------------------------------------------------------------------------------ as a listener

    def queued(self, ticket_id: str, position: int, eta_seconds: float | None) -> None:
        """Its first position is written down."""
        if self._recording is not None and not self._was_queued:
            self._recording.event("queued", position=position)
        self._was_queued = True
        self._listener.queued(ticket_id, position, eta_seconds)

    def started(self, worker_id: str, sample_rate: int) -> None:
        """Told before `speaking`, which writes it down."""
        self._listener.started(worker_id, sample_rate)

    def spoken(self) -> None:
        """Nothing to write down."""
        self._listener.spoken()

    def timed(self, part: PartTimes) -> None:
        """After the audio of the part."""
        self._listener.timed(part)
        if self._recording is not None:
            self._recording.words(self._index, part, self._sample_rate, self._samples_before)

    def audio(self, pcm: bytes) -> None:
        """First the client: what it does not get is not in the recording either."""
        self._listener.audio(pcm)
        if self._recording is not None:
            self._recording.audio(self._index, pcm, self._sample_rate)

    def resumable(self, token: str, samples: int, keep: int | None) -> None:
        """Not recorded: only the client can use a resume token."""
        self._listener.resumable(token, samples, keep)

    @property
    def is_behind(self) -> bool:
        """As its client is; the recording keeps up or ends."""
        return self._listener.is_behind

    async def caught_up(self) -> None:
        """Wait until the client has what it was sent."""
        await self._listener.caught_up()

    # ------------------------------------------------------------------------------------------- as a witness

    def speaking(self, worker_id: str, clip: Clip, sample_rate: int) -> None:
        """A worker took a part of the text, or goes on with it after another one."""
        recording = self._recording
        if recording is None:
            return
        if not self._sample_rate:
            self._begin(recording, clip, sample_rate)
        ratio = sample_rate / clip.model.sample_rate
        pause_samples = clip.pause_samples / clip.speed
        sample = round((clip.heard_samples + pause_samples) * ratio) - self._samples_before
        if worker_id != self._worker_id:
            if self._worker_id:
                recording.event("moved", index=self._index, worker_id=worker_id, sample=sample)
            recording.worker(self._index, worker_id)
            self._worker_id = worker_id
        if (clip.part, clip.take) != self._take:
            again = clip.part == self._take[0]
            if again and clip.was_cut:
                recording.event("cut", index=self._index, sample=sample - round(pause_samples * ratio))
            self._take = (clip.part, clip.take)
            start, end = clip.text.places[clip.part]
            recording.spoken(
                self._index, start, end, sample, in_words=clip.text.in_words(clip.part), respelt=clip.respelt,
                language=clip.text.parts[clip.part].language,
                pause_samples=round(pause_samples * ratio), again=again,
            )  # fmt: skip

    def _begin(self, recording: Recording, clip: Clip, sample_rate: int) -> None:
        self._sample_rate = sample_rate
        self._samples_before = round(clip.samples * sample_rate / clip.model.sample_rate)
        parameters = {name: getattr(clip.request, name) for name in _PARAMETERS}
        given = {name: value for name, value in parameters.items() if value is not None}
        model = {"name": clip.model.name, "revision": clip.model.revision}
        self._index = recording.utterance(clip.request.text, {**given, "seed": clip.seed})
        recording.event("started", index=self._index, model=model, voice=clip.request.voice)
        if self._samples_before:
            recording.event("resumed", index=self._index, samples_before=self._samples_before)

    def lost(self, worker_id: str, reason: str) -> None:
        """The worker failed in the middle."""
        if self._recording is not None:
            self._recording.event("worker_failed", worker_id=worker_id, reason=reason)

    def ended(self, outcome: str) -> None:
        """The clip has ended, with this outcome."""
        if self._recording is not None:
            self._recording.utterance_done(self._index, outcome)
            self._recording.finish(outcome)


def witness_clip(
    recorder: Recorder,
    request: TtsRequest,
    owner: str,
    listener: Listener,
    *,
    resumed: bool = False,
    protocol: str = NATIVE,
) -> ClipWitness:
    """What to give a synthesis as its listener and its witness.

    Raises ApiError when the request asks to be recorded and that is switched off; a clip that was begun
    elsewhere (`resumed`) then goes on without.
    """
    asked = request.record and (recorder.enabled or not resumed)
    summary = request.model_dump(mode="json", include={"voice", "model", "format", "sample_rate", "priority"})
    summary["protocol"] = protocol
    return ClipWitness(recorder.open("clip", summary, owner, asked=asked), listener)
