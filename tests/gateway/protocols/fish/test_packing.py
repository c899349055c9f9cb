"""MessagePack is read as its library writes it, and no more of it than a message may hold."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from gateway.errors import ApiError
from gateway.protocols.fish.packing import packed, unpacked


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\x07", 7), (b"\xc0", None), (b"\xc3", True), (b"\xcb" + struct.pack(">d", 0.7), 0.7),
        (b"\xd9\x03\xe4\xbd\xa0", "你"), (b"\xc4\x02\x00\xff", b"\x00\xff"), (b"\x92\x01\x02", [1, 2]),
        (b"\x81\xa1a\x80", {"a": {}}),
    ],
)  # fmt: skip
def test_a_value_is_read(data: bytes, value: Any) -> None:
    assert unpacked(b"\x81\xa1x" + data, "body") == {"x": value}


@pytest.mark.parametrize("text", ["", "a", "你好" * 40, "x" * 70_000])
def test_what_is_written_is_read(text: str) -> None:
    message = {"event": text, "audio": text.encode()}
    assert unpacked(packed(message), "message") == message


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x81", b"\x81\xa1x", b"\x07", b"\x80\x80", b"\xc1", b"\x81\x01\x01", b"\x81\xa1x\xa1\xff",
        b"\x81\xa1x\xdd\xff\xff\xff\xff", b"\x81\xa1x\xc6\xff\xff\xff\xff", b"\x81\xa1x\xd4\x01\x00",
        b"\x81\xa1x" + b"\x91" * 100_000, b"\x81\xa1x\xdc\xff\xff" + b"\x01" * 65_535, b"\x81\x90\x01",
        b"\x81\xc4\x01x\x01", b"\x81\xa1x" + b"\x9f" * 200 + b"\x90" * 3000,
        b"\x81\xa1x\xdc\x07\xd0" + b"\x90" * 2000,
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        unpacked(data, "message")
    assert (caught.value.status_code, caught.value.code) == (400, "invalid_message")
