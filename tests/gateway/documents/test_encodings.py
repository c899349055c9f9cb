"""S7: text files and web pages are read in the encoding that they have, or refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from unicodedata import normalize

import pytest

from tests.gateway.documents.told import marked, read, refusal


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
async def test_chinese_text_is_read_in_any_encoding(encoding: str, path: Path) -> None:
    text = "第一章 散步\n\n他们走了很久，天下着雨。\n\n第二章 回家\n\n他们终于回家了。"
    document = await read(text.encode(encoding), path)
    assert [block.kind for block in document.blocks] == ["chapter", "paragraph"] * 2
    assert document.blocks[1].text == "他们走了很久，天下着雨。"
    assert document.language == "zh"


async def test_latin_text_without_a_mark_is_read(path: Path) -> None:
    assert await marked("Caf\u00e9 \u00e0 la carte.".encode("cp1252"), path) == ["Caf\u00e9 \u00e0 la carte."]


WRITINGS = json.loads((Path(__file__).parents[2] / "writings.json").read_text(encoding="utf-8"))
"""Texts, their encodings as Python and as browsers call them, and as a listener is told."""
RUSSIAN = WRITINGS["told"][0]["text"]


@pytest.mark.parametrize("writing", WRITINGS["told"], ids=lambda writing: writing["encoding"])
async def test_text_is_read_in_the_encoding_of_its_writing(writing: dict[str, str], path: Path) -> None:
    document = await read(writing["text"].encode(writing["encoding"]), path)
    words = "\n\n".join(block.text for block in document.blocks)
    assert words == normalize("NFC", writing["text"].replace("# ", "").replace("*", ""))
    (warning,) = document.warnings
    assert f"was read as {writing['named']} (" in warning


async def test_bytes_of_no_writing_are_refused(path: Path) -> None:
    for unknown in WRITINGS["unknown"]:
        assert await refusal(bytes.fromhex(unknown["bytes"]), path) == "document_encoding"


def test_the_pages_have_the_same_tables_of_letters() -> None:
    root = Path(__file__).parents[3]
    tables = ("gateway/documents/reader/plain/writings.py", "frontend/static/js/shared/files/writings.js")
    texts = [(root / table).read_text(encoding="utf-8").partition("WESTERN = ")[0] for table in tables]
    ours, theirs = (re.findall('"([^"\n]{12,})"', text) for text in texts)
    assert ours == theirs
    assert len(ours) > 40


async def test_a_page_is_in_the_encoding_that_it_names_or_in_that_of_its_writing(path: Path) -> None:
    greek = next(writing["text"] for writing in WRITINGS["told"] if writing["encoding"] == "cp1253")
    czech = next(writing["text"] for writing in WRITINGS["told"] if writing["text"].startswith("Příliš"))
    for charset, text in (("euc-jp", "吾輩は猫である。"), ("iso-8859-7", greek), ("koi8-r", RUSSIAN)):
        whole = f'<html><head><meta charset="{charset}"></head><body><p>{text}</p></body></html>'
        assert await marked(whole.encode(charset), path) == [text]
    for encoding, text in (("cp1251", RUSSIAN), ("cp1250", czech)):
        assert await marked(f"<html><body><p>{text}</p></body></html>".encode(encoding), path) == [text]


async def test_damaged_bytes_make_no_other_encoding_of_a_text(path: Path) -> None:
    damaged = RUSSIAN.encode().replace("семьи".encode(), b"\xff", 1)
    document = await read(damaged, path)
    assert document.blocks[0].text == RUSSIAN.replace("семьи", "\ufffd", 1)
    assert document.warnings == []
