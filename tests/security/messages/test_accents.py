"""S20: accents that follow each other are put in order in as many steps as they are, squared, by Python's
`unicodedata`, which nothing interrupts: a lexicon of 80 KB held up a gateway for three seconds, 1 MB for ten
minutes.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from tests.gateway.sessions.clients import running
from tests.gateway.stages.processes import check_error

ACCENTS = "\u0300\u0316"
MANY = "e" + ACCENTS * 4000
MOST_AT_ONCE = 1000


async def test_very_many_accents_hold_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths, normalize = [], unicodedata.normalize

    def noted(form: str, text: str) -> str:
        lengths.append(len(text))
        return normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", noted)
    async with running(tmp_path) as clients, clients.at("10.0.0.1") as http:
        entries = {MANY: "x"}
        check_error(await http.post("/tts", json={"text": "Hello.", "lexicon": entries}), 422)
        check_error(await http.put("/api/lexicon", json={"entries": entries}), 422)
        check_error(await http.put(f"/api/lexicon/words/{MANY}", json={"spoken": "x"}), 422)
        block = {"text": "Hello.", "pronunciations": entries}
        check_error(await http.post("/api/books", json={"title": "A", "blocks": [block]}), 422)
        session_id = await clients.record("10.0.0.1", f"{MANY} Cafe\u0301")
        answer = await http.get("/api/sessions", params={"search": "CAFÉ"})
    assert [session["id"] for session in answer.json()["sessions"]] == [session_id]
    assert 0 < max(lengths) <= MOST_AT_ONCE


async def test_a_word_is_as_long_as_it_is_seen(tmp_path: Path) -> None:
    """However its accents are written."""
    async with running(tmp_path) as clients, clients.at("10.0.0.1") as http:
        written = unicodedata.normalize("NFD", "ệ" * 64)
        answer = await http.put("/api/lexicon", json={"entries": {written: "x"}})
    assert answer.json()["entries"] == {"ệ" * 64: "x"}
