"""Texts that are none, which JSON and Python can hold."""

from __future__ import annotations

from engine.errors import RequestError


def check_encodable(text: str, name: str) -> None:
    """Raises RequestError for half a surrogate pair, which is no character and which no tokenizer takes."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RequestError(
            f"{name} has a lone surrogate, which is no character, at position {error.start}", param=name
        ) from None
