"""A request that is repeated with its key makes nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from gateway.api.transfer.repeats import asked_for
from tests.gateway.audio.files import RATE, speech, wav
from tests.gateway.jobs.stage import Service, reading_worker, running
from tests.gateway.stages.processes import check_error
from worker.protocol import AdapterDescription

CONSENT = {"consent_by": "Ann Example", "consent_statement": "I agree."}
AUDIO = wav(speech(6.0), RATE)
KEY = {"Idempotency-Key": "6f9619ff-8b86-d011-b42d-00cf4fc964ff"}


@dataclass(frozen=True)
class Kind:
    """What is made at `path`, and what another request of the kind changes."""

    path: str
    order: dict[str, Any]
    other: dict[str, Any]
    file: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    async def ask(self, http: httpx.AsyncClient, **changes: Any) -> httpx.Response:
        fields = self.order | changes
        sent: dict[str, Any] = {"data": fields, "files": self.file} if self.file else {"json": fields}
        return await http.post(self.path, headers=KEY, **sent)

    async def kept(self, http: httpx.AsyncClient) -> int:
        (rows,) = [each for each in (await http.get(self.path)).json().values() if isinstance(each, list)]
        return len([row for row in rows if row["id"] != "default"])


KINDS = {
    "job": Kind("/api/jobs", {"text": "One. Two.", "title": "Numbers"}, {"text": "Three."}),
    "book": Kind("/api/books", {"title": "A book", "blocks": [{"text": "One."}]}, {"title": "Another"}),
    "training": Kind("/api/trainings", {"name": "Anna", **CONSENT}, {"name": "Bert"}),
    "voice": Kind("/api/voices", {"name": "Anna"}, {"name": "Bert"}, {"audio": ("a.wav", AUDIO)}),
    "consent": Kind(
        "/v1/audio/voice_consents",
        {"name": "Anna", "language": "en"},
        {"name": "Bert"},
        {"recording": ("a.wav", AUDIO)},
    ),
    "adapter": Kind(
        "/api/adapters",
        {"name": "Anna", "config": "{}"},
        {"name": "Bert"},
        {"weights": ("lora.safetensors", b"weights")},
    ),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def id_of(answer: httpx.Response) -> str:
    assert answer.is_success, answer.text
    told = answer.json()
    return (told.get("job") or told.get("training") or told)["id"]


@pytest.fixture(autouse=True)
def known_weights(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No worker here reads adapters."""

    async def examined(self: object, body: bytes, digest: str, model: str | None) -> AdapterDescription:
        about = {"model": "alpha", "model_revision": "1", "base": "b", "num_layers": 1, "num_parameters": 1}
        return AdapterDescription(digest=digest, rank=1, **about)

    monkeypatch.setattr("gateway.adapters.service.Adapters._examined", examined)
    yield


def stage(tmp_path: Path) -> Any:
    return running(tmp_path, reading_worker(), working=False, training_base="bundled")


async def test_a_repeated_request_gets_what_it_has_made(tmp_path: Path, kind: Kind) -> None:
    async with stage(tmp_path) as service, service.at() as http:
        first, again = await kind.ask(http), await kind.ask(http)
        assert id_of(first) == id_of(again)
        assert first.json() == again.json() and first.headers.get("Location") == again.headers.get("Location")
        assert await kind.kept(http) == 1


async def test_one_that_is_repeated_while_it_is_on_its_way_makes_one(tmp_path: Path, kind: Kind) -> None:
    async with stage(tmp_path) as service, service.at() as http:
        answers = await asyncio.gather(*(kind.ask(http) for _ in range(2)))
        assert len({id_of(answer) for answer in answers}) == 1
        assert await kind.kept(http) == 1
        assert len(folders(service, kind)) <= 1


def folders(service: Service, kind: Kind) -> list[Path]:
    """Of what is kept in a folder by its id."""
    place = service.jobs.folder.parent / kind.path.rpartition("/")[2]
    return [each for each in place.glob("[jt]_*") if each.is_dir()]


async def test_a_key_means_one_request_of_one_client(tmp_path: Path, kind: Kind) -> None:
    async with stage(tmp_path) as service, service.at() as http, service.at("10.9.9.9") as stranger:
        made = id_of(await kind.ask(http))
        error = check_error(await kind.ask(http, **kind.other), 422)
        assert (error["code"], error["param"]) == ("idempotency_key_reused", "Idempotency-Key")
        assert id_of(await kind.ask(stranger)) != made


async def test_with_what_was_made_its_key_is_forgotten(tmp_path: Path, kind: Kind) -> None:
    async with stage(tmp_path) as service, service.at() as http:
        made = id_of(await kind.ask(http))
        assert (await http.delete(f"{kind.path}/{made}")).is_success
        assert id_of(await kind.ask(http, **kind.other)) != made


def test_a_request_that_is_repeated_at_a_newer_gateway_is_the_same() -> None:
    class Order(BaseModel):
        text: str

    class NewerOrder(Order):
        speed: float = 1.0

    assert asked_for("a key", "ann", Order(text="Hi.")) == asked_for("a key", "ann", NewerOrder(text="Hi."))


async def test_who_has_no_room_for_more_gets_what_there_is(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker(), working=False, max_jobs_per_owner=1) as service:
        async with service.at() as http:
            made = id_of(await KINDS["job"].ask(http))
            assert id_of(await KINDS["job"].ask(http)) == made
            assert check_error(await http.post("/api/jobs", json={"text": "One."}), 429)


def recordings(place: Path) -> list[Path]:
    """Files of trainings."""
    return list(place.rglob("trainings/*/*/*.wav"))


async def test_a_recording_of_a_training_is_taken_once(tmp_path: Path) -> None:
    files, said = {"audio": ("a.wav", AUDIO)}, {"transcript": "What is said in it."}
    async with stage(tmp_path) as service, service.at() as http:
        paths = []
        for name in ("Anna", "Bert"):
            training = id_of(await http.post("/api/trainings", json={"name": name, **CONSENT}))
            paths.append(f"/api/trainings/{training}")
        ways = [http.post(f"{paths[0]}/recordings", headers=KEY, data=said, files=files) for _ in range(2)]
        one, again = await asyncio.gather(*ways)
        assert one.json()["recording"] == again.json()["recording"]
        assert len((await http.get(paths[0])).json()["training"]["recordings"]) == 1
        assert len(recordings(tmp_path)) == 1
        other = await http.post(f"{paths[1]}/recordings", headers=KEY, data=said, files=files)
        assert check_error(other, 422)["code"] == "idempotency_key_reused"


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", "a key is of ASCII characters, without spaces"),
        ("a b", "a key is of ASCII characters, without spaces"),
        ("a" * 256, "String should have at most 255 characters"),
    ],
)
async def test_what_is_no_key_is_refused(tmp_path: Path, key: str, why: str) -> None:
    async with running(tmp_path, reading_worker(), working=False) as service, service.at() as http:
        answer = await http.post("/api/jobs", json={"text": "One."}, headers={"Idempotency-Key": key})
        error = check_error(answer, 422)
        assert (error["param"], error["message"]) == ("Idempotency-Key", f"Idempotency-Key: {why}")
