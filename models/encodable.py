"""Texts that are none, which JSON and Python can hold."""

from __future__ import annotations

from engine.errors import RequestError


def check_encodable(text: str, name: str) -> None:
    """Raises RequestError for half a surrogate pair, which is no character and which no tokenizer takes, and
    for what is no text at all.
    """
    if not isinstance(text, str):
        raise RequestError(f"{name} must be a text, got {text!r}", param=name)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RequestError(
            f"{name} has a lone surrogate, which is no character, at position {error.start}", param=name
        ) from None
