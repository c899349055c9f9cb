"""MessagePack: what Fish Audio's clients send is read, up to so many values, and their events are written.

    unpacked(packed({"event": "audio", "audio": b"..."}))     # {"event": "audio", "audio": b"..."}

JSON's types and bytes are known; names are strings.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from gateway.bodies import MOST_MESSAGE_VALUES
from gateway.errors import ApiError

_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h",
    0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_BYTES = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}
_STRINGS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_LISTS = {0xDC: ">H", 0xDD: ">I"}
_MAPS = {0xDE: ">H", 0xDF: ">I"}
"""Signs, and the lengths behind them."""
_DEEPEST = 16
_LONGEST_SHORT = 31


def unpacked(data: bytes, what: str) -> dict[str, Any]:
    """The fields of a message. `what`: "body" or "message". Raises ApiError 400."""
    reader = _Reader(data)
    try:
        fields = reader.value()
        if not isinstance(fields, dict) or reader.rest:
            raise ValueError("it is no single map")
    except (ValueError, struct.error) as error:
        raise ApiError(
            400, f"invalid_{what}", f"the {what} cannot be read as MessagePack: {error}"
        ) from error
    return fields


def packed(fields: Mapping[str, str | bytes]) -> bytes:
    """A message of at most 15 fields."""
    pieces = [bytes([0x80 | len(fields)])]
    for name, value in fields.items():
        pieces += [_string(name), _string(value) if isinstance(value, str) else _binary(value)]
    return b"".join(pieces)


def _string(text: str) -> bytes:
    data = text.encode()
    if len(data) <= _LONGEST_SHORT:
        return bytes([0xA0 | len(data)]) + data
    return struct.pack(">BI", 0xDB, len(data)) + data


def _binary(data: bytes) -> bytes:
    return struct.pack(">BI", 0xC6, len(data)) + data


class _Reader:
    """Raises ValueError or struct.error for what is no MessagePack, or too much of it."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._left = MOST_MESSAGE_VALUES

    @property
    def rest(self) -> int:
        """Bytes that are not read yet."""
        return len(self._data) - self._at

    def value(self, depth: int = 0) -> Any:
        """The next one."""
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise ValueError(f"it has more than {MOST_MESSAGE_VALUES} values, or they are too deep")
        sign = self._take(1)[0]
        if sign < 0x80:
            return sign
        if sign >= 0xE0:
            return sign - 0x100
        if sign in _CONSTANTS:
            return _CONSTANTS[sign]
        if sign in _NUMBERS:
            return self._number(_NUMBERS[sign])
        if sign in _BYTES:
            return self._take(self._number(_BYTES[sign]))
        if sign in _STRINGS or 0xA0 <= sign < 0xC0:
            return self._take(self._number(_STRINGS[sign]) if sign in _STRINGS else sign & 0x1F).decode()
        return self._many(sign, depth + 1)

    def _many(self, sign: int, depth: int) -> Any:
        if sign in _LISTS or 0x90 <= sign < 0xA0:
            count = self._number(_LISTS[sign]) if sign in _LISTS else sign & 0x0F
            return [self.value(depth) for _ in range(count)]
        if sign in _MAPS or sign < 0x90:
            count = self._number(_MAPS[sign]) if sign in _MAPS else sign & 0x0F
            return {self._name(depth): self.value(depth) for _ in range(count)}
        raise ValueError(f"the type {sign:#x} is not known")

    def _name(self, depth: int) -> str:
        name = self.value(depth)
        if not isinstance(name, str):
            raise ValueError("a name is no string")
        return name

    def _number(self, format: str) -> Any:
        return struct.unpack(format, self._take(struct.calcsize(format)))[0]

    def _take(self, count: int) -> bytes:
        if count > self.rest:
            raise ValueError("it ends too early")
        self._at += count
        return self._data[self._at - count : self._at]
