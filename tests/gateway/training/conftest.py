"""Recordings as a client sends them, and trainings that take seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from tests.gateway.audio.files import wav
from tests.models.finetuning.conftest import RATE, WORDS, voiced

CONSENT = {"consent_by": "Ann Example", "consent_statement": "I agree."}
SECONDS = 2.2
ENOUGH = 14
"""Recordings of so many seconds; the small model takes hardly longer ones."""


def begin(http: httpx.Client, **fields: Any) -> str:
    """The id of a new training."""
    response = http.post("/api/trainings", json={"name": "Anna", "steps": 2, **CONSENT, **fields})
    assert response.status_code == 201, response.text
    training = response.json()["training"]
    assert response.headers["Location"] == f"/api/trainings/{training['id']}"
    assert (training["state"], training["recordings"]) == ("collecting", 0)
    return training["id"]


def clip(number: int = 0, seconds: float = SECONDS) -> bytes:
    return wav(voiced(seconds, 110 + number, seed=number), RATE)


def send(http: httpx.Client, training: str, audio: bytes, **fields: str) -> httpx.Response:
    form = {"transcript": WORDS * 2, **fields}
    return http.post(f"/api/trainings/{training}/recordings", data=form, files={"audio": ("a.wav", audio)})


def fill(http: httpx.Client, training: str, count: int = ENOUGH) -> None:
    for number in range(count):
        response = send(http, training, clip(number), name=f"clip {number}.wav")
        assert response.status_code == 201, response.text


def told(http: httpx.Client, training: str) -> dict[str, Any]:
    return http.get(f"/api/trainings/{training}").json()["training"]


def write_recordings(folder: Path) -> Path:
    """Two recordings with a transcript beside each, and something else."""
    folder.mkdir()
    for number in range(2):
        (folder / f"{number:02}.wav").write_bytes(clip(number))
        (folder / f"{number:02}.txt").write_text(WORDS * 2)
    (folder / "notes.md").write_text("no recording")
    return folder


def processes_of(folder: Path) -> list[int]:
    """Those whose command line names the folder of a training."""
    found = []
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = status.read_bytes().split(b"\0")
        except OSError:
            continue
        if str(folder).encode() in words:
            found.append(int(status.parent.name))
    return found
