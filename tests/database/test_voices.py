"""The registry of voices on both databases."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from gateway.database import Database, Voice
from gateway.database import connection as connection_module
from gateway.errors import ApiError
from gateway.settings import load_settings
from gateway.voices import consent
from gateway.voices.registry import VoiceRegistry
from gateway.voices.service import Voices
from tests.gateway.stages.fleet import Fleet

SHA = "ab" * 32
AT = datetime(2026, 5, 1, 12, 0, 0, 123456, UTC)


@pytest.fixture
def registry(database: Database) -> VoiceRegistry:
    return VoiceRegistry(database, max_voices=6, max_per_owner=4)


def voice(name: str = "Ann", owner: str = "key:ann", agreed: bool = True, **fields: Any) -> Voice:
    columns = {"audio_sha256": SHA, "audio_seconds": 6.5, "loudness_lufs": -21.25, **fields}
    if agreed:
        columns |= consent.given("Ann Example", "Ich stimme zu. 我同意。", columns["audio_sha256"], AT)
    return Voice(name=name, owner=owner, **columns)


async def refused(registry: VoiceRegistry, **fields: Any) -> str:
    with pytest.raises(ApiError) as refusal:
        await registry.add(voice(**fields))
    return refusal.value.code


async def test_a_voice_comes_back_as_it_was_and_its_consent_holds(registry: VoiceRegistry) -> None:
    kept = await registry.add(
        voice(tags=["warm", "标签"], transcript="Hello.", parameters={"seed": 2**53, "cfg_value": 2.5})
    )
    found = await registry.get(kept.id)
    assert found is not kept
    assert (found.tags, found.transcript, found.language) == (["warm", "标签"], "Hello.", None)
    assert found.parameters == {"seed": 2**53, "cfg_value": 2.5}
    assert (found.audio_seconds, found.loudness_lufs, found.consent_at) == (6.5, -21.25, AT)
    assert consent.is_given(found)


@pytest.mark.parametrize(
    "change",
    [
        {"consent_statement": "I agree to more."},
        {"consent_by": "Somebody Else"},
        {"consent_at": AT + timedelta(microseconds=1)},
        {"audio_sha256": "cd" * 32},
        {"consent_sha256": "0" * 64},
        {"consent_by": None},
    ],
)
async def test_a_record_that_was_changed_is_no_consent(
    registry: VoiceRegistry, change: dict[str, Any]
) -> None:
    kept = await registry.add(voice())
    await registry.change(kept.id, change)
    assert not consent.is_given(await registry.get(kept.id))


async def test_a_request_means_an_id_or_a_name_and_no_name_is_an_id(registry: VoiceRegistry) -> None:
    """Else somebody could call a voice as one that was deleted is called by those who still have its id."""
    first = await registry.add(voice("Ann"))
    assert await refused(registry, name=first.id, owner="key:bob") == "invalid_value"
    assert [found.id for found in await registry.find(first.id, "key:bob")] == [first.id]
    assert [found.id for found in await registry.find("Ann", "key:bob")] == [first.id]


async def test_a_name_in_another_case_is_meant_where_none_is_written_so(
    registry: VoiceRegistry, database: Database
) -> None:
    """OpenAI's clients write the names of voices in lower case."""
    first = await registry.add(voice("Ann"))
    second = await registry.add(voice("Bob", owner="key:bob"))
    of_before = text("UPDATE voices SET name = 'ann', folded_name = 'ann' WHERE id = :id")
    async with database.transaction() as rows:
        await rows.execute(of_before, {"id": second.id})
    assert [found.id for found in await registry.find("ann", "key:ann")] == [second.id]
    assert {found.id for found in await registry.find("ANN", "key:eve")} == {first.id, second.id}
    assert [found.id for found in await registry.find("ANN", "key:ann")] == [first.id]
    assert await registry.find("anna", "key:ann") == []
    elise = await registry.add(voice("Élise", "key:ann", agreed=False))
    assert [found.id for found in await registry.find("ÉLISE", "key:ann")] == [elise.id]
    assert [found.id for found in await registry.find("e\u0301lise", "key:ann")] == [elise.id]
    assert await registry.find("ÉLISE", "key:bob") == []
    await registry.change(elise.id, {"name": "Zoë"})
    assert [found.id for found in await registry.find("ZOË", "key:ann")] == [elise.id]
    assert await registry.find("élise", "key:ann") == []


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        ("e\u0301lise", "\u00e9lise"),
        ("Ann", "Ann\u200d"),
        ("Ann Lee", "Ann\u00a0Lee"),
        ("Ann Lee", "Ann \u200c Lee"),
        ("Ann\u3000Lee", "Ann Lee"),
        ("Ann", "ann"),
        ("Stra\u00dfe", "STRASSE"),
        ("Ann", "Ann\ufe0f"),
        ("Ann", "A\u034fnn\U000e0100"),
        ("Ann", "\u3164Ann\u2800"),
        ("Ann", "\U0001d5a0\U0001d5c7\uff4e"),
        ("Esco", "\u0415\u0455\u0441\u043e"),
        ("\u0421\u0430\u0440\u0430", "Capa"),
        ("No\u00eb", "\u039d\u03bf\u0451"),
        ("Bea", "\ua4d0\ua4f0\ua4ee"),
        ("\u0412\u0435\u0440\u0430", "\u0412\u0415\u0420\u0410"),
    ],
)
async def test_no_two_names_that_everybody_sees_look_the_same(
    name: str, alike: str, registry: VoiceRegistry
) -> None:
    """Else somebody could have others' requests for a voice speak with one of their own."""
    kept = await registry.add(voice(name))
    assert await refused(registry, name=alike, owner="key:eve") == "name_taken"
    eves = await registry.add(voice("Eve", owner="key:eve"))
    with pytest.raises(ApiError, match="called"):
        await registry.change(eves.id, {"name": alike})
    hers = await registry.add(voice(alike, owner="key:eve", agreed=False))
    with pytest.raises(ApiError, match="called"):
        await registry.change(hers.id, consent.columns_of("Eve", "I agree.", SHA, AT))
    assert [found.id for found in await registry.find(alike, "key:bob")] in ([kept.id], [])


