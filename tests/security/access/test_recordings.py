"""S15: the recording of a voice is for its owner and administrators; others hear a generated sentence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import httpx
import pytest

from gateway.voices.clip_cache import ClipCache, ClipKey
from tests.forks import PATIENCE_SECONDS
from tests.gateway.audio.files import encoded, speech, wav_samples
from tests.gateway.stages.processes import (
    GatewayProcess,
    all_free,
    check_error,
    queue_of,
    queued,
    started_fleets,
)

KEYS = {"ann": "the key of ann, long", "bob": "the key of bob, long"}
CONSENT = {"consent_by": "Ann Example", "consent_statement": "I agree."}
AUDIO = encoded("wav", speech(6.0))


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        settings = {
            "api_keys": json.dumps({name: {"key": key} for name, key in KEYS.items()}),
            "anonymous": False,
            "data_dir": tmp_path_factory.mktemp("data"),
        }
        running, _ = start(1, step_ms=1, slots=1, gateway=settings)
        yield running


def client(gateway: GatewayProcess, **headers: str) -> httpx.Client:
    return httpx.Client(base_url=gateway.url, headers=headers, timeout=PATIENCE_SECONDS, trust_env=False)


@pytest.fixture
def ann(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    """A client whose voices are gone after the test."""
    with client(gateway, **{"X-API-Key": KEYS["ann"]}) as opened:
        yield opened
        for voice in opened.get("/api/voices").json()["voices"]:
            if voice["owner_is_me"]:
                opened.delete(f"/api/voices/{voice['id']}")


@pytest.fixture
def bob(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with client(gateway, **{"X-API-Key": KEYS["bob"]}) as opened:
        yield opened


@pytest.fixture
def voice(ann: httpx.Client) -> dict[str, str]:
    """Ann's, with consent."""
    response = ann.post("/api/voices", files={"audio": ("a.wav", AUDIO)}, data={"name": "Ann", **CONSENT})
    assert response.status_code == 201, response.text
    return response.json()


def seen_by(http: httpx.Client, path: str = "/api/voices") -> dict[str, str]:
    """What each voice in the list says of its preview."""
    return {voice["name"]: voice["preview"] for voice in http.get(path).json()["voices"]}


def made(gateway: GatewayProcess) -> int:
    """How often something was synthesised with a voice that somebody made."""
    return sum('"request"' in line and '"voice": "custom"' in line for line in gateway.log)


def test_without_a_key_no_custom_voice_is_shown_or_heard(
    gateway: GatewayProcess, voice: dict[str, str]
) -> None:
    for headers in ({}, {"X-API-Key": "a key that nobody has"}):
        with client(gateway, **headers) as stranger:
            assert seen_by(stranger) == seen_by(stranger, "/v1/audio/voices") == {"Default": "sample"}
            for path in ("", "/preview"):
                check_error(stranger.get(f"/api/voices/{voice['id']}{path}"), 401)
                check_error(stranger.get(f"/api/voices/v_0123456789abcdef{path}"), 401)


def test_the_recording_is_its_owner_s_and_the_administrator_s(
    gateway: GatewayProcess, ann: httpx.Client, voice: dict[str, str]
) -> None:
    recording = ann.get(voice["preview_url"])
    assert len(wav_samples(recording.content)) == pytest.approx(6 * 48_000, rel=0.1)
    assert "X-Audio-Provenance" not in recording.headers
    assert seen_by(ann) == {"Default": "sample", "Ann": "recording"}
    with client(gateway, **gateway.admin) as admin:
        assert admin.get(voice["preview_url"]).content == recording.content
        assert seen_by(admin)["Ann"] == "recording"


def test_others_hear_a_sentence_that_is_made_once(
    gateway: GatewayProcess, ann: httpx.Client, bob: httpx.Client, voice: dict[str, str]
) -> None:
    before = made(gateway)
    recording, sample = ann.get(voice["preview_url"]).content, bob.get(voice["preview_url"])
    assert seen_by(bob)["Ann"] == "sample"
    assert "trainedAlgorithmicMedia" in sample.headers["X-Audio-Provenance"]
    assert wav_samples(sample.content) not in (wav_samples(recording), b"")
    assert wav_samples(recording)[4800:9600] not in sample.content
    assert bob.get(voice["preview_url"], headers={"Range": "bytes=0-9"}).content == sample.content
    assert made(gateway) == before + 1


