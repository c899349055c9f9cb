"""`/api/adapters` of a real gateway with a CPU worker: who may do what, and what is heard."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.gateway.adapters.uploads import (
    CLIP,
    CONSENT,
    TEXT,
    WORKER,
    Trained,
    is_close,
    python_clips,
    samples,
    trained,
)
from tests.gateway.audio.files import speech, wav, wav_samples
from tests.gateway.callers.owners import API_KEYS, KEYS, client, owner
from tests.gateway.stages.processes import GatewayProcess, check_error, started_fleets
from tests.worker.process import wait_until
from voxfleet.client import Client

LIMIT = 1 << 20


@pytest.fixture(scope="module")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trained]:
    root = tmp_path_factory.mktemp("trained")
    return {"anna": trained(root / "anna", 0), "ben": trained(root / "ben", 1, rank=2)}


@pytest.fixture(scope="module")
def expected(adapters: dict[str, Trained]) -> dict[str, np.ndarray]:
    return python_clips(adapters)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def gateway(data_dir: Path) -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        settings = {
            "api_keys": API_KEYS,
            "data_dir": data_dir,
            "anonymous": False,
            "max_adapters_per_owner": 2,
            "max_adapter_bytes": LIMIT,
        }
        running, _ = start(1, gateway=settings, **WORKER)
        yield running
        assert not running.defects()


@pytest.fixture
def ann(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with owner(gateway, "ann", "adapters") as opened:
        yield opened


@pytest.fixture
def bob(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with client(gateway, KEYS["bob"]) as opened:
        yield opened


def spoken(http: httpx.Client, **fields: Any) -> bytes:
    response = http.post("/tts", json={"text": TEXT, "format": "pcm", **CLIP, **fields})
    assert response.status_code == 200, response.text
    return response.content


def refused(http: httpx.Client, status: int, **fields: Any) -> tuple[str, str]:
    error = check_error(http.post("/tts", json={"text": TEXT, "format": "pcm", **CLIP, **fields}), status)
    return error["code"], error["param"]


def test_clips_with_different_adapters_and_without_are_those_of_the_python_api(
    ann: httpx.Client, bob: httpx.Client, adapters: dict[str, Trained], expected: dict[str, np.ndarray]
) -> None:
    made = {name: adapter.create(ann, name) for name, adapter in adapters.items()}
    assert [made[name]["rank"] for name in ("anna", "ben")] == [4, 2]
    names = ["", "anna", "ben", "anna"]
    with ThreadPoolExecutor(len(names)) as threads:
        clips = list(threads.map(lambda name: spoken(bob, **({"adapter": name} if name else {})), names))
    for name, clip in zip(names, clips, strict=True):
        assert is_close(clip, expected[name]), name
    for reference in ("ANNA", made["anna"]["id"]):
        assert is_close(spoken(bob, adapter=reference), expected["anna"])
    assert not is_close(clips[1], expected[""])


def test_openai_clients_name_it_behind_the_model(
    ann: httpx.Client, adapters: dict[str, Trained], expected: dict[str, np.ndarray]
) -> None:
    made = adapters["anna"].create(ann, "anna")
    body = {"input": TEXT, "response_format": "pcm", "voice": "alloy", **CLIP}
    clips = {}
    for model in (f"{made['model']}:anna", made["model"], "tts-1", "tts-1:anna"):
        response = ann.post("/v1/audio/speech", json={**body, "model": model})
        assert response.status_code == 200, response.text
        clips[model] = response.content
    adapted, plain, other, elsewhere = clips.values()
    assert is_close(plain, samples(other)) and not is_close(plain, samples(adapted))
    assert is_close(adapted, samples(spoken(ann, adapter="anna", sample_rate=24_000)))
    assert is_close(adapted, samples(elsewhere))
    wrong = {
        f"{made['model']}:nobody": "unknown_adapter",
        "tts-1:nobody": "unknown_adapter",
        f"{made['model']}:": "unknown_model",
    }
    for model, code in wrong.items():
        error = check_error(ann.post("/v1/audio/speech", json={**body, "model": model}), 404)
        assert (error["code"], error["param"]) == (code, "model")
    body = {"text": TEXT, "model_id": "eleven_v2:nobody"}
    theirs = ann.post("/v1/text-to-speech/default", json=body).json()
    assert (theirs["detail"]["code"], theirs["detail"]["param"]) == ("unknown_adapter", "model_id")
    body = {"model": "tts-1", "input": TEXT, "adapter": "nobody"}
    error = check_error(ann.post("/v1/audio/speech", json=body), 404)
    assert (error["code"], error["param"]) == ("unknown_adapter", "adapter")


def call_as_before(gateway: GatewayProcess, id: str, name: str) -> None:
    """A name as former versions took it beside one in another case."""
    with closing(sqlite3.connect(Path(gateway.settings["data_dir"]) / "voxfleet.db", timeout=30)) as database:
        columns = (name, name.casefold(), id)
        database.execute("UPDATE adapters SET name = ?, folded_name = ? WHERE id = ?", columns)
        database.commit()


def test_models_with_adapters_are_listed_for_whom_may_speak_with_them(
    gateway: GatewayProcess, ann: httpx.Client, bob: httpx.Client, adapters: dict[str, Trained]
) -> None:
    made = adapters["anna"].create(ann, "anna")
    adapters["ben"].create(ann, "ben", consent_by=None, consent_statement=None)
    model = made["model"]

    def listed(http: httpx.Client) -> list[str]:
        return [entry["id"] for entry in http.get("/v1/models").json()["data"]]

    assert listed(ann) == listed(bob) == [model, f"{model}:anna"]
    assert bob.get(f"/v1/models/{model}:anna").json()["id"] == f"{model}:anna"
    assert check_error(bob.get(f"/v1/models/{model}:ben"), 404)["code"] == "model_not_found"
    with httpx.Client(base_url=gateway.url, trust_env=False) as nobody:
        assert listed(nobody) == [model]
        assert check_error(nobody.get(f"/v1/models/{model}:anna"), 404)["code"] == "model_not_found"
    with owner(gateway, "bob", "adapters"):
        another = adapters["ben"].create(bob, "Anne")
        call_as_before(gateway, another["id"], "Anna")
        assert listed(ann) == [model, *sorted(f"{model}:{id}" for id in (made["id"], another["id"]))]


def lacks_of(http: httpx.Client, voice: str) -> tuple[bool, str | None]:
    """What the list, and the voice itself, say of its use. Without any, other lists leave it out."""
    listed = {each["id"]: each for each in http.get("/api/voices").json()["voices"]}
    alone = http.get(f"/api/voices/{voice}").json()
    offered = [each["id"] for each in http.get("/v1/audio/voices").json()["voices"]]
    assert listed[voice]["lacks"] == alone["lacks"] and (voice in offered) is alone["usable"]
    return alone["usable"], alone["lacks"]


def test_a_voice_may_name_one(ann: httpx.Client, adapters: dict[str, Trained]) -> None:
    anna = adapters["anna"].create(ann, "anna")
    form = {"name": "Anna's", "parameters": json.dumps({"adapter": anna["id"]}), **CONSENT}
    voice = ann.post("/api/voices", data=form, files={"audio": ("a.wav", wav(speech(3.0)))}).json()
    with_both = spoken(ann, voice=voice["id"])
    assert is_close(spoken(ann, voice=voice["id"], adapter="anna"), samples(with_both))
    without = spoken(ann, voice=voice["id"], adapter="")
    assert not is_close(with_both, samples(without))
    assert lacks_of(ann, voice["id"]) == (True, None)
    assert ann.patch(f"/api/adapters/{anna['id']}", json={"consent_by": None}).status_code == 200
    assert lacks_of(ann, voice["id"]) == (False, "adapter")
    assert ann.delete(f"/api/adapters/{anna['id']}").status_code == 200
    assert lacks_of(ann, voice["id"]) == (False, "adapter")
    assert refused(ann, 404, voice=voice["id"]) == ("unknown_adapter", "adapter")
    assert is_close(spoken(ann, voice=voice["id"], adapter=""), samples(without))
    assert ann.delete(f"/api/voices/{voice['id']}").status_code == 200


def test_a_job_speaks_all_its_parts_with_it(ann: httpx.Client, adapters: dict[str, Trained]) -> None:
    adapters["anna"].create(ann, "anna")
    order = {"text": f"{TEXT}.\n\n{TEXT}.", "format": "wav", "seed": 3, "adapter": "anna"}
    whole, plain = (
        ann.post("/tts", json={**order, "adapter": adapter, "format": "pcm"}).content
        for adapter in ("anna", "")
    )
    id = ann.post("/api/jobs", json=order).json()["job"]["id"]
    wait_until(
        lambda: ann.get(f"/api/jobs/{id}").json()["job"]["state"] == "complete" or None, lambda: "not done"
    )
    spoken_by_job = wav_samples(ann.get(f"/api/jobs/{id}/result").content)
    assert is_close(spoken_by_job, samples(whole))
    assert not is_close(spoken_by_job, samples(plain))


def test_nobody_speaks_without_consent_and_it_can_be_withdrawn(
    ann: httpx.Client, bob: httpx.Client, adapters: dict[str, Trained]
) -> None:
    """S15."""
    made = adapters["anna"].create(ann, "anna", consent_by=None, consent_statement=None)
    path = f"/api/adapters/{made['id']}"
    assert made["consent"] is None and not made["usable"]
    assert refused(ann, 403, adapter="anna") == ("adapter_without_consent", "adapter")
    assert bob.get(path).status_code == 404
    statement = ann.get("/api/adapters/consent", params={"language": "zh-CN"}).json()
    consent = {"consent_by": "Ann", "consent_statement": statement["statement"]}
    changed = ann.patch(path, json={**consent, "description": "Calm."}).json()
    assert changed["usable"] and changed["consent"]["by"] == "Ann" and changed["description"] == "Calm."
    assert "consent" not in bob.get(path).json() and bob.get(path).json()["usable"]
    assert spoken(bob, adapter="anna")
    ann.patch(path, json={"consent_by": None, "consent_statement": None})
    assert refused(bob, 404, adapter="anna") == ("unknown_adapter", "adapter")
    assert refused(bob, 403, adapter=made["id"]) == ("adapter_without_consent", "adapter")
    adapters["anna"].create(ann, "Anna")
    assert spoken(bob, adapter="anna")


def test_only_its_owner_and_administrators_change_one(
    gateway: GatewayProcess, ann: httpx.Client, bob: httpx.Client, adapters: dict[str, Trained]
) -> None:
    made = adapters["anna"].create(ann, "anna")
    path = f"/api/adapters/{made['id']}"
    for response in (bob.patch(path, json={"description": "x"}), bob.delete(path)):
        assert check_error(response, 403)["code"] == "not_the_owner"
    with httpx.Client(base_url=gateway.url, headers=gateway.admin, trust_env=False) as admin:
        assert admin.get(path).json()["digest"] == made["digest"]
        assert admin.delete(path).json() == {"id": made["id"], "deleted": True}
    assert check_error(ann.get(path), 404)["code"] == "unknown_adapter"
    with httpx.Client(base_url=gateway.url, trust_env=False) as nobody:
        assert nobody.get("/api/adapters").status_code == 401
        assert adapters["anna"].upload(nobody, "x").status_code == 401


def test_limits_and_mistakes_are_told_with_the_field(
    ann: httpx.Client, adapters: dict[str, Trained], tmp_path: Path
) -> None:
    anna = adapters["anna"]

    def error_of(status: int, name: str = "other", **fields: Any) -> dict[str, Any]:
        return check_error(anna.upload(ann, name, **fields), status)

    anna.create(ann, "anna")
    assert error_of(409, "anna")["code"] == "name_taken"
    assert error_of(422, "")["param"] == error_of(422, "a_0123456789abcdef")["param"] == "name"
    assert error_of(422, config=None)["param"] == "config"
    assert error_of(422, config="{]")["param"] == error_of(422, config="[1]")["param"] == "config"
    assert error_of(422, consent_by=None)["param"] == "consent_by"
    assert error_of(422, path="/etc/passwd")["param"] == "path"
    assert error_of(404, model="nobody")["param"] == "model"
    config = json.loads((anna.folder / "lora_config.json").read_text())
    other_rank = {**config, "lora_config": {**config["lora_config"], "r": 3}}
    refusal = error_of(422, config=json.dumps(other_rank))
    assert (refusal["code"], refusal["param"]) == ("invalid_adapter", "adapter")
    assert "rank 3 want" in refusal["message"]
    form = {"name": "large", "config": json.dumps(config)}
    large = ann.post("/api/adapters", data=form, files={"weights": ("w", bytes(LIMIT + 1))})
    assert (check_error(large, 413)["code"], large.json()["error"]["param"]) == ("too_large", "weights")
    assert check_error(ann.post("/api/adapters", data=form), 422)["param"] == "weights"
    anna.create(ann, "second")
    assert error_of(409, "third")["code"] == "too_many_adapters"
    assert refused(ann, 404, adapter="nobody") == ("unknown_adapter", "adapter")
    assert refused(ann, 422, adapter="n" * 129) == ("invalid_value", "adapter")
    assert refused(ann, 422, adapter=["anna"])[1] == "adapter"
    job = check_error(ann.post("/api/jobs", json={"text": TEXT, "adapter": "nobody"}), 404)
    assert job["param"] == "adapter"


def test_our_own_client_sends_a_folder_and_speaks_with_it(
    gateway: GatewayProcess, ann: httpx.Client, adapters: dict[str, Trained], expected: dict[str, np.ndarray]
) -> None:
    with Client(gateway.url, api_key=KEYS["ann"]) as own:
        made = own.create_adapter("anna", adapters["anna"].folder, **CONSENT)
        assert is_close(own.speak(TEXT, adapter="anna", format="pcm", **CLIP).audio, expected["anna"])
        assert [adapter["name"] for adapter in own.adapters()] == ["anna"]
        own.delete_adapter(made["id"])
        assert own.adapters() == []
        with pytest.raises(FileNotFoundError, match=r"lora_config.json nor adapter_config.json"):
            own.create_adapter("anna", adapters["anna"].folder.parent)


def test_a_file_that_no_adapter_uses_is_deleted(
    data_dir: Path, ann: httpx.Client, adapters: dict[str, Trained]
) -> None:
    first, second = (adapters["anna"].create(ann, name) for name in ("one", "two"))
    file = data_dir / "adapters" / f"{first['digest']}.adapter"
    ann.delete(f"/api/adapters/{first['id']}")
    assert file.is_file()
    ann.delete(f"/api/adapters/{second['id']}")
    assert not file.exists()


def test_workers_that_take_none_are_told_of_before_anybody_waits() -> None:
    with started_fleets() as start:
        gateway, _ = start(1, step_ms=1)
        with httpx.Client(base_url=gateway.url, trust_env=False) as http:
            form = {"name": "anna", "config": "{}"}
            response = http.post("/api/adapters", data=form, files={"weights": ("w", b"weights")})
            error = check_error(response, 422)
        assert (error["code"], error["param"]) == ("adapters_unsupported", "adapter")
