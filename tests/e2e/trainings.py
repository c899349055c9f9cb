"""Trainings as the API tells them, in every state, for pages that show them."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

LIMITS = {
    "recordings": 1000,
    "minutes": 60.0,
    "recording_seconds": 30.0,
    "recording_bytes": 20 << 20,
    "steps": 5000,
}
RECORDINGS = [
    {"id": f"r_{number}", "name": f"clip {number}.wav", "transcript": "Doors open at nine."}
    for number in range(4)
]
PROGRESS: dict[str, Any] = {
    "stage": "training",
    "step": 220,
    "seconds_left": 431.0,
    "seconds_per_step": 1.13,
    "cpu_share": 0.96,
    "seconds_of_speech": 402.0,
    "recordings_used": 71,
    "first_loss": 2.113,
    "best_loss": 1.402,
    "best_step": 200,
    "losses": [[20 * step, 1.4 + 0.7 * 0.8**step] for step in range(12)],
    "findings": [
        {"kind": "mismatch", "message": "2 recordings left out", "recordings": ["r_0", "r_1"]},
        {"kind": "noisy", "message": "1 recording with loud noise", "recordings": ["r_2"]},
    ],
    "samples": [
        {"id": "0000200-1", "step": 200, "text": "The first train leaves a little before six."},
        {"id": "0000100-1", "step": 100, "text": "The first train leaves a little before six."},
    ],
}


def training(name: str, state: str, **fields: Any) -> dict[str, Any]:
    ended = None if state in ("queued", "running") else "2026-05-01T10:20:00+00:00"
    return {
        "id": f"t_{name}",
        "name": name,
        "language": "en",
        "state": state,
        "created_at": "2026-05-01T10:00:00+00:00",
        "started_at": "2026-05-01T10:01:00+00:00",
        "ended_at": ended,
        "recordings": 73,
        "audio_seconds": 415.0,
        "size_bytes": 20_000_000,
        "steps": 600,
        "progress": PROGRESS,
        "error": None,
        "adapter": None,
        "voice": None,
        "owner_is_me": True,
        **fields,
    }


DONE = {**PROGRESS, "stage": "finishing", "step": 600, "seconds_left": 0.0, "findings": []}
UNUSABLE = {"code": "recordings_unusable", "message": "12 s of speech can be used"}
EVERY_STATE = [
    training("Anna", "running"),
    training("Ben", "queued", progress=None),
    training("Carla", "complete", progress=DONE, voice="v_carla"),
    training("Doris", "failed", progress=None, error=UNUSABLE),
    training("Emil", "cancelled", progress={**PROGRESS, "samples": []}),
    training("Fritz", "collecting", progress=None),
    training("Greta", "complete", progress=DONE),
]


def answer_with(page: Page, trainings: list[dict[str, Any]], *, enabled: bool = True) -> None:
    """Have the page be told of these."""
    told = {"trainings": trainings, "enabled": enabled, "limits": LIMITS}
    _answer(page, "**/api/trainings", told)
    for one in trainings:
        _answer(page, f"**/api/trainings/{one['id']}", {"training": {**one, "recordings": RECORDINGS}})


def _answer(page: Page, address: str, told: dict[str, Any]) -> None:
    page.route(address, lambda route: route.fulfill(json=told))