async def test_what_looks_like_another_of_before_can_still_be_changed(
    registry: VoiceRegistry, database: Database
) -> None:
    await registry.add(voice("Ann Lee"))
    alike = await registry.add(voice("Ann"))
    async with database.transaction() as rows:
        await rows.execute(text("UPDATE voices SET name = 'Ann\u00a0Lee' WHERE id = :id"), {"id": alike.id})
    await registry.change(alike.id, {"description": "Another."})
    await registry.change(alike.id, consent.columns_of(None, None, SHA, AT))
    assert not consent.is_given(await registry.get(alike.id))


def to_version(connection: Connection, revision: str) -> None:
    """Tables as a gateway of before made them."""
    config = Config()
    config.set_main_option("script_location", str(connection_module.MIGRATIONS))
    config.attributes["connection"] = connection
    command.downgrade(config, revision)


async def test_names_of_before_are_known_after_an_upgrade(database: Database) -> None:
    """And those that a gateway of before gives while it still runs beside a new one, as they are written."""
    registry = VoiceRegistry(database, max_voices=6, max_per_owner=4)
    ids = [(await registry.add(voice(name))).id for name in ("Élise", "Ann")]
    async with database.transaction() as rows:
        await (await rows.connection()).run_sync(to_version, "0011")
    await database.close()
    await database.open()
    assert [found.id for found in await registry.find("ÉLISE", None)] == ids[:1]
    async with database.transaction() as rows:
        await rows.execute(text("UPDATE voices SET folded_name = NULL"))
    assert [found.id for found in await registry.find("Ann", None)] == ids[1:]


async def test_names_that_a_former_version_gave_during_an_upgrade_are_known_in_any_case(
    database: Database,
) -> None:
    """It knows no form in which names are looked up: a new row has none, a changed one that of before."""
    registry = VoiceRegistry(database, max_voices=6, max_per_owner=4)
    made, changed = [(await registry.add(voice(name))).id for name in ("Élise", "Ann")]
    async with database.transaction() as rows:
        await rows.execute(text("UPDATE voices SET folded_name = NULL WHERE id = :id"), {"id": made})
        await rows.execute(text("UPDATE voices SET name = 'Zoë' WHERE id = :id"), {"id": changed})
    await database.close()
    await database.open()
    for name, meant in (("ÉLISE", [made]), ("ZOË", [changed]), ("Ann", [])):
        assert [found.id for found in await registry.find(name, None)] == meant


async def test_a_name_means_none_that_the_caller_does_not_see(registry: VoiceRegistry) -> None:
    shared = await registry.add(voice("Ann"))
    private = await registry.add(voice("ann", owner="key:bob", agreed=False))
    for tenant, meant in (("key:ann", shared), ("key:eve", shared), (None, shared), ("key:bob", private)):
        assert [found.id for found in await registry.find("ann", tenant)] == [meant.id]
    assert [found.id for found in await registry.find(private.id, "key:ann")] == [private.id]


