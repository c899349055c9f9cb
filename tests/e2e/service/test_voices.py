"""A voice is cloned: a recording goes up, consent is given, and the bundled model speaks with it."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import soundfile

from benchmarks.voice.judging.measures import SAMPLE_RATE, median_pitch
from models.voxcpm.vae.audio_encoding import resample
from tests.e2e.processes import Server, gateway, worker

RECORDED = (
    "My name does not matter, but the sound of my voice does. "
    "I agree that it is used by this service to speak whatever people write."
)
TEXT = "We will meet again tomorrow morning at the station."


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = str(tmp_path_factory.mktemp("data"))
    with worker(model="bundled") as one, gateway([one.url], VOXFLEET_DATA_DIR=data) as running:
        yield running


def record(directory: Path, speaker: str) -> bytes:
    """A wav file of one of flite's speakers."""
    path = directory / f"{speaker}.wav"
    subprocess.run(["flite", "-voice", speaker, "-t", RECORDED, "-o", str(path)], check=True, timeout=60)
    return path.read_bytes()


def pitch_of(wav: bytes) -> float:
    samples, rate = soundfile.read(io.BytesIO(wav), dtype="float32")
    return median_pitch(resample(samples, rate, SAMPLE_RATE))


@pytest.mark.parametrize(("speaker", "transcript"), [("slt", ""), ("rms", RECORDED)])
def test_a_cloned_voice_has_the_pitch_of_its_recording(
    edge: Server, tmp_path: Path, speaker: str, transcript: str
) -> None:
    recording = record(tmp_path, speaker)
    with httpx.Client(base_url=edge.url, timeout=120, trust_env=False) as http:
        created = http.post(
            "/api/voices",
            files={"audio": (f"{speaker}.wav", recording, "audio/wav")},
            data={"name": speaker.upper(), "language": "en", "transcript": transcript},
        )
        assert created.status_code == 201, created.text
        assert not [check for check in created.json()["checks"] if check["severity"] == "warning"]
        order = {"text": TEXT, "voice": speaker.upper(), "seed": 5}
        refused = http.post("/tts", json=order)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "voice_without_consent")
        consent = {
            "consent_by": "A synthetic speaker",
            "consent_statement": http.get("/api/voices/consent").json()["statement"],
        }
        path = f"/api/voices/{created.json()['id']}"
        assert http.patch(path, json=consent).json()["usable"]
        spoken = http.post("/tts", json=order)
        assert spoken.status_code == 200, spoken.text
        assert spoken.headers["X-Finish-Reason"] == "stop"
        default = http.post("/tts", json=order | {"voice": "default"}).content
    assert pitch_of(spoken.content) == pytest.approx(pitch_of(recording), rel=0.1)
    assert pitch_of(default) > 1.05 * pitch_of(spoken.content)
