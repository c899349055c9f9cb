"""S16: generated speech says that a model made it, in every container, also where workers took turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from gateway.audio.formats import AudioFormat
from gateway.audio.note import SOURCE_TYPE
from gateway.settings import load_settings
from tests.gateway.stages.processes import TEXT, GatewayProcess, StartFleet, started_fleets
from voxfleet.commands.detect import detect

RAW = ["alaw", "f32", "pcm", "ulaw"]
"""Bare samples, which have no place for a note."""
CONTAINERS = sorted(set(get_args(AudioFormat)) - set(RAW))


@pytest.fixture(scope="module")
def gateway() -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        running, _ = start(1, step_ms=1)
        yield running


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("format", CONTAINERS)
async def test_every_container_has_the_note(
    format: str, stream: bool, gateway: GatewayProcess, tmp_path: Path
) -> None:
    async with gateway.http() as http:
        answer = await http.post("/tts", json={"text": TEXT, "format": format, "stream": stream})
        assert SOURCE_TYPE in answer.headers["X-Audio-Provenance"]
    file = tmp_path / f"clip.{format}"
    file.write_bytes(answer.content)
    found = detect(file)
    assert found.note and found.generated
    assert found.software.startswith("VoxFleet") and TEXT.split()[0] not in found.software


@pytest.mark.parametrize("format", RAW)
async def test_raw_samples_have_it_in_a_header(format: str, gateway: GatewayProcess) -> None:
    async with gateway.http() as http:
        answer = await http.post("/tts", json={"text": TEXT, "format": format})
        other = await http.post("/v1/audio/speech", json={"input": TEXT, "model": "tts-1"})
    assert SOURCE_TYPE in answer.headers["X-Audio-Provenance"]
    assert SOURCE_TYPE in other.headers["X-Audio-Provenance"]


async def test_a_clip_that_moved_in_the_middle_has_it_too(start: StartFleet, tmp_path: Path) -> None:
    gateway, workers = start(2, step_ms=40)
    async with gateway.http() as http:
        body = {"text": TEXT * 3, "format": "mp3", "stream": True}
        async with http.stream("POST", "/tts", json=body) as answer:
            pieces = answer.aiter_raw()
            data = await anext(pieces)
            serving = next(worker for worker in workers if worker.health().slots_used)
            serving.kill()
            async for piece in pieces:
                data += piece
        metrics = (await http.get("/metrics")).text
    assert "voxfleet_migrations_total 1.0" in metrics
    (tmp_path / "clip.mp3").write_bytes(data)
    assert detect(tmp_path / "clip.mp3").note


async def test_it_is_there_unless_somebody_takes_it_away(start: StartFleet) -> None:
    assert load_settings().provenance_note
    gateway, _ = start(1, step_ms=1, gateway={"provenance_note": False})
    async with gateway.http() as http:
        answer = await http.post("/tts", json={"text": TEXT})
    assert "X-Audio-Provenance" not in answer.headers and SOURCE_TYPE.encode() not in answer.content
