"""Sessions over real processes: recorded while they are spoken, read after a crash, cleaned up by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gateway.audio.wav import header_data_bytes, read_header
from gateway.database import Database
from gateway.sessions.index import SessionIndex
from tests.forks import REPOSITORY
from tests.gateway.audio.files import wav_samples
from tests.gateway.stages.processes import (
    LONG_TEXT,
    TEXT,
    GatewayProcess,
    StartFleet,
    check_error,
    eventually,
    pcm_of,
)


async def session_of(gateway: GatewayProcess, session_id: str) -> dict[str, Any]:
    async with gateway.http() as http:
        answer = await http.get(f"/api/sessions/{session_id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def audio_of(gateway: GatewayProcess, session_id: str, part: str = "") -> bytes:
    """The samples of its WAV."""
    async with gateway.http() as http:
        file = (await http.get(f"/api/sessions/{session_id}/audio{part}")).content
    return wav_samples(file)


async def wait_for_state(gateway: GatewayProcess, session_id: str, state: str) -> dict[str, Any]:
    async def poll() -> dict[str, Any] | None:
        found = await session_of(gateway, session_id)
        return found if found["session"]["state"] == state else None

    return await eventually(poll, f"the session is not {state}")


def clean(data_dir: Path, *options: str) -> str:
    """What `voxfleet sessions clean` prints."""
    command = [sys.executable, "-m", "voxfleet", "sessions", "clean", "--data-dir", str(data_dir), *options]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("VOXFLEET_")}
    result = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


async def test_both_ways_of_asking_are_recorded_as_they_were_heard(start: StartFleet, tmp_path: Path) -> None:
    gateway, _ = start(1, step_ms=5, gateway={"data_dir": tmp_path})
    async with gateway.http() as http:
        spoken = await http.post("/tts", json={"text": TEXT, "seed": 7, "record": True, "sample_rate": 16000})
        silent = await http.post("/tts", json={"text": TEXT, "seed": 7})
        listed = (await http.get("/api/sessions")).json()["sessions"]
    assert "X-Session-Id" not in silent.headers
    clip_id = spoken.headers["X-Session-Id"]
    assert [session["id"] for session in listed] in ([], [clip_id])
    assert await audio_of(gateway, clip_id) == wav_samples(spoken.content) != b""
    async with gateway.stream(text=TEXT, seed=7, record=True) as stream:
        assert await stream.receive_rest() == 1000
    stream_id = stream.of_type("started")[0]["session_id"]
    assert stream.messages[-1]["session_id"] == stream_id != clip_id
    assert await audio_of(gateway, stream_id, "/0") == stream.pcm == pcm_of(TEXT, 7)
    found = await session_of(gateway, stream_id)
    assert (found["session"]["state"], found["session"]["outcome"]) == ("complete", "stop")
    assert found["timeline"]["utterances"][0]["text"] == TEXT
    async with gateway.stream(text=TEXT) as stream:
        await stream.receive_rest()
    assert stream.messages[-1]["session_id"] is None


async def test_the_setting_decides_for_those_who_do_not_ask(start: StartFleet, tmp_path: Path) -> None:
    workers = [start.worker(step_ms=5)]
    off = start.gateway(workers, data_dir=tmp_path, record_sessions="off").wait_until_serving(1)
    everything = start.gateway(workers, data_dir=tmp_path, record_sessions="all").wait_until_serving(1)
    speech = {"model": "tts-1", "input": TEXT, "response_format": "pcm"}
    async with off.http() as http, everything.http() as recording:
        refused = check_error(await http.post("/tts", json={"text": TEXT, "record": True}), 422)
        assert (refused["param"], refused["code"]) == ("record", "recording_off")
        assert "X-Session-Id" not in (await http.post("/v1/audio/speech", json=speech)).headers
        spoken = await recording.post("/v1/audio/speech", json=speech)
        asked = {**speech, "record": True}
        assert check_error(await http.post("/v1/audio/speech", json=asked), 422)["code"] == "recording_off"
        assert "X-Session-Id" in (await recording.post("/v1/audio/speech", json=asked)).headers
    assert await audio_of(everything, spoken.headers["X-Session-Id"]) == spoken.content
    async with off.stream(text=TEXT, record=True) as stream:
        assert await stream.receive_rest() == 1008
    assert await audio_of(off, spoken.headers["X-Session-Id"]) == spoken.content, "gateways share the data"


async def test_a_killed_gateway_leaves_a_recording_that_can_be_read(
    start: StartFleet, tmp_path: Path
) -> None:
    gateway, workers = start(1, step_ms=40, gateway={"data_dir": tmp_path})
    async with gateway.http() as http:
        whole = await http.post("/tts", json={"text": TEXT, "seed": 7, "format": "pcm", "record": True})
    async with gateway.stream(text=LONG_TEXT, seed=7, record=True) as stream:
        cut_id = (await stream.receive_type("started"))["session_id"]
        while len(stream.pcm) < 48000:
            await stream.receive()
        await wait_for_state(gateway, cut_id, "active")
        gateway.kill()
        await stream.receive_rest()
    folder = tmp_path / "sessions" / cut_id
    left = (folder / "merged.wav").read_bytes()
    header = read_header(left)
    assert header_data_bytes(header) in range(len(left) - len(header) - 7680, len(left) - len(header) + 1)

    again = start.gateway(workers, data_dir=tmp_path).wait_until_serving(1)
    found = await wait_for_state(again, cut_id, "interrupted")
    assert found["session"]["reason"] == "gateway_died" and found["timeline"]["outcome"] is None
    kept = await audio_of(again, cut_id)
    assert len(kept) >= 48000 and pcm_of(LONG_TEXT, 7).startswith(kept)
    assert found["session"]["audio_seconds"] > 0 and found["session"]["ended_at"] is not None
    assert found["timeline"]["utterances"][0]["text"] == LONG_TEXT
    assert (await session_of(again, whole.headers["X-Session-Id"]))["session"]["state"] == "complete"
    assert await audio_of(again, whole.headers["X-Session-Id"]) == whole.content


async def test_a_stream_that_is_cancelled_is_recorded_as_far_as_it_came(
    start: StartFleet, tmp_path: Path
) -> None:
    gateway, _ = start(1, step_ms=40, gateway={"data_dir": tmp_path})
    async with gateway.stream(text=LONG_TEXT, seed=7, record=True) as stream:
        await stream.receive_audio()
        await stream.cancel()
        await stream.receive_rest()
    session_id = stream.of_type("started")[0]["session_id"]
    found = await wait_for_state(gateway, session_id, "complete")
    assert found["session"]["outcome"] == "client_gone"
    kept = await audio_of(gateway, session_id)
    assert pcm_of(LONG_TEXT, 7).startswith(kept) and kept.startswith(stream.pcm)


async def test_sessions_are_cleaned_up_by_hand_beside_a_running_gateway(
    start: StartFleet, tmp_path: Path
) -> None:
    gateway, _ = start(1, step_ms=100, gateway={"data_dir": tmp_path})
    ids = []
    for _ in range(3):
        async with gateway.http() as http:
            answer = await http.post("/tts", json={"text": "Short.", "record": True, "format": "pcm"})
        ids.append(answer.headers["X-Session-Id"])
        await wait_for_state(gateway, ids[-1], "complete")
    old, forgotten, kept = ids
    await change(tmp_path, old, created_at=datetime.now(UTC) - timedelta(days=8))
    await change(tmp_path, forgotten, used_at=datetime.now(UTC) - timedelta(days=1), size_bytes=10**9)
    await change(tmp_path, kept, size_bytes=15 * 10**8)
    async with gateway.stream(text=LONG_TEXT, record=True) as stream:
        active = (await stream.receive_type("started"))["session_id"]
        await wait_for_state(gateway, active, "active")
        await change(tmp_path, active, used_at=datetime.now(UTC) - timedelta(days=30))
        dry = clean(tmp_path, "--retention-days", "7", "--dry-run")
        assert old in dry and "would remove 1 sessions" in dry
        assert len(list((tmp_path / "sessions").iterdir())) == 4
        assert old in clean(tmp_path, "--retention-days", "7")
        printed = clean(tmp_path, "--max-storage-gb", "2")
        assert forgotten in printed and kept not in printed and active not in printed
        await stream.cancel()
    assert not (tmp_path / "sessions" / old).exists() and not (tmp_path / "sessions" / forgotten).exists()
    async with gateway.http() as http:
        check_error(await http.get(f"/api/sessions/{old}"), 404)
    assert (await session_of(gateway, kept))["session"]["state"] == "complete"
    await wait_for_state(gateway, active, "complete")


async def change(data_dir: Path, session_id: str, **columns: Any) -> None:
    """Another time for a session, as if it had passed."""
    database = Database(f"sqlite:///{data_dir}/voxfleet.db")
    await database.open()
    await SessionIndex(database).change(session_id, **columns)
    await database.close()
