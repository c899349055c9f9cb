"""Frames that are put together here, without a protocol's help."""

from __future__ import annotations

import pytest
from websockets.frames import Frame, Opcode

from sockets.at_once import message_frame


@pytest.mark.parametrize("size", [0, 1, 125, 126, 7680, 65_535, 65_536, 200_000])
def test_a_message_is_framed_as_websockets_does(size: int) -> None:
    assert message_frame(bytes(size)) == Frame(Opcode.BINARY, bytes(size)).serialize(mask=False)
    text = "é" * (size // 2)
    assert message_frame(text) == Frame(Opcode.TEXT, text.encode()).serialize(mask=False)
