"""S14: what is kept has an end: days, bytes of all and of each owner, and disk that stays free for others."""

from __future__ import annotations

import asyncio
import errno
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from gateway.errors import ApiError
from gateway.files.content_files import ContentFiles
from gateway.files.disk import Disk
from gateway.service import Gateway
from gateway.sessions.cleanup import Limits, Removed, Stored, choose
from gateway.settings import GatewaySettings
from tests.gateway.sessions.recordings import (
    RATE,
    failures,
    folder_of,
    open_session,
    pcm,
    recording_gateway,
    row_of,
    until,
    until_interrupted,
    wav_audio,
)

NOW = datetime.now(UTC)
MORE_THAN_THERE_IS = 10**9
"""Gigabytes."""


def test_there_are_limits_unless_somebody_takes_them_away() -> None:
    assert Limits.of(GatewaySettings()) == Limits(timedelta(days=90), 20 * 10**9, 5 * 10**9)
    assert GatewaySettings().min_free_disk_gb == 1
    unlimited = GatewaySettings(
        session_retention_days=0, session_max_storage_gb=0, session_max_owner_gb=0, min_free_disk_gb=0
    )
    assert Limits.of(unlimited) == Limits()


async def recorded(gateway: Gateway, owner: str, **columns: object) -> str:
    """A session that is complete; `columns`: as if it had been another one."""
    recording = open_session(gateway, owner=owner)
    recording.utterance("Kept for a while.", {})
    recording.audio(0, pcm(RATE), RATE)
    recording.finish("stop")
    assert (await row_of(gateway, recording)).state == "complete"
    await gateway.recorder.index.change(recording.session_id, **columns)
    return recording.session_id


async def kept(gateway: Gateway, *sessions: str) -> list[bool]:
    """Of each, whether its row is there, which agrees with its folder."""
    rows = [await gateway.recorder.index.get(session) is not None for session in sessions]
    assert rows == [(gateway.recorder.folder / session).exists() for session in sessions]
    return rows


async def test_recordings_of_strangers_are_not_kept_for_ever(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        old = await recorded(gateway, "192.0.2.1", created_at=NOW - timedelta(days=91))
        young = await recorded(gateway, "192.0.2.1", created_at=NOW - timedelta(days=89))
        await gateway.recorder.upkeep._clean()
        assert await kept(gateway, old, young) == [False, True]


async def test_who_fills_the_storage_loses_their_own_within_a_minute(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path, session_max_owner_gb=2, session_max_storage_gb=4) as gateway:
        gigabyte = {"size_bytes": 10**9}
        others = await recorded(gateway, "key:ann", used_at=NOW - timedelta(days=80), **gigabyte)
        mine = [
            await recorded(gateway, "192.0.2.1", used_at=NOW - timedelta(hours=number), **gigabyte)
            for number in range(4)
        ]
        await gateway.recorder.upkeep.sweep()
        assert await kept(gateway, others, *mine) == [True, True, True, False, False]


async def test_many_owners_together_have_a_limit_too(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path, session_max_owner_gb=2, session_max_storage_gb=3) as gateway:
        sessions = [
            await recorded(
                gateway, f"192.0.2.{number}", used_at=NOW - timedelta(hours=number), size_bytes=10**9
            )
            for number in range(5)
        ]
        await gateway.recorder.upkeep.sweep()
        assert await kept(gateway, *sessions) == [True, True, True, False, False]


def test_what_is_recorded_stays_and_counts() -> None:
    def session(name: str, owner: str | None, hours: int, active: bool = False) -> Stored:
        return Stored(name, NOW, NOW - timedelta(hours=hours), 10, active, True, owner)

    stored = [
        session("active", "ann", 9, active=True),
        session("old", "ann", 5),
        session("new", "ann", 1),
        session("of bob", "bob", 8),
        session("of nobody", None, 20),
    ]
    assert choose(stored, Limits(owner_bytes=20), NOW) == [Removed("old", "owner", 10)]
    both = choose(stored, Limits(owner_bytes=20, size_bytes=20), NOW)
    assert both == [
        Removed("old", "owner", 10), Removed("of nobody", "capacity", 10), Removed("of bob", "capacity", 10)
    ]  # fmt: skip


async def test_nothing_is_recorded_where_the_disk_is_to_stay_free(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path, min_free_disk_gb=MORE_THAN_THERE_IS) as gateway:
        await until(lambda: gateway.disk.is_full)
        assert gateway.recorder.open("clip", {}, "me", asked=True) is None
        assert failures(gateway, "disk_full") == 1
        assert not gateway.recorder.folder.exists()
        gateway.disk._min_free_bytes = 1
        await gateway.recorder.upkeep.sweep()
        assert open_session(gateway) is not None, "there is room again"


async def test_a_recording_ends_before_it_takes_the_last_of_the_disk(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        recording = open_session(gateway)
        recording.utterance("And so on", {})
        recording.audio(0, pcm(RATE), RATE)
        assert await row_of(gateway, recording) is not None
        gateway.disk._min_free_bytes = MORE_THAN_THERE_IS * 10**9
        for _ in range(30):
            recording.audio(0, pcm(RATE), RATE)
        row = await until_interrupted(gateway, recording)
        assert failures(gateway, "disk_full") == 1
        written = wav_audio(folder_of(gateway, recording) / "merged.wav")
        assert 2 * RATE <= len(written) <= 2 * RATE + (1 << 20), "what was written before is readable"
        assert row.audio_seconds == pytest.approx(len(written) / 2 / RATE)


async def test_nor_does_a_voice_or_a_consent(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path, min_free_disk_gb=MORE_THAN_THERE_IS) as gateway:
        for files in (gateway.voices._files, gateway.voices.consents.files):
            with pytest.raises(ApiError) as refused:
                async with files.keeping(b"audio", "a" * 64):
                    pytest.fail("it was stored")
            assert (refused.value.status_code, refused.value.code) == (507, "disk_full")
        with pytest.raises(OSError, match="min_free_disk_gb"):
            await asyncio.to_thread(gateway.voices.store.write, tmp_path / "latents", b"latents")
        assert gateway.voices.store.size_bytes == 0


async def test_recordings_that_a_killed_gateway_left_without_a_row_are_removed(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        folder = gateway.voices.store.path("a" * 64).parent
        left = [folder / f"{'a' * 64}.wav", folder / "consents" / f"{'b' * 64}.wav"]
        for path in left:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"RIFF")
            os.utime(path, (0, 0))
        gateway.voices.start()
        await asyncio.gather(*gateway.voices._tasks)
        assert not [path for path in left if path.exists()]


def test_a_disk_without_free_files_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = {"f_frsize": 4096, "f_bavail": 10**9, "f_files": 10**6, "f_favail": 999}
    monkeypatch.setattr(os, "statvfs", lambda folder: SimpleNamespace(**figures))
    disk = Disk(tmp_path, 1)
    with pytest.raises(OSError) as full:
        disk.check()
    assert full.value.errno == errno.ENOSPC and not disk.look()
    figures["f_files"] = figures["f_favail"] = 0  # btrfs: as many as there is room for
    assert disk.look() and not disk.is_full


def test_a_folder_that_is_not_there_yet_is_on_the_disk_above_it(tmp_path: Path) -> None:
    free = Disk(tmp_path / "not" / "yet", 0).free_bytes
    assert free == pytest.approx(Disk(tmp_path, 0).free_bytes, rel=0.01)
    ContentFiles(tmp_path / "voices", ".wav", Disk(tmp_path / "voices", 1)).write(
        tmp_path / "voices" / "a", b"a"
    )
