"""S14: what is deleted or overwritten is in none of the database's files a moment later."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.database import Database, Session, Voice
from gateway.sessions.index import SessionIndex
from gateway.voices.registry import VoiceRegistry

CANARY = "a sentence that nobody may read any more"
LONG = f"{CANARY} {'x' * 9000} {CANARY}"
"""Of several pages."""


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(f"sqlite:///{tmp_path / 'voxfleet.db'}")
    await opened.open()
    yield opened
    await opened.close()


def is_anywhere(folder: Path) -> bool:
    return any(CANARY.encode() in path.read_bytes() for path in folder.iterdir())


def a_voice(**columns: object) -> Voice:
    said = {"name": "Ann", "owner": "key:ann", **columns}
    return Voice(audio_sha256="0" * 64, audio_seconds=1, loudness_lufs=-20, **said)


@pytest.mark.parametrize("text", [CANARY, LONG])
async def test_a_deleted_voice_leaves_no_text(text: str, database: Database, tmp_path: Path) -> None:
    registry = VoiceRegistry(database, 9, 9)
    voices = [await registry.add(a_voice(transcript=text)), await registry.add(a_voice(owner="key:bob"))]
    assert is_anywhere(tmp_path)
    await registry.remove(voices[0].id)
    assert not is_anywhere(tmp_path)
    assert (await registry.get(voices[1].id)).name == "Ann"


@pytest.mark.parametrize("text", [CANARY, LONG])
async def test_a_changed_transcript_leaves_no_text(text: str, database: Database, tmp_path: Path) -> None:
    registry = VoiceRegistry(database, 9, 9)
    voice = await registry.add(a_voice(transcript=text, consent_statement=text))
    assert is_anywhere(tmp_path)
    await registry.change(voice.id, {"transcript": None, "consent_statement": None})
    assert not is_anywhere(tmp_path)


@pytest.mark.parametrize("how", ["deleted", "changed"])
async def test_a_session_leaves_no_text(how: str, database: Database, tmp_path: Path) -> None:
    index = SessionIndex(database)
    async with database.transaction() as rows:
        rows.add(Session(id="s", kind="clip", owner="me", state="complete", title=CANARY, comment=LONG))
    assert is_anywhere(tmp_path)
    if how == "deleted":
        assert await index.remove("s")
    else:
        await index.change("s", title="", comment="")
    assert not is_anywhere(tmp_path)


async def test_a_gateway_beside_it_erases_too(database: Database, tmp_path: Path) -> None:
    other = Database(f"sqlite:///{tmp_path / 'voxfleet.db'}")
    await other.open()
    voice = await VoiceRegistry(database, 9, 9).add(a_voice(transcript=LONG))
    await VoiceRegistry(other, 9, 9).remove(voice.id)
    assert not is_anywhere(tmp_path)
    await other.close()
