"""`/api/voices` of a real gateway with a synthetic worker: who may do what, and what a clip gets."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path

import httpx
import numpy as np
import pytest

from gateway.database import Voice
from gateway.voices import consent
from tests.gateway.audio.files import encoded, speech
from tests.gateway.callers.owners import client
from tests.gateway.stages.processes import GatewayProcess, check_error
from tests.gateway.voices.uploads import ADMIN, AUDIO, CONSENT, create, names, speak, upload
from tests.worker.process import wait_until


def test_a_voice_with_consent_is_spoken_by_everybody(ann: httpx.Client, bob: httpx.Client) -> None:
    voice = create(ann, language="en", description="Warm.", tags="calm, low,", **CONSENT)
    assert voice["kind"] == "custom" and voice["usable"] and voice["owner_is_me"]
    assert (voice["tags"], voice["language"], voice["has_transcript"]) == (["calm", "low"], "en", False)
    assert voice["audio_seconds"] == pytest.approx(6.0, abs=0.2)
    assert voice["consent"]["by"] == "Ann Example"
    assert names(bob) == ["Default", "Ann"]
    seen = bob.get(f"/api/voices/{voice['id']}").json()
    assert not seen["owner_is_me"] and "consent" not in seen and "transcript" not in seen
    default = speak(bob, "default").content
    by_id, by_name = speak(bob, voice["id"]), speak(bob, "Ann")
    assert by_id.status_code == 200, by_id.text
    assert by_id.content == by_name.content != default
    listed = bob.get("/v1/audio/voices").json()["voices"]
    assert [entry["id"] for entry in listed] == ["default", voice["id"]]


def test_the_event_log_never_has_the_name_of_a_voice(gateway: GatewayProcess, ann: httpx.Client) -> None:
    """S14: what was deleted is gone, the name of a person, too."""
    id = create(ann, "Philippa Longstocking", **CONSENT)["id"]
    assert ann.patch(f"/api/voices/{id}", json={"consent_by": None}).is_success
    assert ann.delete(f"/api/voices/{id}").is_success
    with httpx.Client(base_url=gateway.url, headers={"X-Admin-Token": ADMIN}, trust_env=False) as http:
        lines = [line for line in http.get("/api/log").json()["events"] if line["subject"] == id]
    assert [line["saying"] for line in lines] == ["voice_deleted", "consent_withdrawn", "voice_added"]
    assert lines[0]["message"] == f"key:ann deleted the voice {id}"
    assert "Longstocking" not in str(lines)


@pytest.mark.parametrize("path", ["/tts", "/v1/audio/speech"])
def test_no_voice_is_used_without_consent(path: str, ann: httpx.Client, bob: httpx.Client) -> None:
    """S15: not even by its owner."""
    voice = create(ann)
    assert not voice["usable"] and voice["consent"] is None
    body = {"input": "Hi.", "model": "tts-1"} if path != "/tts" else {"text": "Hi."}
    for http in (ann, bob):
        error = check_error(http.post(path, json={**body, "voice": voice["id"]}), 403)
        assert (error["code"], error["param"]) == ("voice_without_consent", "voice")
    assert "Ann" in names(ann) and "Ann" not in names(bob)
    assert "Ann" not in [entry["name"] for entry in ann.get("/v1/audio/voices").json()["voices"]]
    assert ann.get(voice["preview_url"]).status_code == 200
    for path in ("", "/preview"):
        check_error(bob.get(f"/api/voices/{voice['id']}{path}"), 404)


async def test_the_socket_keeps_to_it_too(gateway: GatewayProcess, ann: httpx.Client) -> None:
    voice = await asyncio.to_thread(create, ann)
    async with gateway.stream(text="Hello.", voice=voice["id"]) as stream:
        assert await stream.receive_rest() == 1008
    assert stream.messages[-1]["error"]["code"] == "voice_without_consent"
    response = await asyncio.to_thread(ann.patch, f"/api/voices/{voice['id']}", json=CONSENT)
    assert response.status_code == 200
    async with gateway.stream(text="Hello.", voice=voice["id"], seed=1) as stream:
        assert await stream.receive_rest() == 1000
    assert stream.pcm == (await asyncio.to_thread(speak, ann, voice["id"], "Hello.")).content


def test_consent_can_be_given_later_and_withdrawn(ann: httpx.Client) -> None:
    statement = ann.get("/api/voices/consent").json()["statement"]
    assert "consent" in statement
    voice = create(ann)
    path = f"/api/voices/{voice['id']}"
    check_error(ann.patch(path, json={"consent_by": "Ann"}), 422)
    given = ann.patch(path, json={"consent_by": "Ann", "consent_statement": statement}).json()
    record = given["consent"]
    row = Voice(audio_sha256=given["audio_sha256"])
    again = consent.given("Ann", statement, row.audio_sha256, datetime.fromisoformat(record["at"]))
    assert record["sha256"] == again["consent_sha256"]
    assert speak(ann, "Ann").status_code == 200
    assert ann.patch(path, json={"consent_by": None}).json()["consent"] is None
    check_error(speak(ann, "Ann"), 403)


def test_only_the_owner_and_the_admin_change_and_delete(
    gateway: GatewayProcess, ann: httpx.Client, bob: httpx.Client
) -> None:
    voice, hidden = create(ann, **CONSENT), create(ann, "Hidden")
    path = f"/api/voices/{voice['id']}"
    for response in (bob.patch(path, json={"name": "Mine"}), bob.delete(path)):
        assert check_error(response, 403)["code"] == "not_the_owner"
    check_error(bob.delete(f"/api/voices/{hidden['id']}"), 404)
    with client(gateway, ADMIN) as admin:
        assert "Hidden" in names(admin)
        assert admin.patch(path, json={"tags": ["checked"]}).json()["tags"] == ["checked"]
        assert admin.delete(f"/api/voices/{hidden['id']}").status_code == 200
    with httpx.Client(base_url=gateway.url, trust_env=False) as nobody:
        assert "Ann" in [entry["name"] for entry in nobody.get("/v1/audio/voices").json()["voices"]]
    with client(gateway, "a key that nobody has") as stranger:
        check_error(upload(stranger), 401)
        assert names(stranger) == ["Default"]


def test_behind_an_unknown_proxy_nobody_owns_what_another_made(gateway: GatewayProcess) -> None:
    with httpx.Client(base_url=gateway.url, timeout=60, trust_env=False) as http:
        voice = create(http, **CONSENT)
        path = f"/api/voices/{voice['id']}"
        http.headers["X-Forwarded-For"] = "192.0.2.1"
        for response in (http.delete(path), http.patch(path, json={}), upload(http, "B")):
            assert check_error(response, 403)["code"] == "client_unknown"
        assert not http.get(path).json()["owner_is_me"]
        assert speak(http, "Ann").status_code == 200
        del http.headers["X-Forwarded-For"]
        assert http.delete(path).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_pages_of_other_sites_change_nothing(method: str, ann: httpx.Client) -> None:
    voice = create(ann)
    path = "/api/voices" if method == "POST" else f"/api/voices/{voice['id']}"
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        response = ann.request(method, path, headers=headers, json={"name": "x"})
        assert check_error(response, 403)["code"] == "cross_site"
    assert names(ann) == ["Default", "Ann"]


@pytest.mark.parametrize("name", ["\u0410nn", "\u3164"])
def test_a_name_that_passes_for_another_is_refused(name: str, ann: httpx.Client) -> None:
    changed = ann.patch("/api/voices/v_0123456789abcdef", json={"name": name})
    for response in (upload(ann, name), changed):
        assert check_error(response, 422)["param"] == "name"


def test_names_are_unambiguous(ann: httpx.Client, bob: httpx.Client) -> None:
    voice = create(ann, **CONSENT)
    in_lisu = "\ua4d3\ua4f0\ua4dd\ua4ee\ua4f4\ua4e1\ua4d4"
    alike = ((bob, name) for name in ("default", "Default", "default\u200d", in_lisu))
    for http, name in ((ann, "Ann"), *alike):
        assert check_error(upload(http, name), 409)["code"] == "name_taken"
    assert check_error(upload(bob, "Ann", **CONSENT), 409)["code"] == "name_taken"
    private = create(bob, "Ann")
    try:
        assert check_error(bob.patch(f"/api/voices/{private['id']}", json=CONSENT), 409)["param"] == "name"
        assert speak(bob, "Ann").content == speak(bob, voice["id"]).content
    finally:
        bob.delete(f"/api/voices/{private['id']}")
    check_error(ann.patch(f"/api/voices/{voice['id']}", json={"name": "default"}), 409)


def test_parameters_hold_where_a_request_says_nothing(ann: httpx.Client) -> None:
    create(ann, parameters='{"seed": 77, "cfg_value": 3.0}', **CONSENT)
    silent = ann.post("/tts", json={"text": "Hello.", "voice": "Ann", "format": "pcm"})
    assert silent.headers["X-Seed"] == "77"
    assert speak(ann, "Ann", "Hello.").headers["X-Seed"] == "1"
    assert ann.post("/tts", json={"text": "Hello.", "voice": "default"}).headers["X-Seed"] != "77"
    error = check_error(upload(ann, "B", parameters='{"cfg_value": 99}'), 422)
    assert error["param"] == "parameters" and "cfg_value" in error["message"]
    assert check_error(upload(ann, "B", parameters='{"text": "x"}'), 422)["code"] == "unknown_field"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"name": "  "}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"name": "two\nlines"}, "name"),
        ({"name": "nul\0"}, "name"),
        ({"language": "english, please"}, "language"),
        ({"tags": ",".join("abcdefghijk")}, "tags"),
        ({"description": "x" * 501}, "description"),
        ({"transcript": "x" * 2001}, "transcript"),
        ({"consent_by": "Ann"}, "consent_statement"),
        ({"owner": "key:bob"}, "owner"),
        ({"parameters": "["}, "parameters"),
    ],
)
def test_wrong_fields_are_named(fields: dict[str, str], param: str, ann: httpx.Client) -> None:
    assert check_error(upload(ann, **{"name": "N", **fields}), 422)["param"].startswith(param)
    assert names(ann) == ["Default"]


def test_the_upload_is_bounded(ann: httpx.Client) -> None:
    assert check_error(ann.post("/api/voices", data={"name": "N"}), 422)["param"] == "audio"
    assert check_error(ann.post("/api/voices", content=b"x" * 100), 422)["param"] == "audio"
    assert check_error(upload(ann, audio=b""), 422)["param"] == "audio"
    assert check_error(upload(ann, audio=b"x" * 100_000), 422)["code"] == "audio_format"
    assert check_error(upload(ann, audio=bytes((2 << 20) + 1)), 413)["param"] == "audio"
    assert check_error(upload(ann, audio=bytes(3 << 20)), 413)["code"] == "body_too_large"
    check_error(ann.post("/tts", content=bytes(1 << 21)), 413)
    two = [("audio", ("a", AUDIO)), ("audio", ("b", AUDIO))]
    check_error(ann.post("/api/voices", files=two, data={"name": "N"}), 400)
    for kind, seconds, code in (("flac", 70, "audio_too_long"), ("mp3", 1, "audio_too_short")):
        assert check_error(upload(ann, audio=encoded(kind, speech(seconds))), 422)["code"] == code
    for number in range(5):
        create(ann, f"N{number}")
    assert check_error(upload(ann, "N5"), 409)["code"] == "too_many_voices"


def test_equal_audio_is_stored_once_until_nobody_uses_it(ann: httpx.Client, data_dir: Path) -> None:
    def stored() -> list[str]:
        return sorted(path.name for path in (data_dir / "voices").rglob("*") if path.is_file())

    first, second = create(ann, "One", **CONSENT), create(ann, "Two", transcript="Bzz.", **CONSENT)
    assert first["audio_sha256"] == second["audio_sha256"]

    def encoded_twice() -> list[str] | None:
        """Latents of a voice of an earlier test may still be written, and are removed at once."""
        files = stored()
        return files if [name[:64] for name in files] == 3 * [first["audio_sha256"]] else None

    files = wait_until(encoded_twice, lambda: f"{stored()}")
    ann.delete(f"/api/voices/{first['id']}")
    assert stored() == files
    assert speak(ann, "Two").status_code == 200
    ann.delete(f"/api/voices/{second['id']}")
    assert stored() == []
    for response in (speak(ann, "Two"), speak(ann, second["id"])):
        assert check_error(response, 404)["code"] == "unknown_voice"
    check_error(ann.delete(f"/api/voices/{second['id']}"), 404)


def test_the_preview_is_what_was_kept_in_parts_too(ann: httpx.Client) -> None:
    voice = create(ann, audio=encoded("mp3", np.concatenate([np.zeros(48_000), speech(3.0)])))
    whole = ann.get(voice["preview_url"])
    assert whole.headers["Content-Type"] == "audio/wav"
    assert whole.content[:4] == b"RIFF"
    assert len(whole.content) == pytest.approx(voice["audio_seconds"] * 48_000, rel=0.01)
    part = ann.get(voice["preview_url"], headers={"Range": "bytes=100-199"})
    assert (part.status_code, part.content) == (206, whole.content[100:200])
    assert {check["code"] for check in voice["checks"]} == {"trimmed", "short"}


def test_a_built_in_voice_is_heard_and_kept(ann: httpx.Client) -> None:
    first = ann.get("/api/voices/default/preview")
    assert first.headers["Content-Type"] == "audio/wav" and len(first.content) > 50_000
    assert ann.get("/api/voices/default/preview").content == first.content
    assert ann.get("/api/voices/default").json()["kind"] == "built-in"
    for response in (ann.delete("/api/voices/default"), ann.patch("/api/voices/default", json={})):
        assert check_error(response, 403)["code"] == "built_in_voice"


@pytest.mark.parametrize("id", ["v_0123456789abcdef", "v_%00", "..%2f..%2fvoxfleet.db", "v_" + "9" * 300])
def test_ids_that_are_none_are_not_found(id: str, ann: httpx.Client) -> None:
    for path in (f"/api/voices/{id}", f"/api/voices/{id}/preview"):
        check_error(ann.get(path), 404)
    check_error(speak(ann, "no\0body"), 404)


def test_the_statement_is_in_the_language_that_is_asked_for(ann: httpx.Client) -> None:
    def told(query: str) -> dict[str, str]:
        return ann.get(f"/api/voices/consent{query}").json()

    english, chinese = told(""), told("?language=zh-CN")
    assert (english["language"], chinese["language"]) == ("en", "zh")
    assert "我同意" in chinese["statement"]
    assert told("?language=de") == english
