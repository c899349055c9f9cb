"""Files that are sent while they are deleted."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from starlette.types import Message

from gateway.api.transfer.file_response import RangedFileResponse
from gateway.errors import ApiError


class Deleted(RangedFileResponse):
    """Of a file that is deleted once its size is known."""

    def set_stat_headers(self, stat_result: os.stat_result) -> None:
        super().set_stat_headers(stat_result)
        Path(self.path).unlink()


async def receive() -> Message:
    await asyncio.Event().wait()
    return {"type": "http.disconnect"}


@pytest.mark.parametrize("headers", [[], [(b"range", b"bytes=1-2")]])
async def test_a_file_that_is_deleted_before_it_is_opened_is_not_found(
    tmp_path: Path, headers: list[tuple[bytes, bytes]]
) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    (tmp_path / "clip.wav").write_bytes(b"RIFF")
    scope = {"type": "http", "method": "GET", "headers": headers}
    with pytest.raises(ApiError, match="deleted meanwhile") as error:
        await Deleted(tmp_path / "clip.wav")(scope, receive, send)
    assert error.value.status_code == 404
    assert sent == []
