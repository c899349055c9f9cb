"""Recordings in which somebody agrees to the use of a voice, as OpenAI's clients send them.

A voice that is made under one has the consent of the person whom the recording is named after: its statement
is the one of `consent.py`, with the id and the hash of the recording. Each belongs to who sent it, and nobody
else sees it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database import Database, VoiceConsent
from gateway.database.repeats import Asked
from gateway.database.transactions import answered, lock
from gateway.errors import ApiError
from gateway.files.content_files import ContentFiles
from gateway.files.disk import Disk
from gateway.files.used_files import UsedFiles
from gateway.finishing import to_its_end
from gateway.voices import consent
from gateway.voices.fields import ConsentForm

_LOCK = 0x766F7B  # any number that nobody else locks
_ID = re.compile(r"cons_[0-9a-f]{16}")


class RecordedConsents:
    """Rows and their files. Methods raise ApiError 503 when the database cannot be used."""

    def __init__(
        self, database: Database, directory: Path, max_per_owner: int, disk: Disk | None = None
    ) -> None:
        self.files = UsedFiles(ContentFiles(directory, ".wav", disk), "the recording", self._uses)
        self._database = database
        self._max_per_owner = max_per_owner

    async def add(
        self, form: ConsentForm, audio: bytes, audio_sha256: str, owner: str, asked: Asked
    ) -> VoiceConsent:
        """Keep a recording, a wav file. Raises ApiError: 409 for too many of one owner, 507."""
        row = VoiceConsent(
            id=f"cons_{secrets.token_hex(8)}",
            name=form.name,
            language=form.language,
            owner=owner,
            audio_sha256=audio_sha256,
        )
        asked.mark(row)
        async with self.files.keeping(audio, audio_sha256):
            await to_its_end(self._add(row))
        return row

    async def _add(self, row: VoiceConsent) -> None:
        async with self._rows() as rows:
            await lock(rows, _LOCK)
            query = select(func.count()).select_from(VoiceConsent).where(VoiceConsent.owner == row.owner)
            if await rows.scalar(query) >= self._max_per_owner:
                message = f"one client may have at most {self._max_per_owner} consents; delete one first"
                raise ApiError(409, "too_many_consents", message)
            rows.add(row)

    async def get(self, id: str, owner: str) -> VoiceConsent:
        """One of the owner's. Raises ApiError 404."""
        if _ID.fullmatch(id):
            async with self._rows() as rows:
                row = await rows.get(VoiceConsent, id)
            if row is not None and row.owner == owner:
                return row
        raise ApiError(404, "unknown_consent", f"there is no consent {id[:64]!r}", param="consent")

    async def list(self, owner: str) -> Sequence[VoiceConsent]:
        """The owner's, the newest first."""
        query = select(VoiceConsent).where(VoiceConsent.owner == owner)
        query = query.order_by(VoiceConsent.created_at.desc(), VoiceConsent.id)
        async with self._rows() as rows:
            return (await rows.scalars(query)).all()

    async def rename(self, id: str, owner: str, name: str) -> VoiceConsent:
        """Change its name. Voices that were made under it keep what they say. Raises ApiError 404."""
        await self.get(id, owner)
        return await to_its_end(self._rename(id, name))

    async def _rename(self, id: str, name: str) -> VoiceConsent:
        async with self._rows(erasing=True) as rows:
            await lock(rows, _LOCK)
            row = await rows.get_one(VoiceConsent, id)
            row.name = name
        return row

    async def remove(self, id: str, owner: str) -> None:
        """Delete a recording. Voices keep the record of the consent, with its hash. Raises ApiError 404."""
        row = await self.get(id, owner)
        await to_its_end(self.files.let_go(self._remove(row)))

    async def _remove(self, row: VoiceConsent) -> str | None:
        async with self._rows(erasing=True) as rows:
            await lock(rows, _LOCK)
            await rows.delete(await rows.get_one(VoiceConsent, row.id))
            await rows.flush()
            return None if await rows.scalar(_count_of(row.audio_sha256)) else row.audio_sha256

    async def _uses(self, audio_sha256: str) -> bool:
        async with self._rows() as rows:
            return bool(await rows.scalar(_count_of(audio_sha256)))

    def _rows(self, *, erasing: bool = False) -> AbstractAsyncContextManager[AsyncSession]:
        return answered(self._database, "consents", "voices_unavailable", erasing=erasing)


def _count_of(audio_sha256: str) -> Select[tuple[int]]:
    return select(func.count()).where(VoiceConsent.audio_sha256 == audio_sha256)


def statement(row: VoiceConsent) -> str:
    """What stands in a voice that is made under it."""
    spoken = f"Spoken in the recording {row.id} ({row.language}), SHA-256 {row.audio_sha256}."
    return f"{consent.STATEMENT} {spoken}"
