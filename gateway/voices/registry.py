"""The rows of custom voices: who made them, what they are called, which audio they use."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database import Database, Voice
from gateway.database.tables import now
from gateway.database.transactions import answered, lock, to_its_end
from gateway.errors import ApiError

_LOCK = 0x766F79  # any number that nobody else locks
_ID = re.compile(r"v_[0-9a-f]{16}")


class VoiceRegistry:
    """Custom voices in the database. Methods raise ApiError 503 when it cannot be used."""

    def __init__(self, database: Database, max_voices: int, max_per_owner: int) -> None:
        self._database = database
        self._max_voices = max_voices
        self._max_per_owner = max_per_owner

    async def get(self, id: str) -> Voice | None:
        """The voice of that id."""
        if not is_id(id):
            return None
        async with self._rows() as rows:
            return await rows.get(Voice, id)

    async def find(self, reference: str) -> list[Voice]:
        """The voices that a request may mean: the one of that id, else those of that name, else those of
        that name in another case.
        """
        same_name = or_(Voice.name == reference, func.lower(Voice.name) == reference.lower())
        async with self._rows() as rows:
            query = select(Voice).where(or_(Voice.id == reference, same_name))
            found = (await rows.scalars(query)).all()
        by_id = [voice for voice in found if voice.id == reference]
        return by_id or [voice for voice in found if voice.name == reference] or list(found)

    async def visible_to(self, tenant: str | None, everything: bool = False) -> Sequence[Voice]:
        """Voices with consent, and the tenant's own; all of them with `everything`."""
        query = select(Voice)
        if not everything:
            query = query.where(or_(Voice.consent_at.is_not(None), Voice.owner == (tenant or "")))
        async with self._rows() as rows:
            return (await rows.scalars(query)).all()

    async def add(self, voice: Voice) -> Voice:
        """Insert a row and give it an id. Raises ApiError 409: too many voices, or the name is taken."""
        voice.id = f"v_{secrets.token_hex(8)}"
        await to_its_end(self._add(voice))
        return voice

    async def _add(self, voice: Voice) -> None:
        async with self._rows() as rows:
            await lock(rows, _LOCK)
            await self._check_room(rows, voice.owner)
            await _check_name(rows, voice)
            rows.add(voice)

    async def change(self, id: str, changes: dict[str, Any]) -> Voice:
        """Set columns of a row. Raises ApiError: 404 when it is gone, 409 when the name is taken."""
        return await to_its_end(self._change(id, changes))

    async def _change(self, id: str, changes: dict[str, Any]) -> Voice:
        async with self._rows(erasing=True) as rows:
            await lock(rows, _LOCK)
            voice = await rows.get(Voice, id)
            if voice is None:
                raise unknown_voice(id)
            for name, value in changes.items():
                setattr(voice, name, value)
            with rows.no_autoflush:
                await _check_name(rows, voice)
            voice.updated_at = now()
        return voice

    async def remove(self, id: str) -> str | None:
        """Delete a row; the hash of its audio when no other voice uses that. Raises ApiError 404."""
        return await to_its_end(self._remove(id))

    async def _remove(self, id: str) -> str | None:
        async with self._rows(erasing=True) as rows:
            await lock(rows, _LOCK)
            voice = await rows.get(Voice, id)
            if voice is None:
                raise unknown_voice(id)
            await rows.delete(voice)
            await rows.flush()
            same_audio = select(func.count()).where(Voice.audio_sha256 == voice.audio_sha256)
            return None if await rows.scalar(same_audio) else voice.audio_sha256

    async def uses(self, audio_sha256: str) -> bool:
        """Whether a voice has that audio."""
        async with self._rows() as rows:
            query = select(func.count()).select_from(Voice).where(Voice.audio_sha256 == audio_sha256)
            return bool(await rows.scalar(query))

    async def _check_room(self, rows: AsyncSession, owner: str) -> None:
        everybody = select(func.count()).select_from(Voice)
        if await rows.scalar(everybody) >= self._max_voices:
            message = f"this service keeps at most {self._max_voices} voices"
            raise ApiError(409, "too_many_voices", message)
        if await rows.scalar(everybody.where(Voice.owner == owner)) >= self._max_per_owner:
            message = f"one client may have at most {self._max_per_owner} voices; delete one first"
            raise ApiError(409, "too_many_voices", message)

    def _rows(self, *, erasing: bool = False) -> AbstractAsyncContextManager[AsyncSession]:
        return answered(self._database, "custom voices", "voices_unavailable", erasing=erasing)


async def _check_name(rows: AsyncSession, voice: Voice) -> None:
    """Who names a voice means one: no two of one owner, nor two that everybody sees, have one name."""
    query = select(Voice.id).where(Voice.name == voice.name, Voice.id != voice.id)
    seen_by_all = Voice.consent_at.is_not(None)
    own = Voice.owner == voice.owner
    query = query.where(or_(own, seen_by_all) if voice.consent_at is not None else own)
    if (await rows.scalars(query.limit(1))).first() is not None:
        raise name_taken(voice.name)


def is_id(reference: str) -> bool:
    """Whether it has the form of an id of ours, which is no name that a worker would give a voice."""
    return _ID.fullmatch(reference) is not None


def name_taken(name: str) -> ApiError:
    """Another voice is called so."""
    return ApiError(409, "name_taken", f"there is a voice called {name!r} already", param="name")


def unknown_voice(id: str) -> ApiError:
    """There is none, or it is not for the caller to see."""
    return ApiError(404, "unknown_voice", f"there is no voice {id!r}", param="voice")
