"""What crosses between a pool and the process of a device: records, whose values are plain or arrays.

    first, second = pack([{"call": 1, "what": "encode", "samples": samples, "role": "prompt"}])
    (record,) = unpack(message)

Records are JSON, and arrays raw bytes behind it. Nothing is unpickled. A CALL is answered by one RESULT with
its number: what is asked for, or an `error`. So requests are accepted; what comes of them are OUTPUTS, those
of a step in one message.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

import numpy as np

from engine.errors import DeviceLostError, EngineError, OptionsError, RequestError, WeightError
from engine.parallel.channel import Message, Number
from models.config_fields import ConfigError
from models.lora.adapter import AdapterError

Record = Mapping[str, Any]
_ERRORS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        *(RequestError, OptionsError, WeightError, DeviceLostError, EngineError, ConfigError, AdapterError),
        *(ValueError, TypeError, OSError, MemoryError, RuntimeError),
    )
}
"""What arrives as what it was; any other error is an EngineError."""


class Kind(IntEnum):
    """The kinds of messages."""

    CALL = Number.FIRST_STEP
    CANCEL = Number.FIRST_STEP + 1
    RESULT = Number.FIRST_STEP + 2
    OUTPUTS = Number.FIRST_STEP + 3
    PROGRESS = Number.FIRST_STEP + 4
    FORGET = Number.FIRST_STEP + 5


def pack(records: Iterable[Record]) -> tuple[bytes, bytes]:
    """Both parts of a message."""
    data: list[bytes] = []

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            data.append(np.ascontiguousarray(value).tobytes())
            return {"dtype": value.dtype.str, "shape": value.shape}
        return value

    plain_records = [{name: plain(value) for name, value in record.items()} for record in records]
    return json.dumps(plain_records, default=_python_number).encode(), b"".join(data)


def unpack(message: Message) -> list[dict[str, Any]]:
    """The records of a message; arrays are the caller's own."""
    records, start = message.json(), 0
    for record in records:
        for name, value in record.items():
            if isinstance(value, dict) and value.keys() == {"dtype", "shape"}:
                dtype, shape = np.dtype(value["dtype"]), value["shape"]
                array = np.frombuffer(message.second, dtype, math.prod(shape), start)
                record[name] = array.reshape(shape).copy()
                start += array.nbytes
    return records


def error_record(error: BaseException) -> dict[str, Any]:
    """An error as `error_of` takes it."""
    name = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _ERRORS), None)
    message = str(error) if name else f"{type(error).__name__}: {error}"
    return {"type": name or "EngineError", "message": message, "attributes": _plain_attributes(error)}


def error_of(record: Record) -> Exception:
    """The error that was told, with its words and attributes."""
    kind = _ERRORS[record["type"]]
    error = kind.__new__(kind, record["message"])
    vars(error).update(record["attributes"])
    return error


def _plain_attributes(error: BaseException) -> dict[str, Any]:
    return {name: value for name, value in vars(error).items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float | None)


def _python_number(value: Any) -> Any:
    """A Python number for one of NumPy's, which JSON does not know."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is nothing that a request can hold")
