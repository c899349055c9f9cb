"""One job, from its first part that is missing to its end.

Each part is a request of its own in the queue, in the class bulk, so that whoever waits for speech is first.
A part is on disk before its row tells of it. What goes wrong with a worker ends in `Synthesis`; a service
that is full, or has no worker, is waited for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import structlog
from pydantic import ValidationError

from gateway.database import Job
from gateway.database.tables import now
from gateway.errors import ApiError
from gateway.finishing import to_its_end
from gateway.jobs.chapters import SpokenPart
from gateway.jobs.files import JobFiles
from gateway.jobs.request import JobRequest
from gateway.jobs.store import JobStore
from gateway.jobs.words import words_of
from gateway.operations.measurements.objectives import JOBS
from gateway.requests import TtsRequest, expected_audio_seconds, random_seed
from gateway.service import Gateway
from gateway.slots.line.standing import Priority, Standing
from gateway.slots.requirement import Requirement
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.progress import Place
from gateway.streams.clip.sample import VoiceSample
from gateway.streams.listener import Listener
from gateway.streams.resumption.token import clip_from, fields_of
from gateway.synthesis.synthesis import Synthesis
from gateway.tending.failures import OfAnotherBuild
from gateway.timing.part import PartTimes

logger = structlog.get_logger(__name__)

Result = TypeVar("Result")

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 30.0
_PATIENCE_SECONDS = 24 * 3600.0
"""Without a single part."""
_WEIGHTS_PATIENCE_SECONDS = 600.0
"""Without a part, while workers serve a job's model with other weights than it was begun with."""
_MOST_ERRORS = 3
"""More errors of the service itself, in a row, fail a job."""
_SPARE = 4
"""A job's speech may last so much longer than its text lets expect."""


class JobGone(Exception):
    """It was cancelled or deleted meanwhile."""


async def _written(write: Callable[..., Result], *what: Any) -> Result:
    """What a thread writes, to its end: who removes the job's folder waits for that."""
    return await to_its_end(asyncio.to_thread(write, *what))


