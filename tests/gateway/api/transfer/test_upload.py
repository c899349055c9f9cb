"""How long an upload may take, and what is done with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from gateway.api.transfer import upload
from gateway.api.transfer.upload import uploaded
from gateway.errors import ApiError

BODY = b'--x\r\nContent-Disposition: form-data; name="audio"; filename="a"\r\n\r\nsound\r\n--x--\r\n'
SCOPE = {"type": "http", "headers": [(b"content-type", b"multipart/form-data; boundary=x")]}
GATEWAY: Any = SimpleNamespace(voices=SimpleNamespace(uploads=SimpleNamespace(place=lambda _: nullcontext())))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "UPLOAD_SECONDS", 0.05)
    monkeypatch.setattr(upload, "owner_of", lambda *_: "ann")


def sent(receive: Callable[[], Awaitable[Any]]) -> Any:
    return uploaded(Request(SCOPE, receive), GATEWAY, "audio", 100)


async def test_what_is_done_with_an_upload_may_take_longer() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": BODY}

    async with sent(receive) as (_, fields, owner):
        await asyncio.sleep(0.1)
        assert (fields, owner) == ({}, "ann")


async def test_an_upload_that_does_not_come_is_given_up() -> None:
    with pytest.raises(ApiError) as refused:
        async with sent(asyncio.Event().wait):
            raise AssertionError
    assert (refused.value.status_code, refused.value.code) == (408, "body_timeout")
