"""Whose voice a name means where several clients have one of that name."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.gateway.audio.files import encoded, speech
from tests.gateway.stages.processes import check_error
from tests.gateway.voices.uploads import CONSENT


def create(http: httpx.Client, name: str, pitch: float = 120.0, **fields: Any) -> str:
    audio = {"audio": ("a.webm", encoded("webm", speech(3.0, pitch=pitch)))}
    response = http.post("/api/voices", files=audio, data={"name": name, **fields})
    assert response.status_code == 201, response.text
    return response.json()["id"]


def speak(http: httpx.Client, voice: str) -> httpx.Response:
    return http.post("/tts", json={"text": "Hello.", "voice": voice, "seed": 1, "format": "pcm"})


def heard(http: httpx.Client, voice: str) -> bytes:
    response = speak(http, voice)
    assert response.status_code == 200, response.text
    return response.content


def test_a_voice_without_consent_takes_its_name_from_nobody(ann: httpx.Client, bob: httpx.Client) -> None:
    morgan = create(ann, "Morgan", **CONSENT)
    create(bob, "morgan")
    assert heard(ann, "morgan") == heard(ann, morgan)
    assert check_error(speak(bob, "morgan"), 403)["code"] == "voice_without_consent"
    create(ann, "Ada")
    assert check_error(speak(bob, "Ada"), 404) == {
        **check_error(speak(bob, "Eve"), 404),
        "message": "there is no voice 'Ada'",
    }
    assert check_error(speak(ann, "ada"), 403)["code"] == "voice_without_consent"


def test_nobody_takes_the_name_of_another_s_voice_in_another_case(
    ann: httpx.Client, bob: httpx.Client
) -> None:
    """Requests in lower case, as OpenAI's clients send them, would speak with theirs from then on."""
    morgan, bobs = create(ann, "Morgan", 100.0, **CONSENT), create(bob, "morgan", 200.0)
    before = heard(bob, "MORGAN".title())
    taken = bob.patch(f"/api/voices/{bobs}", json=CONSENT)
    assert check_error(taken, 409)["code"] == "name_taken"
    assert heard(ann, "morgan") == heard(ann, morgan) == before


def test_names_of_other_services_mean_the_default_voice_unless_one_sees_such_a_voice(
    ann: httpx.Client, bob: httpx.Client
) -> None:
    def asked(http: httpx.Client) -> httpx.Response:
        body = {"model": "tts-1", "input": "Hello.", "voice": "alloy", "seed": 1, "response_format": "pcm"}
        return http.post("/v1/audio/speech", json=body)

    def spoken(http: httpx.Client) -> bytes:
        response = asked(http)
        assert response.status_code == 200, response.text
        return response.content

    default = spoken(ann)
    assert spoken(bob) == default
    alloy = create(ann, "alloy")
    assert spoken(bob) == default
    assert check_error(asked(ann), 403)["code"] == "voice_without_consent"
    assert ann.patch(f"/api/voices/{alloy}", json=CONSENT).status_code == 200
    assert spoken(ann) == spoken(bob) != default


@pytest.mark.parametrize("name", ["نیم\u200cفاصله", "王\u3000小明", "Jean\u00a0Paul", "Ann 👩\u200d🚀"])
def test_a_name_has_the_joiners_and_spaces_of_its_script(name: str, ann: httpx.Client) -> None:
    voice = create(ann, name, transcript=name, description=name, tags=name, **CONSENT)
    assert heard(ann, name) == heard(ann, voice)
    assert ann.get(f"/api/voices/{voice}").json()["name"] == name


@pytest.mark.parametrize(
    "name", ["\u200c\u200d", "An\u200bna", "An\u202ena", "An\u2028na", "An\nna", "\u3000"]
)
def test_a_name_holds_nothing_that_is_not_seen(name: str, ann: httpx.Client) -> None:
    audio = {"audio": ("a.webm", encoded("webm", speech(3.0)))}
    assert check_error(ann.post("/api/voices", files=audio, data={"name": name}), 422)["param"] == "name"
