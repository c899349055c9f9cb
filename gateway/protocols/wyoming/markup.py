"""A text that is SSML, in pieces: what is said, and silences. How fast it is to be said is passed over."""

from __future__ import annotations

from gateway.errors import ApiError
from gateway.protocols.tags import Piece
from gateway.text.ssml import Passage, SsmlError, parse_ssml


def pieces(source: str) -> list[Piece]:
    """In their order. Raises ApiError."""
    try:
        script = parse_ssml(source)
    except SsmlError as error:
        raise ApiError(422, "invalid_ssml", f"text: {error}", param="text") from error
    said: list[Piece] = []
    for passage in script.passages:
        said += [passage.pause, f"{_said(passage)} "]
    return [piece for piece in (*said, script.pause_after) if piece]


def _said(passage: Passage) -> str:
    text = passage.text
    for edit in reversed(passage.fixed):
        text = text[: edit.start] + edit.spoken + text[edit.end :]
    return text
