"""The bodies of `/api/books`, and what a take says of a block."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from gateway.bodies import Body
from gateway.errors import ApiError
from gateway.jobs.request import JobRequest, Line
from gateway.requests import MAX_SEED, Language, Pronunciations
from gateway.settings import GatewaySettings
from gateway.settings.storage import MOST_BOOK_BLOCKS
from models.sentences import has_words

LONGEST_PAUSE_MS = 10_000
_USUAL_PAUSE_MS = 700
_MOST_VOICES = 100
_MOST_PRONUNCIATIONS = 20_000
"""Of all blocks: each is looked at on the event loop."""

Title = Annotated[Line, Field(min_length=1, max_length=160)]
VoiceName = Annotated[Line, Field(min_length=1, max_length=128)]
Id = Annotated[Line, Field(min_length=1, max_length=40)]


class _Body(Body):
    model_config = ConfigDict(use_attribute_docstrings=True)


class NewBlock(_Body):
    """A chapter's heading or a paragraph."""

    kind: Literal["chapter", "paragraph"] = "paragraph"
    """What the block is; with a chapter's heading, a chapter begins in the exported file."""
    text: Annotated[Line, Field(min_length=1)]
    """What is spoken."""
    voice: VoiceName | None = None
    """Who speaks it; left out: the book's voice."""
    pause_ms: Annotated[int, Field(ge=0, le=LONGEST_PAUSE_MS)] = _USUAL_PAUSE_MS
    """Milliseconds of silence after it."""
    pronunciations: Pronunciations = Field(default_factory=dict)
    """Words of it and how they are said."""


class Block(NewBlock):
    """One that is there already has an id."""

    id: Id | None = None
    """Id of a block that is there already; left out: a new one."""


class NewBook(_Body):
    """The body of `POST /api/books`."""

    title: Title
    """What it is called."""
    voice: VoiceName = "default"
    """Who speaks blocks that name nobody."""
    language: Language | None = None
    """Of its text; left out: told from each block."""
    blocks: Annotated[list[NewBlock], Field(fail_fast=True, max_length=MOST_BOOK_BLOCKS)]
    """What is spoken, in this order."""


class BookChange(_Body):
    """The body of `PATCH /api/books/{id}`; what is left out stays."""

    title: Title = ""
    """What it is called."""
    voice: VoiceName = ""
    """Who speaks blocks that name nobody."""
    language: Language | None = None
    """Of its text; left out: told from each block."""


class BlocksChange(_Body):
    """The body of `PUT /api/books/{id}/blocks`."""

    version: int
    """Version of the book that the client has changed."""
    blocks: Annotated[list[Block], Field(fail_fast=True, max_length=MOST_BOOK_BLOCKS)]
    """All that there are then, in this order."""


class MakeRequest(_Body):
    """The body of `POST /api/books/{id}/make`."""

    blocks: Annotated[list[Id], Field(fail_fast=True)] | None = None
    """Ids of the blocks to make; left out: all that have no take of what they say now."""


class TakeRequest(_Body):
    """The body of `POST /api/books/{id}/blocks/{block}/takes`."""

    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None
    """Seed of the take; left out: drawn at random."""


class TakeChoice(_Body):
    """The body of `PUT /api/books/{id}/blocks/{block}/take`."""

    take: Id
    """Id of the take that is heard."""


def check_number(count: int, settings: GatewaySettings) -> None:
    """Raise ApiError 422 for more blocks than a book may have."""
    if count > settings.max_book_blocks:
        message = f"blocks: a book has at most {settings.max_book_blocks}, not {count}"
        raise ApiError(422, "too_many_blocks", message, param="blocks")


def check_pronunciations(blocks: Sequence[Any]) -> None:
    """Raise ApiError 422 where blocks, as a client sent them, say more words otherwise than a book may."""
    said = (block.get("pronunciations") for block in blocks if isinstance(block, dict))
    count = sum(len(words) for words in said if isinstance(words, dict))
    if count > _MOST_PRONUNCIATIONS:
        message = f"blocks: a book has at most {_MOST_PRONUNCIATIONS} pronunciations, not {count}"
        raise ApiError(422, "invalid_value", message, param="blocks")


def check_blocks(blocks: Sequence[NewBlock], settings: GatewaySettings) -> None:
    """Raise ApiError 422 when there are too many voices, or too much text, in them."""
    characters, limit = sum(len(block.text) for block in blocks), settings.max_job_characters
    if characters > limit:
        message = f"blocks have {characters} characters together, at most {limit} are allowed for a book"
        raise ApiError(422, "text_too_long", message, param="blocks")
    voices = {block.voice for block in blocks}
    if len(voices) > _MOST_VOICES:
        message = f"blocks: a book has at most {_MOST_VOICES} voices, not {len(voices)}"
        raise ApiError(422, "too_many_book_voices", message, param="blocks")


def said_by(text: str, voice: str, language: str | None, pronunciations: Mapping[str, Any]) -> str:
    """A hash of what a take depends on except its seed; "" for a text without words, which is silence."""
    if not has_words(text):
        return ""
    what = [text, voice, language, sorted(pronunciations.items())]
    return hashlib.sha256(json.dumps(what, ensure_ascii=True).encode()).hexdigest()


def order_for(
    text: str, voice: str, language: str | None, pronunciations: Mapping[str, Any], seed: int | None
) -> JobRequest:
    """The job that speaks a block. Raises ApiError 422 where there are no words."""
    if not has_words(text):
        raise ApiError(422, "empty_text", "the block has no words", param="text")
    return JobRequest(
        text=text, voice=voice, language=language, lexicon=dict(pronunciations), seed=seed, format="wav",
        timestamps="word", chapters="none",
    )  # fmt: skip
