"""S2: each route of what has an owner, asked by others: they see nothing of it, and change nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from gateway.database import (
    Adapter,
    Book,
    BookBlock,
    Job,
    Session,
    Training,
    TrainingRecording,
    Voice,
    VoiceConsent,
)
from gateway.database.tables import Base, OwnerLexicon
from tests.security.access.route_table import OWNED
from tests.security.apps import Opened, running_app

KEYS = {name: {"key": f"the-key-of-{name}-0123456789"} for name in ("ann", "bob")}
ANN, BOB = ({"X-API-Key": KEYS[name]["key"]} for name in ("ann", "bob"))
METRICS_TOKEN = "metrics-and-nothing-else"
SECRET = "nobody-else-reads-this"
LONG = "A" * 22
TAKE = f"j_{LONG[1:]}B"
NAMED: dict[str, Any] = {"owner": "key:ann", "description": SECRET}
HERS = (
    Voice(id="v_" + "a" * 16, name="one", audio_sha256="a" * 64, audio_seconds=3, loudness_lufs=-20, **NAMED),
    Voice(id="v_" + "b" * 16, name="two", audio_sha256="b" * 64, audio_seconds=3, loudness_lufs=-20, **NAMED),
    Adapter(
        id="a_" + "a" * 16, name="three", digest="c" * 64, model="m", model_revision="r",
        rank=1, num_layers=1, num_parameters=1, size_bytes=1, **NAMED,
    ),
    VoiceConsent(id="cons_" + "a" * 16, name=SECRET, language="en", owner="key:ann", audio_sha256="d" * 64),
    Session(id=f"s_{LONG}", kind="clip", title=SECRET, owner="key:ann", state="complete", utterances=1),
    Job(id=f"j_{LONG}", owner="key:ann", title=SECRET, state="complete"),
    Job(id=TAKE, owner="key:ann", title=SECRET, state="complete", book_id=f"b_{LONG}", block_id="p_1"),
    Book(id=f"b_{LONG}", owner="key:ann", title=SECRET, voice="default"),
    BookBlock(
        id="p_1", book_id=f"b_{LONG}", position=0, kind="paragraph", text=SECRET, pause_ms=0, said="e" * 64
    ),
    Training(
        id=f"t_{LONG}", owner="key:ann", name=SECRET, consent_by=SECRET, consent_statement=SECRET,
        steps=1, recordings=1,
    ),
    TrainingRecording(
        id=f"r_{LONG}", training_id=f"t_{LONG}", name=SECRET, transcript=SECRET, audio_seconds=3
    ),
    OwnerLexicon(owner="key:ann", entries={"word": SECRET}),
)  # fmt: skip
IDS = {
    "/api/voices": "v_" + "a" * 16,
    "/v1/audio/voices": "v_" + "b" * 16,
    "/api/adapters": "a_" + "a" * 16,
    "/v1/audio/voice_consents": "cons_" + "a" * 16,
    "/api/sessions": f"s_{LONG}",
    "/api/jobs": f"j_{LONG}",
    "/api/books": f"b_{LONG}",
    "/api/trainings": f"t_{LONG}",
}
PARTS = {
    "block": "p_1", "take": TAKE, "recording": f"r_{LONG}", "sample": "best-1", "index": "0",
    "form": "json",
}  # fmt: skip
BODIES: dict[tuple[str, str], Any] = {
    ("PATCH", "/api/voices/{id}"): {"description": "x"},
    ("PATCH", "/api/adapters/{id}"): {"description": "x"},
    ("PATCH", "/api/sessions/{id}"): {"title": "x"},
    ("PATCH", "/api/books/{id}"): {"title": "x"},
    ("PUT", "/api/books/{id}/blocks"): {"version": 1, "blocks": [{"text": "x"}]},
    ("PUT", "/api/books/{id}/blocks/{block}/take"): {"take": PARTS["take"]},
    ("POST", "/v1/audio/voice_consents/{id}"): {"name": "x"},
}
MORE = {("GET", "/api/voices/{id}"), ("GET", "/api/voices/{id}/preview")}
"""Public routes, for voices that somebody has agreed to."""
REFUSALS = {
    f"unknown_{noun}" for noun in ("voice", "adapter", "consent", "session", "job", "book", "training")
}


def by_harm(row: tuple[str, str]) -> tuple[bool, bool, int]:
    """What takes something away comes last, a part before the whole."""
    method, path = row
    return method == "DELETE", path.endswith("/blocks"), -len(path)


OF_A_ROW = sorted((row for row in OWNED | MORE if "{id}" in row[1]), key=by_harm)
LISTS = sorted(path for method, path in OWNED if method == "GET" and "{" not in path)


def concrete(path: str) -> str:
    room = path.partition("/{id}")[0]
    path = path.replace("{id}", IDS[room])
    for name, value in PARTS.items():
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path
    return path


async def asked(http: httpx.AsyncClient, row: tuple[str, str]) -> tuple[int, str]:
    """Status of the answer, and its code where it is an error."""
    answer = await http.request(row[0], concrete(row[1]), json=BODIES.get(row, {}))
    if answer.is_success:
        return answer.status_code, ""
    return answer.status_code, answer.json()["error"]["code"]


async def everything(app: FastAPI) -> str:
    """All rows of the tables, but for when they were last used."""
    async with app.state.gateway.database.transaction() as rows:
        found = [
            [dict(row) for row in (await rows.execute(select(table))).mappings()]
            for table in Base.metadata.sorted_tables
            if table.name in {type(row).__tablename__ for row in HERS}
        ]
    for row in (row for table in found for row in table):
        row.pop("used_at", None)
    return json.dumps(found, default=str)


@pytest.fixture
async def hers(tmp_path: Path) -> AsyncIterator[tuple[FastAPI, Opened]]:
    """A gateway with something of Ann's of every kind."""
    options = {"api_keys": KEYS, "metrics_token": METRICS_TOKEN}
    async with running_app(tmp_path, **options) as (app, opened):
        async with app.state.gateway.database.transaction() as rows:
            for row in HERS:
                columns = {column.name: getattr(row, column.name) for column in row.__table__.columns}
                rows.add(type(row)(**{name: value for name, value in columns.items() if value is not None}))
        recording = app.state.gateway.voices.store.path("a" * 64)
        recording.parent.mkdir(parents=True, exist_ok=True)
        recording.write_bytes(b"RIFF")
        yield app, opened


