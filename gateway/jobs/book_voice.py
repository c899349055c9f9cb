"""Who speaks the blocks of a book that names nobody, where the model makes up a speaker for each text.

Each take is a job of its own. The first ones are recordings for those that follow (`clip/sample.py`), and the
very first is made alone, so that two that begin together do not make up two speakers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from gateway.jobs.files import JobFiles
from gateway.jobs.store import JobStore
from gateway.slots.pool import WorkerPool
from gateway.streams.clip.sample import NOBODY, VoiceSample
from worker.protocol import ANY_VOICE


class BookVoices:
    """The voices of the takes that one gateway works on."""

    def __init__(self, pool: WorkerPool, store: JobStore, files: Callable[[str], JobFiles]) -> None:
        self._pool, self._store, self._files = pool, store, files
        self._first: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Locks of books of which nothing has been spoken yet."""

    @asynccontextmanager
    async def of(self, book_id: str | None, files: JobFiles) -> AsyncIterator[VoiceSample | None]:
        """What a take sounds like that is made within the block; None: whatever its request says."""
        if book_id is None or not self._any_voice() or not await asyncio.to_thread(_names_nobody, files):
            yield None
            return
        async with self._first.setdefault(book_id, asyncio.Lock()):
            known = await self._known(book_id)
            if known is None:
                yield None
                return
        yield known

    def _any_voice(self) -> bool:
        models = self._pool.workers.models("speech").values()
        return any(ANY_VOICE in model.features for model in models)

    async def _known(self, book_id: str) -> VoiceSample | None:
        takes = await self._store.spoken_takes(book_id)
        return await asyncio.to_thread(self._longest_sample, takes)

    def _longest_sample(self, takes: list[str]) -> VoiceSample | None:
        """A heading tells little of a voice."""
        clips = (self._files(take).clip or {} for take in takes)
        samples = [VoiceSample.from_dict(clip["sample"]) for clip in clips if "sample" in clip]
        return max(samples, key=lambda sample: len(sample.latents), default=None)


def _names_nobody(files: JobFiles) -> bool:
    request = files.request or {}
    return request.get("voice", NOBODY.voice) == NOBODY.voice and not request.get("adapter")
