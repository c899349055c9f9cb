"""Clips for players: `GET /tts`, signed links, and pages of other origins."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import soundfile
from cryptography.fernet import Fernet

from gateway.errors import ApiError
from gateway.protocols.links import LinkRequest, Links
from tests.gateway.audio.samples import decoded_seconds
from tests.gateway.stages.processes import TEXT, GatewayProcess, check_error, pcm_of, started_fleets

PAGE = "https://app.example"
STRANGER = "https://evil.example"
KEY = {"Authorization": "Bearer alices-key-is-long-enough"}
SECONDS = len(pcm_of(TEXT, 5)) / 2 / 24000


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        keys = json.dumps({"alice": {"key": "alices-key-is-long-enough"}})
        settings = {"api_keys": keys, "anonymous": "false", "allowed_origins": PAGE}
        yield start(1, slots=4, step_ms=2, gateway=settings)[0]


async def get(fleet: GatewayProcess, path: str, headers: dict[str, str], **query: Any) -> httpx.Response:
    async with fleet.http(headers=headers) as http:
        return await http.get(path, params=query or None)


async def link(fleet: GatewayProcess, **fields: Any) -> str:
    async with fleet.http(headers=KEY) as http:
        made = await http.post("/tts/links", json={"text": TEXT, "seed": 5, **fields})
    assert made.status_code == 201, made.text
    assert 0 < made.json()["expires_at"] - time.time() <= 300
    return made.json()["url"]


async def test_a_player_gets_mp3_while_it_is_generated(fleet: GatewayProcess) -> None:
    played = await get(fleet, "/tts", KEY, text=TEXT, seed=5)
    assert played.headers["Content-Type"] == "audio/mpeg"
    assert "Content-Length" not in played.headers
    assert decoded_seconds(played.content, "mp3", 24000) == pytest.approx(SECONDS, abs=0.2)


async def test_a_query_has_the_fields_of_the_body(fleet: GatewayProcess) -> None:
    query = {
        "input": TEXT,
        "seed": "5",
        "format": "wav",
        "stream": "false",
        "sample_rate": "16000",
        "speed": "2",
    }
    played = await get(fleet, "/tts", KEY, **query)
    samples, rate = soundfile.read(io.BytesIO(played.content))
    assert (rate, len(samples) / rate) == (16000, pytest.approx(SECONDS / 2, abs=0.01))


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({}, "text"),
        ({"text": TEXT, "seed": "x"}, "seed"),
        ({"text": TEXT, "colour": "red"}, "colour"),
        ({"text": TEXT, "voice": ["a", "b"]}, "voice"),
        ({"text": "..."}, "text"),
    ],
)
async def test_what_is_wrong_with_a_query_is_named(
    fleet: GatewayProcess, query: dict[str, Any], param: str
) -> None:
    assert check_error(await get(fleet, "/tts", KEY, **query), 422)["param"] == param


async def test_a_head_speaks_nothing(fleet: GatewayProcess) -> None:
    async with fleet.http(headers=KEY) as http:
        asked = await http.head("/tts", params={"text": TEXT})
        refused = await http.head("/tts")
    assert (asked.status_code, asked.headers["Content-Type"], refused.status_code) == (200, "audio/mpeg", 422)
    assert "Content-Length" not in asked.headers


async def test_the_query_needs_the_key_and_a_link_does_not(fleet: GatewayProcess) -> None:
    check_error(await get(fleet, "/tts", {}, text=TEXT), 401)
    async with fleet.http(headers={}) as http:
        check_error(await http.post("/tts/links", json={"text": TEXT}), 401)
    url = await link(fleet, format="pcm")
    for _ in range(2):
        played = await get(fleet, url, {"Sec-Fetch-Site": "cross-site"})
        assert played.content == pcm_of(TEXT, 5)
        assert played.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert url.endswith(".pcm") and "quick" not in url and "brown" not in url


async def test_a_link_ends_and_cannot_be_made_up(fleet: GatewayProcess) -> None:
    check_error(
        await get(fleet, "/tts/links/" + Fernet(Fernet.generate_key()).encrypt(b"{}").decode(), {}), 404
    )
    check_error(await get(fleet, "/tts/links/x.mp3", {}), 404)
    async with fleet.http(headers=KEY) as http:
        for wrong in ({"expires_in": 0}, {"expires_in": 3601}, {"speed": 9}, {"text": "x" * 5000}):
            check_error(await http.post("/tts/links", json={"text": TEXT, **wrong}), 422)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"voice": "nobody"}, 404),
        ({"model": "nobody"}, 404),
        ({"adapter": "nobody"}, 404),
        ({"timestamps": "word"}, 422),
    ],
)
async def test_no_link_is_made_to_what_cannot_be_played(
    fleet: GatewayProcess, fields: dict[str, Any], status: int
) -> None:
    async with fleet.http(headers=KEY) as http:
        refused = await http.post("/tts/links", json={"text": TEXT, **fields})
    assert check_error(refused, status)["param"] == next(iter(fields))


def test_a_link_is_of_its_time_and_of_its_secret() -> None:
    now = 1000.0
    links = Links(b"secret", lambda: now)
    token, expires_at = links.make(LinkRequest(text=TEXT, expires_in=60, seed=5), "key:alice")
    order, tenant = Links(b"secret", lambda: expires_at - 1).read(token)
    assert (order.text, order.seed, order.format, tenant) == (TEXT, 5, "mp3", "key:alice")
    for reader, status in ((Links(b"secret", lambda: expires_at), 410), (Links(b"other", lambda: now), 404)):
        with pytest.raises(ApiError) as refused:
            reader.read(token)
        assert refused.value.status_code == status


def test_a_link_of_a_clock_that_was_years_ahead_does_not_last_for_years() -> None:
    token, _ = Links(b"secret", lambda: 1e9).make(LinkRequest(text=TEXT, expires_in=3600), "key:alice")
    with pytest.raises(ApiError) as refused:
        Links(b"secret", lambda: 1000.0).read(token)
    assert refused.value.code == "link_expired"
    Links(b"secret", lambda: 1e9 - 60).read(token)  # another gateway's clock


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": STRANGER}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Referer": STRANGER + "/"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Referer": "http://["}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Referer": PAGE + "/"}, 200),
        ({"Origin": PAGE}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({}, 200),
    ],
)
async def test_only_allowed_pages_have_the_service_speak(
    fleet: GatewayProcess, headers: dict[str, str], status: int
) -> None:
    async with fleet.http(headers={**KEY, **headers}) as http:
        assert (await http.head("/tts", params={"text": TEXT})).status_code == status


async def test_allowed_pages_read_answers_and_errors(fleet: GatewayProcess) -> None:
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type",
    }
    async with fleet.http(headers={}) as http:
        before = await http.options("/v1/audio/speech", headers={"Origin": PAGE, **asked})
        refused = await http.post("/tts", json={"text": TEXT}, headers={"Origin": PAGE})
        wrong = await http.post(
            "/tts", json={"text": TEXT}, headers={"Origin": PAGE, "Authorization": "Bearer of nobody at all"}
        )
        spoken = await http.post("/tts", json={"text": "Yes."}, headers={"Origin": PAGE, **KEY})
        stranger = await http.post("/tts", json={"text": "Yes."}, headers={"Origin": STRANGER, **KEY})
    assert before.status_code == 200
    assert "authorization" in before.headers["Access-Control-Allow-Headers"]
    assert (refused.status_code, wrong.status_code, spoken.status_code) == (401, 401, 200)
    for answer in (before, refused, wrong, spoken):
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE
    assert spoken.headers["Access-Control-Expose-Headers"] == "*"
    assert "Access-Control-Allow-Origin" not in stranger.headers
