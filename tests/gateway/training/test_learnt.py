"""What was learnt for a voice has the consent of the voice, and goes with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.training.conftest import CONSENT, clip
from tests.gateway.training.stage import made, running


async def adapters(http: httpx.AsyncClient) -> list[dict[str, Any]]:
    return (await http.get("/api/adapters")).json()["adapters"]


async def test_a_consent_that_is_withdrawn_holds_for_what_was_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as service, service.at() as http:
        row, voice = await made(service, monkeypatch)
        nobody = {"consent_by": None, "consent_statement": None}
        for said, agreed in ((nobody, None), (CONSENT, "Ann Example"), ({"name": "Ann"}, "Ann Example")):
            assert (await http.patch(f"/api/voices/{voice}", json=said)).status_code == 200
            consent = (await http.get(f"/api/adapters/{row.adapter_id}")).json()["consent"]
            assert (consent and consent["by"]) == agreed


async def test_what_was_learnt_is_kept_while_another_voice_speaks_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as service, service.at() as http:
        _, voice = await made(service, monkeypatch)
        form = {"name": "Other", "parameters": '{"adapter": "anna"}', **CONSENT}
        other = await http.post("/api/voices", data=form, files={"audio": ("a.wav", clip(seconds=6.0))})
        assert other.status_code == 201, other.text
        gone = await http.delete(f"/api/voices/{voice}")
        assert gone.status_code == 200 and len(await adapters(http)) == 1, "the other one speaks with it"


async def test_what_was_learnt_goes_with_its_voice_and_with_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as service, service.at() as http:
        row, voice = await made(service, monkeypatch)
        form = {"name": "Mine", "parameters": f'{{"adapter": "{row.adapter_id}"}}', **CONSENT}
        mine = await http.post("/api/voices", data=form, files={"audio": ("a.wav", clip(seconds=6.0))})
        assert (await http.delete(f"/api/voices/{mine.json()['id']}")).status_code == 200
        assert len(await adapters(http)) == 1, "it was not learnt for that voice"
        assert (await http.delete(f"/api/voices/{voice}")).status_code == 200
        assert await adapters(http) == []


async def test_a_training_names_its_voice_while_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as service, service.at() as http:
        row, voice = await made(service, monkeypatch)
        columns = {"adapter_id": row.adapter_id, "voice_id": voice}
        assert await service.trainings.store.change(row.id, [row.state], **columns)

        async def named() -> list[Any]:
            one = (await http.get(f"/api/trainings/{row.id}")).json()["training"]
            [listed] = (await http.get("/api/trainings")).json()["trainings"]
            assert (one["voice"], one["adapter"]) == (listed["voice"], listed["adapter"])
            return [listed["voice"], listed["adapter"]]

        assert await named() == [voice, row.adapter_id]
        assert (await http.delete(f"/api/voices/{voice}")).status_code == 200
        assert await named() == [None, None]
