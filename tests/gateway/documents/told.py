"""What the service makes of a document that somebody uploads."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pytest

from gateway.documents.reading import Document, Documents
from gateway.errors import ApiError

MOST_CHARACTERS = 20_000


def opened(content: bytes, path: Path) -> BinaryIO:
    path.write_bytes(content)
    return path.open("rb")


async def read(content: bytes, path: Path, most: int = MOST_CHARACTERS) -> Document:
    with opened(content, path) as file:
        return await Documents(most).read(file.fileno())


async def marked(content: bytes, path: Path) -> list[str]:
    document = await read(content, path)
    return [("# " if block.kind == "chapter" else "") + block.text for block in document.blocks]


async def refusal(content: bytes, path: Path, most: int = MOST_CHARACTERS) -> str:
    with pytest.raises(ApiError) as refused:
        await read(content, path, most)
    assert (refused.value.status_code, refused.value.param) == (422, "file")
    return refused.value.code