@pytest.mark.parametrize("headers", [BOB, {}, {"X-API-Key": "nobody-s-key"}, {"X-API-Key": METRICS_TOKEN}])
async def test_what_is_somebody_s_is_there_for_nobody_else(
    hers: tuple[FastAPI, Opened], headers: dict[str, str]
) -> None:
    app, opened = hers
    before = await everything(app)
    assert SECRET in before
    async with opened(**headers) as http:
        for row in OF_A_ROW:
            status, code = await asked(http, row)
            allowed = REFUSALS if headers in (BOB, {}) else {"invalid_api_key"}
            assert status in (401, 404) and code in allowed, (row, status, code)
        for path in LISTS:
            assert SECRET not in (await http.get(path)).text, path
        await http.put("/api/lexicon", json={"entries": {"word": "x"}})
        await http.delete("/api/lexicon/words/word")
        await http.delete("/api/lexicon")
    assert await everything(app) == before


async def test_its_owner_finds_it_at_each_of_these_routes(hers: tuple[FastAPI, Opened]) -> None:
    """Else nobody's refusal above would say anything."""
    _, opened = hers
    async with opened(**ANN) as http:
        for path in LISTS:
            assert SECRET in (await http.get(path)).text, path
        for row in OF_A_ROW:
            status, code = await asked(http, row)
            assert code not in REFUSALS | {"invalid_api_key", "not_the_owner"}, (row, status, code)