class _Ear(Listener):
    """Keeps the audio of a part, and when its words are said."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.sample_rate = 0
        self.times: PartTimes | None = None

    def started(self, worker_id: str, sample_rate: int) -> None:
        self.sample_rate = sample_rate

    def audio(self, pcm: bytes) -> None:
        self.chunks.append(pcm)

    def timed(self, part: PartTimes) -> None:
        self.times = part


class JobRunner:
    """`run` is called once, by who holds the lock of the files."""

    def __init__(
        self,
        gateway: Gateway,
        store: JobStore,
        row: Job,
        files: JobFiles,
        voice: VoiceSample | None = None,
    ) -> None:
        """`voice`: how it sounds where it names nobody, and was not begun."""
        self._voice = voice
        self._gateway = gateway
        self._store = store
        self._row = row
        self._files = files
        self._parts = row.parts
        self._audio_bytes = row.audio_bytes
        self._spent_seconds = row.spent_seconds
        self._spoken_at = time.monotonic()
        """When the last part was complete."""
        self._failures = self._errors = 0
        """In a row."""

    async def run(self) -> None:
        """Until the job is complete. Raises ApiError when it fails, JobGone, OfAnotherBuild, OSError."""
        if not await _written(self._files.go_back, self._parts, self._audio_bytes):
            await self._begin_anew("its files are shorter than its row says")
        clip = await asyncio.to_thread(self._load)
        if self._parts:
            clip.go_to(Place(**self._row.place))
        while clip.finish_reason is None:
            place = clip.place
            try:
                await self._speak(clip, place)
                self._failures = self._errors = 0
                self._spoken_at = time.monotonic()
            except ApiError as error:
                clip.go_to(place)
                if self._lost_its_weights(clip, error):
                    await self._begin_anew("its model has other weights now")
                if not self._parts:
                    clip = await asyncio.to_thread(self._load)  # which any model may begin
                await self._wait_after(error)

    def _lost_its_weights(self, clip: Clip, error: ApiError) -> bool:
        """Nobody has had the weights of its first parts for a while, as after an upgrade of the model."""
        waited_seconds = time.monotonic() - self._spoken_at
        if not self._parts or error.code != "no_worker" or waited_seconds < _WEIGHTS_PATIENCE_SECONDS:
            return False
        named, workers = clip.model.name, self._gateway.pool.workers
        if workers.models_for(Requirement(named, revision=clip.model.revision)):
            return False
        return any(worker.serving and worker.offers(Requirement(named)) for worker in workers.values())

    async def _begin_anew(self, why: str) -> None:
        """From the first part: the row alone tells where a clip stands. Raises JobGone, OSError."""
        logger.warning("a job begins anew", why=why, job_id=self._row.id)
        self._parts = self._audio_bytes = self._failures = 0
        self._spoken_at = time.monotonic()
        await self._change(parts=0, place={}, characters_done=0, audio_bytes=0)
        await _written(self._files.go_back, 0, 0)

    def _load(self) -> Clip:
        try:
            return self._read()
        except ValidationError as error:
            if any(problem["type"] == "extra_forbidden" for problem in error.errors()):
                raise OfAnotherBuild from error
            raise

    def _read(self) -> Clip:
        if self._parts and (kept := self._files.clip) is not None:
            return clip_from(kept, TtsRequest)
        order = JobRequest.model_validate(self._files.request)
        request = order.clip_request()
        seed = random_seed() if request.seed is None else request.seed
        clip = Clip(request, seed, _SPARE * expected_audio_seconds(request) + 60.0)
        clip.sample = self._voice
        return clip

    async def _speak(self, clip: Clip, place: Place) -> None:
        """One part, from the queue to the disk. Raises ApiError, JobGone, OSError."""
        began_at, sample = time.monotonic(), clip.sample
        ear = _Ear()
        name = f"{self._row.id}-{place.part}"
        synthesis = Synthesis(
            self._gateway, clip.request, name, ear, self._standing(clip), clip=clip, protocol=JOBS,
            one_part=True, whole=True,
        )  # fmt: skip
        await synthesis.run()
        if not self._parts or clip.sample is not sample:
            await _written(self._files.keep_clip, fields_of(clip))
        pcm = b"".join(ear.chunks)
        start, end = clip.text.places[place.part]
        part = SpokenPart(start, end, len(pcm) // 2)
        words = await asyncio.to_thread(self._words, clip, place, ear, len(pcm))
        size_bytes = await _written(self._files.append, pcm, part, words, self._gateway.disk)
        self._parts += 1
        self._audio_bytes += len(pcm)
        self._spent_seconds += time.monotonic() - began_at
        columns = {
            "parts": self._parts,
            "place": asdict(clip.place),
            "characters_done": end,
            "sample_rate": ear.sample_rate,
            "audio_bytes": self._audio_bytes,
            "size_bytes": size_bytes,
            "spent_seconds": self._spent_seconds,
        }
        if clip.finish_reason is not None:
            columns |= {"state": "complete", "ended_at": now(), "finish_reason": clip.finish_reason}
        await self._change(**columns)

    async def _change(self, **columns: Any) -> None:
        if not await self._store.change(self._row.id, ("running",), **columns):
            raise JobGone

    def _words(self, clip: Clip, place: Place, ear: _Ear, pcm_bytes: int) -> dict[str, Any] | None:
        """When those of the part after `place` are said in the whole audio; None where nobody asked."""
        if clip.request.timestamps == "none":
            return None
        start_seconds = self._audio_bytes / 2 / ear.sample_rate
        end_seconds = start_seconds + pcm_bytes / 2 / ear.sample_rate
        if ear.times is not None:
            estimated_seconds = place.heard_samples / clip.model.sample_rate
            times = ear.times.moved(0, start_seconds - estimated_seconds)
        else:
            start = clip.text.places[place.part - 1][1] if place.part else 0
            end = len(clip.request.text) if clip.finish_reason else clip.text.places[place.part][1]
            times = PartTimes.wordless(clip.request.text[start:end], end_seconds).moved(start, 0.0)
        return words_of(times.within(end_seconds), clip.request.timestamps)

    def _standing(self, clip: Clip) -> Standing:
        """By the present rights of the owner. Raises ApiError 403."""
        caller = self._gateway.callers.recall(self._row.owner)
        seconds = expected_audio_seconds(clip.request) / max(1, len(clip.text.parts))
        return caller.standing_for(Priority.BULK, seconds, Priority.BULK)

    async def _wait_after(self, error: ApiError) -> None:
        """Wait before the next try; raises the error where there is none."""
        is_ours = error.status_code not in (429, 503, 504)
        self._errors += is_ours
        waited_seconds = time.monotonic() - self._spoken_at
        if error.status_code < 500 and is_ours:
            raise error
        if self._errors > _MOST_ERRORS or waited_seconds > _PATIENCE_SECONDS:
            raise error
        pause_seconds = min(_FIRST_PAUSE_SECONDS * 2 ** min(self._failures, 10), _LONGEST_PAUSE_SECONDS)
        self._failures += 1
        logger.info("a job waits", job_id=self._row.id, code=error.code, seconds=pause_seconds)
        await asyncio.sleep(pause_seconds)
