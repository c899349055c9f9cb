"""Long texts in blocks, each made and heard by itself."""

from __future__ import annotations

from gateway.description.media import AUDIO, RESULTS, WORDS
from gateway.description.operation import Given, Operation, Tag

_ID = {"id": Given("book")}
_BLOCK = {**_ID, "block": Given("block")}
_TAKE = {**_BLOCK, "take": Given("take")}

TAG = Tag(
    "Books",
    "Long texts in blocks with voices of their own, each made and heard by itself, exported with chapters.",
    (
        Operation(
            "POST", "/api/documents", "Read a document", file="file", upload="text/plain", access="user"
        ),
        Operation(
            "POST",
            "/api/books",
            "Begin a book",
            body={
                "title": "Opening hours",
                "voice": "default",
                "blocks": [
                    {"kind": "chapter", "text": "Chapter 1"},
                    {"text": "Doors open at nine.", "pause_ms": 500},
                ],
            },
            gives={"book": "id", "block": "blocks.1.id", "heading": "blocks.0.id", "version": "version"},
        ),
        Operation("GET", "/api/books", "List books", parameters={"limit": 50}),
        Operation(
            "PATCH", "/api/books/{id}", "Change a book", parameters=_ID, body={"title": "When we open"}
        ),
        Operation(
            "PUT",
            "/api/books/{id}/blocks",
            "Replace the blocks of a book",
            parameters=_ID,
            body={
                "version": Given("version"),
                "blocks": [
                    {"id": Given("heading"), "kind": "chapter", "text": "Chapter 1"},
                    {"id": Given("block"), "text": "Doors open at nine, every day.", "pause_ms": 500},
                ],
            },
        ),
        Operation("POST", "/api/books/{id}/make", "Speak what has no audio yet", parameters=_ID, body={}),
        Operation(
            "GET",
            "/api/books/{id}",
            "Read a book",
            parameters=_ID,
            until=("progress.ready", 2),
            gives={"take": "blocks.1.takes.0.id"},
        ),
        Operation(
            "PUT",
            "/api/books/{id}/blocks/{block}/take",
            "Choose the take that is heard",
            parameters=_BLOCK,
            body={"take": Given("take")},
        ),
        Operation(
            "GET",
            "/api/books/{id}/blocks/{block}/takes/{take}/audio",
            "Hear a take",
            parameters={**_TAKE, "format": "wav"},
            media=AUDIO,
        ),
        Operation(
            "GET",
            "/api/books/{id}/blocks/{block}/takes/{take}/words.{form}",
            "When the words of a take are said",
            parameters={**_TAKE, "form": "json"},
            media=WORDS,
        ),
        Operation(
            "GET",
            "/api/books/{id}/export",
            "Export a book",
            parameters={**_ID, "format": "mp3"},
            media=(*RESULTS, *WORDS[:2]),
        ),
        Operation(
            "POST",
            "/api/books/{id}/blocks/{block}/takes",
            "Speak a block once more",
            parameters=_BLOCK,
            body={"seed": 7},
        ),
        Operation("DELETE", "/api/books/{id}/make", "Stop speaking a book", parameters=_ID),
        Operation("DELETE", "/api/books/{id}/blocks/{block}/takes/{take}", "Delete a take", parameters=_TAKE),
        Operation("DELETE", "/api/books/{id}", "Delete a book", parameters=_ID),
    ),
)
