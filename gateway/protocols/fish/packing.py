"""MessagePack, in which Fish Audio's clients write: JSON's types and bytes, up to so many values.

unpacked(packed({"event": "audio", "audio": b"..."}), "message")     # {"event": "audio", "audio": b"..."}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgpack

from gateway.bodies import MOST_MESSAGE_VALUES
from gateway.errors import ApiError


def unpacked(data: bytes, what: str) -> dict[str, Any]:
    """The fields of a message. `what`: "body" or "message". Raises ApiError 400."""
    counter = _Counter()
    try:
        fields = msgpack.unpackb(
            data, list_hook=counter.counted, object_pairs_hook=counter.fields, max_ext_len=0,
            max_array_len=MOST_MESSAGE_VALUES, max_map_len=MOST_MESSAGE_VALUES,
        )  # fmt: skip
        if not isinstance(fields, dict):
            raise ValueError("it is no map")
    except ValueError as error:
        raise ApiError(
            400, f"invalid_{what}", f"the {what} cannot be read as MessagePack: {error}"
        ) from error
    return fields


def packed(fields: Mapping[str, str | bytes]) -> bytes:
    return msgpack.packb(fields)


class _Counter:
    """Ends the reading of what has too many values. The library bounds each list, and not all together."""

    def __init__(self) -> None:
        self._left = MOST_MESSAGE_VALUES

    def counted(self, values: Sequence[Any]) -> Sequence[Any]:
        self._left -= 1 + len(values)
        if self._left < 0:
            raise ValueError(f"it has more than {MOST_MESSAGE_VALUES} values")
        return values

    def fields(self, pairs: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
        if not all(isinstance(name, str) for name, _ in self.counted(pairs)):
            raise ValueError("a name is no string")
        return dict(pairs)