def test_a_voice_that_sounds_different_gets_another_sentence(
    ann: httpx.Client, bob: httpx.Client, voice: dict[str, str]
) -> None:
    before = bob.get(voice["preview_url"]).content
    assert ann.patch(f"/api/voices/{voice['id']}", json={"parameters": {"seed": 99}}).status_code == 200
    assert bob.get(voice["preview_url"]).content != before


def test_a_sentence_ends_with_the_consent_and_the_voice(
    ann: httpx.Client, bob: httpx.Client, voice: dict[str, str]
) -> None:
    path = f"/api/voices/{voice['id']}"
    assert bob.get(voice["preview_url"]).status_code == 200
    assert ann.patch(path, json={"consent_by": None}).status_code == 200
    check_error(bob.get(voice["preview_url"]), 404)
    assert ann.get(voice["preview_url"]).status_code == 200
    assert ann.patch(path, json=CONSENT).status_code == 200
    assert bob.get(voice["preview_url"]).status_code == 200
    assert ann.delete(path).status_code == 200
    check_error(bob.get(voice["preview_url"]), 404)


async def test_the_sentence_waits_in_the_lowest_class_and_in_the_line_of_who_asks(
    gateway: GatewayProcess, voice: dict[str, str]
) -> None:
    headers, before = {"X-API-Key": KEYS["bob"]}, made(gateway)
    async with (
        gateway.http(headers=headers) as bob,
        gateway.socket(additional_headers={"X-API-Key": KEYS["ann"]}) as speaker,
    ):
        await speaker.socket.send(json.dumps({"text": "It was the best of times. " * 150}))
        await speaker.receive_audio()
        asked = [asyncio.create_task(bob.get(voice["preview_url"])) for _ in range(2)]
        await queued(gateway, 1)
        (waiting,) = (await queue_of(gateway))["queue"]
        assert (waiting["priority"], waiting["tenant"]) == ("bulk", "key:bob")
        await speaker.cancel()
        first, second = await asyncio.gather(*asked)
        assert first.content == second.content
        assert made(gateway) == before + 1
    await all_free(gateway)


async def test_a_voice_that_is_deleted_while_its_sentence_is_made_is_not_heard(
    gateway: GatewayProcess, ann: httpx.Client, voice: dict[str, str]
) -> None:
    async with (
        gateway.http(headers={"X-API-Key": KEYS["bob"]}) as bob,
        gateway.socket(additional_headers={"X-API-Key": KEYS["ann"]}) as speaker,
    ):
        await speaker.socket.send(json.dumps({"text": "It was the best of times. " * 150}))
        await speaker.receive_audio()
        asked = asyncio.create_task(bob.get(voice["preview_url"]))
        await queued(gateway, 1)
        assert (await asyncio.to_thread(ann.delete, f"/api/voices/{voice['id']}")).status_code == 200
        await speaker.cancel()
        check_error(await asked, 404)


def test_what_is_kept_is_bounded_and_of_one_version() -> None:
    cache, names = ClipCache(max_bytes=100), [ClipKey("1", f"v{number}", "a") for number in range(4)]
    for name in names[:2]:
        cache.keep(name, bytes(40))
    assert cache.get(names[0]) is not None
    cache.keep(names[2], bytes(40))
    assert [cache.get(name) is not None for name in names[:3]] == [True, False, True]
    cache.keep(names[3], bytes(101))
    assert [cache.get(name) is not None for name in names] == [True, False, True, False]
    cache.keep(names[0]._replace(version="b"), bytes(60))
    assert cache.get(names[0]) is None and cache.get(names[2]) is not None
    cache.forget("v2")
    cache.keep(names[3], bytes(40))
    assert cache.get(names[0]._replace(version="b")) is not None, "what was forgotten counts no more"
