"""What the models of bodies have in common that clients send as JSON, and how much JSON is read at all."""

from __future__ import annotations

import asyncio
import codecs
import json
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from gateway.bounds import few_fields
from gateway.errors import ApiError, not_json
from sockets.json_signs import Signs

_HEAD_BYTES = 4
MOST_MESSAGE_VALUES = 2000
"""Of a message over a socket; the largest of ours is a request with a lexicon."""


MOST_BODY_VALUES = 50_000
"""Of a body, where nothing else is said."""
AT_A_TIME = 100
"""Entries of a list that are looked at in one turn of the event loop, where it may have thousands."""


class Body(BaseModel):
    """Nothing is converted, unknown fields are refused, and of very many no more than the first are read."""

    model_config = ConfigDict(extra="forbid", strict=True)

    _few_fields = model_validator(mode="before")(few_fields)


async def validate_in_turns(kind: type[BaseModel], entries: list[Any]) -> None:
    """Put models in the place of the entries of a parsed body, up to one that is wrong: whoever validates the
    body meets it, and takes the models as they are.
    """
    models = TypeAdapter(list[kind])
    for start in range(0, len(entries), AT_A_TIME):
        some = slice(start, start + AT_A_TIME)
        try:
            entries[some] = models.validate_python(entries[some])
        except ValidationError:
            return
        await asyncio.sleep(0)


def parse_message(message: str | bytes, what: str = "message") -> Any:
    """What a message over a socket says. `what`: its protocol's word for it. Raises ApiError.

    A megabyte of tiny lists takes a fifth of a second to parse, so nothing is parsed that holds too many.
    """
    try:
        text = message if isinstance(message, str) else message.decode()
        if has_too_many_values(text.encode("utf-8", "replace"), MOST_MESSAGE_VALUES):
            reason = f"the {what} has more than {MOST_MESSAGE_VALUES} values"
            raise ApiError(400, "invalid_json", reason)
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise not_json(error, what) from error


class ValueCount:
    """Of a body that comes in chunks."""

    def __init__(self, most: int, most_lists: int | None = None) -> None:
        """`most_lists`: how many of them may be lists or objects; None: all."""
        self._most = most
        self._most_lists = most if most_lists is None else most_lists
        self._signs = Signs()
        self._head: bytes | None = b""
        """Until it tells the encoding."""
        self._decoder: codecs.IncrementalDecoder | None = None
        """Of an encoding in which signs are not what they are in ASCII."""

    def add(self, chunk: bytes) -> None:
        """More of it."""
        if self._head is not None:
            chunk = self._head = self._head + chunk
            if len(chunk) < _HEAD_BYTES:
                return
            encoding, self._head = json.detect_encoding(chunk), None
            if not encoding.startswith("utf-8"):
                self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        if self._decoder is not None:
            chunk = self._decoder.decode(chunk).encode("utf-8", "replace")
        self._signs.add(chunk)

    def check(self) -> None:
        """All of it is there. Raises ApiError for too many, before anybody parses it."""
        if self.count > self._most:
            raise ApiError(400, "invalid_json", f"the body has more than {self._most} values")
        if self._signs.begins > self._most_lists:
            reason = f"the body has more than {self._most_lists} lists and objects"
            raise ApiError(400, "invalid_json", reason)

    @property
    def count(self) -> int:
        """Of what has come."""
        return self._signs.count


def has_too_many_values(text: bytes, most: int) -> bool:
    """Whether JSON has more lists, objects and commas than `most`, those in strings apart."""
    values = ValueCount(most)
    values.add(text)
    return values.count > most
