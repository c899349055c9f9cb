"""One training, from its recordings to the voice: the process runs until it has written what it learnt.

Whatever ends before goes on later: the process from its own state, the rest from the row.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import structlog

from gateway.database import Training, TrainingRecording
from gateway.database.tables import now
from gateway.errors import ApiError
from gateway.service import Gateway
from gateway.tending.failures import OfAnotherBuild
from gateway.training.files import TrainingFiles
from gateway.training.outcome import make_adapter, make_voice
from gateway.training.process import TrainingProcess
from gateway.training.progress import Progress, read_progress
from gateway.training.store import TrainingStore

logger = structlog.get_logger(__name__)

OUTDATED = "training_outdated"
"""Code of the error of one that cannot go on with what it has learnt."""
_LOOK_SECONDS = 1.0
_SILENT_SECONDS = 2 * 3600.0
"""After that, a process that writes nothing hangs."""
_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 2.0, 60.0
_PATIENCE_SECONDS = 24 * 3600.0
"""For a worker that reads the adapter."""


class TrainingGone(Exception):
    """It was cancelled or deleted meanwhile."""


class TrainingRunner:
    """`run` is called once, by who holds the lock of the files."""

    def __init__(self, gateway: Gateway, store: TrainingStore, row: Training, files: TrainingFiles) -> None:
        self._gateway, self._store, self._row, self._files = gateway, store, row, files
        self._told: dict[str, Any] = {}
        self._recordings: Sequence[TrainingRecording] = ()

    async def run(self) -> None:
        """Returns when the voice is there. Raises ApiError when it fails, TrainingGone, OSError, and
        OfAnotherBuild.
        """
        if self._row.voice_id is None:
            if not self._row.progress:
                await asyncio.to_thread(self._files.forget_run)
            self._recordings = await self._store.recordings(self._row.id)
            if not (await self._look()).is_written:
                await self._train()
            await self._make_voice()
        await asyncio.to_thread(self._files.keep_samples_alone)
        size_bytes = await asyncio.to_thread(self._files.size_bytes)
        await self._change(state="complete", ended_at=now(), size_bytes=size_bytes)

    async def _train(self) -> None:
        transcripts = {one.id: one.transcript for one in self._recordings}
        await asyncio.to_thread(self._gateway.disk.check)
        await asyncio.to_thread(self._files.write_manifest, transcripts)
        process = await TrainingProcess.start(self._files, self._gateway.settings, self._row.steps)
        try:
            status = await self._until_ended(process)
        finally:
            await process.end()
        progress = await self._look()
        if progress.is_outdated:
            if self._gateway.operations.history.builds.differ:
                raise OfAnotherBuild
            message = (
                "it began with other options than voices are trained with now, or what it learnt is damaged; "
                "start it again to begin afresh"
            )
            raise ApiError(409, OUTDATED, message)
        if progress.refusal is not None:
            raise ApiError(422, "recordings_unusable", progress.refusal)
        if not progress.is_written:
            logger.error("a training's process failed", training=self._row.id, status=status)
            message = f"the process that trains ended with status {status}; start it again to go on"
            raise ApiError(500, "training_failed", message)

    async def _until_ended(self, process: TrainingProcess) -> int:
        """Its exit status. Raises ApiError when it hangs or the disk is full, TrainingGone."""
        spoke_at = time.monotonic()
        while (status := await process.ended(_LOOK_SECONDS)) is None:
            told = self._told
            await self._look()
            if self._told != told:
                spoke_at = time.monotonic()
                await asyncio.to_thread(self._gateway.disk.check)
            elif time.monotonic() - spoke_at > _SILENT_SECONDS:
                raise ApiError(500, "training_failed", "the process that trains hangs; start it again")
        return status

    async def _look(self) -> Progress:
        """How far it is, which the row tells then. Raises TrainingGone, OSError."""
        progress = await asyncio.to_thread(read_progress, self._files.journal)
        await asyncio.to_thread(self._files.thin_out, progress.sampled)
        names = {one.id: one.name for one in self._recordings}
        told = progress.told(await asyncio.to_thread(self._files.samples), names)
        if told != self._told:
            self._told = told
            size_bytes = await asyncio.to_thread(self._files.size_bytes)
            await self._change(progress=told, size_bytes=size_bytes)
        elif (row := await self._store.get(self._row.id)) is None or row.state != "running":
            raise TrainingGone
        return progress

    async def _make_voice(self) -> None:
        """Raises ApiError, TrainingGone, OSError."""
        row, files, gateway = self._row, self._files, self._gateway
        row.adapter_id = await self._patiently(lambda: make_adapter(gateway, row, files))
        await self._change(adapter_id=row.adapter_id)
        row.voice_id = await self._patiently(lambda: make_voice(gateway, row, files, self._recordings))
        await self._change(voice_id=row.voice_id)

    async def _patiently(self, make: Callable[[], Awaitable[str]]) -> str:
        """What was made, once there is a worker that has time for it. Raises ApiError, OSError."""
        began, pause_seconds = time.monotonic(), _PAUSE_SECONDS
        while True:
            try:
                return await make()
            except ApiError as error:
                if error.status_code != 503 or time.monotonic() - began > _PATIENCE_SECONDS:
                    raise
                logger.info("a training waits", training=self._row.id, code=error.code)
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)
            await self._look()

    async def _change(self, **columns: Any) -> None:
        if not await self._store.change(self._row.id, ("running",), **columns):
            raise TrainingGone
