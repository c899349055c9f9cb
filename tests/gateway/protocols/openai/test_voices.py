"""Consents and voices as OpenAI's clients make them, against a real gateway."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.audio.files import encoded, speech
from tests.gateway.callers.owners import API_KEYS, KEYS
from tests.gateway.stages.processes import GatewayProcess, check_error, started_fleets

CONSENTS, VOICES = "/v1/audio/voice_consents", "/v1/audio/voices"
SPOKEN, SAMPLE = encoded("webm", speech(4.0)), encoded("webm", speech(6.0))


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def gateway(data_dir: Path) -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        settings = {"api_keys": API_KEYS, "anonymous": "false", "data_dir": data_dir}
        settings["max_voices_per_owner"] = 2
        running, _ = start(1, step_ms=1, gateway=settings)
        yield running
        assert not running.defects()


@pytest.fixture
def ann(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    """Whose voices and consents are gone after the test."""
    with client(gateway, KEYS["ann"]) as opened:
        yield opened
        for voice in opened.get("/api/voices").json()["voices"]:
            if voice["owner_is_me"]:
                assert opened.delete(f"{VOICES}/{voice['id']}").json()["deleted"]
        for row in opened.get(CONSENTS).json()["data"]:
            assert opened.delete(f"{CONSENTS}/{row['id']}").json()["deleted"]


@pytest.fixture
def bob(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with client(gateway, KEYS["bob"]) as opened:
        yield opened


def client(gateway: GatewayProcess, key: str) -> httpx.Client:
    return httpx.Client(
        base_url=gateway.url, timeout=30, trust_env=False, headers={"Authorization": f"Bearer {key}"}
    )


def agree(who: httpx.Client, **fields: Any) -> httpx.Response:
    data = {"name": "Ann Example", "language": "en-US", **fields}
    return who.post(CONSENTS, data=data, files={"recording": ("me.webm", SPOKEN, "audio/webm")})


def make(who: httpx.Client, consent: str, **fields: Any) -> httpx.Response:
    data = {"name": "Annie", "consent": consent, **fields}
    return who.post(VOICES, data=data, files={"audio_sample": ("me.webm", SAMPLE, "audio/webm")})


def test_a_voice_is_made_under_a_consent_and_spoken(ann: httpx.Client, data_dir: Path) -> None:
    consent = agree(ann).json()
    assert consent.keys() == {"object", "id", "name", "language", "created_at"}
    assert (consent["object"], consent["language"]) == ("audio.voice_consent", "en-US")
    voice = make(ann, consent["id"], type="audio_sample").json()
    assert (voice["object"], voice["type"], voice["name"]) == ("audio.voice", "audio_sample", "Annie")
    said = ann.get(f"/api/voices/{voice['id']}").json()
    assert said["language"] == "en-US" and said["consent"]["by"] == "Ann Example"
    assert consent["id"] in said["consent"]["statement"]
    body = {"model": "tts-1", "input": "Yes.", "voice": {"id": voice["id"]}}
    assert ann.post("/v1/audio/speech", json=body).status_code == 200
    gone = ann.delete(f"{VOICES}/{voice['id']}").json()
    assert gone == {"object": "audio.voice.deleted", "id": voice["id"], "deleted": True}
    assert ann.post("/v1/audio/speech", json=body).status_code == 404
    assert len(list((data_dir / "voices" / "consents").iterdir())) == 1


def test_fields_of_vllm_omni_are_those_of_ours(ann: httpx.Client) -> None:
    words = {"ref_text": "What is said.", "speaker_description": "warm narrator"}
    id = make(ann, agree(ann).json()["id"], **words).json()["id"]
    said = ann.get(f"/api/voices/{id}").json()
    assert (said["transcript"], said["description"]) == ("What is said.", "warm narrator")


def test_the_recording_goes_with_its_last_consent_and_the_voice_stays(
    ann: httpx.Client, data_dir: Path
) -> None:
    first, second = agree(ann).json()["id"], agree(ann, name="Again").json()["id"]
    voice = make(ann, first).json()["id"]
    for id, files in ((first, 1), (second, 0)):
        assert ann.delete(f"{CONSENTS}/{id}").json() == {
            "object": "audio.voice_consent", "id": id, "deleted": True
        }  # fmt: skip
        assert len(list((data_dir / "voices" / "consents").iterdir())) == files
    check_error(ann.get(f"{CONSENTS}/{first}"), 404)
    assert ann.get(f"/api/voices/{voice}").json()["usable"]


def test_consents_are_listed_in_pages_and_renamed(ann: httpx.Client) -> None:
    old, new = agree(ann).json()["id"], agree(ann).json()["id"]
    page = ann.get(CONSENTS, params={"limit": 1}).json()
    assert ([row["id"] for row in page["data"]], page["has_more"], page["last_id"]) == ([new], True, new)
    rest = ann.get(CONSENTS, params={"limit": 1, "after": new}).json()
    assert ([row["id"] for row in rest["data"]], rest["has_more"]) == ([old], False)
    assert ann.post(f"{CONSENTS}/{old}", json={"name": "Renamed"}).json()["name"] == "Renamed"
    assert ann.get(f"{CONSENTS}/{old}").json()["name"] == "Renamed"
    assert check_error(agree(ann), 409)["code"] == "too_many_consents"


def test_consents_and_voices_are_nobody_else_s(ann: httpx.Client, bob: httpx.Client) -> None:
    consent = agree(ann).json()["id"]
    voice = make(ann, consent).json()["id"]
    assert bob.get(CONSENTS).json()["data"] == []
    check_error(bob.get(f"{CONSENTS}/{consent}"), 404)
    check_error(bob.post(f"{CONSENTS}/{consent}", json={"name": "x"}), 404)
    check_error(bob.delete(f"{CONSENTS}/{consent}"), 404)
    assert check_error(make(bob, consent), 404)["code"] == "unknown_consent"
    check_error(bob.delete(f"{VOICES}/{voice}"), 403)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"name": ""}, "name"),
        ({"language": "the second"}, "language"),
        ({"more": "x"}, "more"),
    ],
)
def test_what_is_wrong_with_a_consent_is_named(ann: httpx.Client, fields: dict[str, str], param: str) -> None:
    assert check_error(agree(ann, **fields), 422)["param"] == param


@pytest.mark.parametrize(
    ("fields", "param", "status"),
    [
        ({"consent": "cons_0000000000000000"}, "consent", 404),
        ({"consent": "../x"}, "consent", 404),
        ({"type": "prompt"}, "type", 422),
        ({"more": "x"}, "more", 422),
    ],
)
def test_what_is_wrong_with_a_voice_is_named(
    ann: httpx.Client, fields: dict[str, str], param: str, status: int
) -> None:
    assert check_error(make(ann, **{"consent": "", **fields}), status)["param"] == param


def test_a_recording_is_needed_and_audio(ann: httpx.Client) -> None:
    data = {"name": "Ann", "language": "en"}
    assert check_error(ann.post(CONSENTS, data=data), 422)["param"] == "recording"
    noise = {"recording": ("x.wav", b"x" * 5000, "audio/wav")}
    check_error(ann.post(CONSENTS, data=data, files=noise), 422)


def test_who_is_nobody_makes_nothing(gateway: GatewayProcess) -> None:
    with httpx.Client(base_url=gateway.url, timeout=30, trust_env=False) as nobody:
        check_error(agree(nobody), 401)
        check_error(make(nobody, "cons_0000000000000000"), 401)
        check_error(nobody.get(CONSENTS), 401)
