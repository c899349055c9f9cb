"""What a gateway records, and the upkeep that goes with it.

    recording = gateway.recorder.open("clip", {"voice": "slt"}, owner=tenant, asked=request.record)
    index = recording.utterance("Hello.", {"seed": 7})
    recording.audio(index, pcm, 24000)
    recording.finish("stop")

A task of its own carries what the writer's thread has done into the database.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import structlog

from gateway.database import Database
from gateway.errors import ApiError
from gateway.files.disk import Disk
from gateway.metrics import Metrics
from gateway.sessions.index import SessionIndex
from gateway.sessions.recording import Recording, Stage
from gateway.sessions.storage.writer import Writer
from gateway.sessions.upkeep import Upkeep
from gateway.settings import GatewaySettings

__all__ = ["Recorder", "Recording"]

logger = structlog.get_logger(__name__)

_MAX_PENDING_BYTES = 64 << 20
"""Audio that waits for the disk: ten minutes of two streams, or five seconds of a hundred and fifty."""
_SETTLE_SECONDS = 5.0


class Recorder:
    """Makes recordings; `running()` brackets its life, inside that of the database."""

    def __init__(
        self, settings: GatewaySettings, database: Database, metrics: Metrics, disk: Disk | None = None
    ) -> None:
        """`disk`: has a floor of free space. None: there is none."""
        self._disk = disk or Disk(settings.data_dir, 0)
        self.folder = settings.data_dir.absolute() / "sessions"
        self.index = SessionIndex(database)
        self.upkeep = Upkeep(self.index, self.folder, settings, metrics, self._disk)
        self._mode = settings.record_sessions
        self._noted = settings.provenance_note
        self._metrics = metrics
        self._writer = Writer(_MAX_PENDING_BYTES)

    def open(self, kind: str, request: dict[str, Any], owner: str, *, asked: bool) -> Recording | None:
        """A recording for a session of `kind` "clip" or "live"; None when it is not to be recorded, or the
        disk has no room for more.

        `request` is kept as it is: plain JSON values, without the text. Raises ApiError when the client
        `asked` for what this gateway does not do.
        """
        self.check(asked)
        if self._mode == "off" or not (asked or self._mode == "all"):
            return None
        if self._disk.is_full:
            self._metrics.recording_failures.labels("disk_full").inc()
            return None
        how = {"noted": self._noted, "disk": self._disk}
        on_begin, on_change = self.upkeep.expect, self._changed
        return Recording(self.folder, kind, request, owner, self._writer, on_begin, on_change, **how)

    @property
    def enabled(self) -> bool:
        """Whether anything can be recorded."""
        return self._mode != "off"

    def check(self, asked: bool) -> None:
        """Raise ApiError when the client `asked` to be recorded and that is switched off."""
        if asked and self._mode == "off":
            message = "record: this gateway records no sessions (record_sessions is off)"
            raise ApiError(422, "recording_off", message, param="record")

    async def settled(self, session_id: str) -> None:
        """Wait, for a few seconds at most, until what was just recorded can be read."""
        if (recording := self.upkeep.recordings.get(session_id)) is not None:
            await _settle([recording])

    async def all_settled(self, owner: str | None) -> None:
        """`settled` for whatever `owner` just recorded; None: everybody."""
        recordings = self.upkeep.recordings.values()
        await _settle([each for each in recordings if owner is None or each.owner == owner])

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write for as long as the block lasts; at its end everything is written and indexed."""
        self._writer.start()
        try:
            async with self.upkeep.running():
                try:
                    yield
                finally:
                    for recording in list(self.upkeep.recordings.values()):
                        recording.finish("shutting_down")
                    await asyncio.to_thread(self._writer.close)
        finally:
            await asyncio.to_thread(self._writer.close)

    def _changed(self, recording: Recording, stage: Stage) -> None:
        if stage is Stage.FAILED:
            self._metrics.recording_failures.labels(recording.failure).inc()
        elif stage is Stage.COMPLETE:
            self._metrics.sessions_recorded.labels(recording.kind).inc()
        recording.stages.append(stage)
        self.upkeep.changed(recording)


async def _settle(recordings: list[Recording]) -> None:
    """Wait for the recordings that have ended or have no row yet."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_SETTLE_SECONDS):
            for recording in recordings:
                if recording.ended or not recording.indexed:
                    await recording.settled.wait()
