"""S6, S8: a body is bounded while it comes, and nothing that a client names is fetched."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.errors import ApiError
from gateway.voices.recordings.decoding import Decoder
from tests.gateway.stages.processes import check_error
from tests.security.apps import running_app

PIECE = bytes(1 << 16)


@pytest.mark.parametrize(("path", "limit"), [("/tts", 1 << 16), ("/api/voices", (1 << 20) + (1 << 16))])
async def test_a_body_without_a_length_is_taken_up_to_the_limit(
    path: str, limit: int, tmp_path: Path
) -> None:
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        yield b'--b\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n'
        while taken < 64 * limit:
            taken += len(PIECE)
            yield PIECE

    bounds = {"max_voice_bytes": 1 << 20, "max_body_bytes": 1 << 16}
    async with running_app(tmp_path, **bounds) as (_, opened), opened() as http:
        kind = "multipart/form-data; boundary=b" if path == "/api/voices" else "application/json"
        answer = await http.post(path, content=endless(), headers={"Content-Type": kind})
    assert check_error(answer, 413)["code"] == "body_too_large"
    assert taken <= limit + 2 * len(PIECE)


async def test_a_body_that_says_that_it_is_too_long_is_not_read(tmp_path: Path) -> None:
    async def unread() -> AsyncIterator[bytes]:
        raise AssertionError("it was read")
        yield b""

    async with running_app(tmp_path) as (_, opened), opened() as http:
        answer = await http.post("/tts", content=unread(), headers={"Content-Length": str(10**9)})
    check_error(answer, 413)


@pytest.mark.parametrize("path", ["/api/voices", "/api/documents"])
async def test_a_form_that_can_hold_no_file_is_not_read(path: str, tmp_path: Path) -> None:
    """Twenty megabytes of `&` took three seconds to read, with pauses of a third of a second for others."""

    async def unread() -> AsyncIterator[bytes]:
        raise AssertionError("it was read")
        yield b""

    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    async with running_app(tmp_path) as (_, opened), opened() as http:
        answer = await http.post(path, content=unread(), headers=kind)
    assert check_error(answer, 422)["code"] == "missing_field"


@pytest.mark.parametrize("path", ["/api/voices", "/api/documents"])
async def test_a_form_of_a_kind_without_end_is_not_read(path: str, tmp_path: Path) -> None:
    """64 KB of `;` took a tenth of a second in which nobody else was answered."""

    async def unread() -> AsyncIterator[bytes]:
        raise AssertionError("it was read")
        yield b""

    kind = {"Content-Type": "multipart/form-data; boundary=a".ljust(60_000, ";")}
    async with running_app(tmp_path) as (_, opened), opened() as http:
        answer = await http.post(path, content=unread(), headers=kind)
    assert check_error(answer, 400)["code"] == "bad_request"


ADDRESSES = [
    "http://127.0.0.1/a.wav", "http://169.254.169.254/latest/meta-data", "file:///etc/passwd", "/etc/passwd",
    "http://[::ffff:127.0.0.1]/", "http://0x7f.1/", "http://2130706433/", "data:audio/wav;base64,UklGRg==",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
async def test_no_field_takes_an_address(address: str, tmp_path: Path) -> None:
    """Audio comes as a file. There is no field that names one, and a text where a file belongs is refused."""
    async with running_app(tmp_path) as (_, opened), opened() as http:
        form = {"audio": address, "name": "N"}
        assert check_error(await http.post("/api/voices", data=form), 422)["param"] == "audio"
        files = {"audio": ("a.wav", address.encode())}
        assert check_error(await http.post("/api/voices", data={"name": "N"}, files=files), 422)
        for field in (
            "reference_audio",
            "reference_audio_url",
            "prompt_audio",
            "audio_url",
            "url",
            "webhook",
        ):
            answer = await http.post("/tts", json={"text": "Hi.", field: address})
            assert check_error(answer, 422)["code"] == "unknown_field"
        answer = await http.post("/tts", json={"text": "Hi.", "voice": address})
        assert answer.status_code in (404, 503), "it is a name that nobody has, or may have soon"


PLAYLISTS = [
    b"#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:10.0,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n",
    b"ffconcat version 1.0\nfile /etc/passwd\n",
    b"[playlist]\nFile1=http://127.0.0.1/\n",
    b'<?xml version="1.0"?><MPD><BaseURL>http://127.0.0.1/</BaseURL></MPD>',
    b"RIFF" + json.dumps("http://127.0.0.1/").encode(),
]


@pytest.mark.parametrize("content", PLAYLISTS)
async def test_no_file_opens_another_one(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "upload"
    file.write_bytes(content)
    with file.open("rb") as opened, pytest.raises(ApiError) as refused:
        await Decoder().decode(opened.fileno())
    assert refused.value.status_code == 422