async def test_names_are_unique_for_whoever_sees_them(registry: VoiceRegistry) -> None:
    await registry.add(voice("Ann"))
    assert await refused(registry, name="Ann") == "name_taken"
    assert await refused(registry, name="Ann", agreed=False) == "name_taken"
    assert await refused(registry, name="Ann", owner="key:bob") == "name_taken"
    private = await registry.add(voice("Ann", owner="key:bob", agreed=False))
    with pytest.raises(ApiError) as refusal:
        await registry.change(private.id, consent.given("Bob", "Yes.", SHA, AT))
    assert refusal.value.code == "name_taken"
    assert not consent.is_given(await registry.get(private.id)), "the change was undone"
    await registry.change(private.id, {"name": "Bob", **consent.given("Bob", "Yes.", SHA, AT)})
    assert consent.is_given(await registry.get(private.id))


async def test_everybody_sees_voices_with_consent_and_their_own(registry: VoiceRegistry) -> None:
    await registry.add(voice("shared"))
    await registry.add(voice("private", agreed=False))
    await registry.add(voice("bob's", owner="key:bob", agreed=False))

    async def seen(*who: Any) -> set[str]:
        return {found.name for found in await registry.visible_to(*who)}

    assert await seen("key:ann") == {"shared", "private"}
    assert await seen("key:bob") == {"shared", "bob's"}
    assert await seen(None) == {"shared"}
    assert await seen("key:carl", True) == {"shared", "private", "bob's"}


async def test_the_audio_goes_with_the_last_voice_that_uses_it(registry: VoiceRegistry) -> None:
    first, second = await registry.add(voice("one")), await registry.add(voice("two"))
    other = await registry.add(voice("other", audio_sha256="ef" * 32))
    assert await registry.remove(first.id) is None
    assert await registry.remove(second.id) == SHA
    assert not await registry.uses(SHA) and await registry.uses("ef" * 32)
    assert await registry.get(second.id) is None and await registry.get(other.id) is not None
    with pytest.raises(ApiError) as refusal:
        await registry.remove(second.id)
    assert refusal.value.status_code == 404


async def test_there_are_only_so_many(registry: VoiceRegistry) -> None:
    for number in range(4):
        await registry.add(voice(f"v{number}"))
    assert await refused(registry, name="v4") == "too_many_voices"
    for number in range(2):
        await registry.add(voice(f"b{number}", owner="key:bob"))
    assert await refused(registry, name="b2", owner="key:bob") == "too_many_voices"


async def test_changes_at_once_leave_one_voice_of_a_name(registry: VoiceRegistry) -> None:
    results = await asyncio.gather(*(registry.add(voice("Ann")) for _ in range(4)), return_exceptions=True)
    assert sum(isinstance(result, Voice) for result in results) == 1
    assert len(await registry.find("Ann", None)) == 1


async def test_who_leaves_in_the_middle_leaves_no_lock_behind(
    registry: VoiceRegistry, database_url: str
) -> None:
    other = Database(database_url)
    await other.open()
    for turns in range(30):
        writing = asyncio.create_task(registry.add(voice("Ann")))
        for _ in range(turns):
            await asyncio.sleep(0.0005)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        for left in await VoiceRegistry(other, 9, 9).find("Ann", None):
            await VoiceRegistry(other, 9, 9).remove(left.id)
    await other.close()


async def test_a_database_that_fails_is_said_to(registry: VoiceRegistry, database: Database) -> None:
    await database.close()
    with pytest.raises(ApiError) as refusal:
        await registry.find("Ann", None)
    assert (refusal.value.status_code, refusal.value.code) == (503, "voices_unavailable")


async def test_audio_that_a_killed_gateway_left_behind_is_removed(database: Database, tmp_path: Path) -> None:
    voices = Voices(load_settings(data_dir=tmp_path), database, Fleet().pool, {})
    directory = tmp_path / "voices"
    directory.mkdir()
    names = {name: directory / name for name in (f"{SHA}.wav", f"{'cd' * 32}.wav", f"{'ef' * 32}.wav")}
    used, orphan, recent = names.values()
    unfinished, foreign = directory / ".new-x", directory / "notes.txt"
    for path in (used, orphan, recent, unfinished, foreign):
        path.write_bytes(b"x")
        if path != recent:
            os.utime(path, (1.0, 1.0))
    await VoiceRegistry(database, 9, 9).add(voice())
    voices.start()
    async with asyncio.timeout(30):
        while orphan.exists() or unfinished.exists():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await voices.close()
    assert used.exists() and recent.exists() and foreign.exists()
