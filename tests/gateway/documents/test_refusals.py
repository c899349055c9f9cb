"""S7: what is hostile or damaged gets a clear refusal, or is read without harm."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.documents.reading import Documents
from gateway.errors import ApiError
from tests.gateway.documents.files import (
    CONTAINER,
    LINES,
    LOCKED,
    ODT_WALK,
    PAGES,
    WALKS,
    epub,
    fodt,
    odt,
    page,
    pdf,
    zipped,
)
from tests.gateway.documents.told import MOST_CHARACTERS, marked, opened, refusal


def bomb(name: str = "OPS/1.xhtml") -> bytes:
    """An EPUB with a page of 80 MB that takes 80 kB."""
    return epub({"1.xhtml": page("<p>A.</p>"), "2.xhtml": page(f"<p>{' ' * (80 << 20)}</p>")})


def lying() -> bytes:
    """A page whose head says that it is shorter than it is."""
    files = epub({"1.xhtml": page(f"<p>{'A' * 100_000}</p>")})
    return files.replace((100_000 + len(page("<p></p>"))).to_bytes(4, "little"), (50).to_bytes(4, "little"))


ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
LAUGHS = page("<p>&e9;</p>", f'<!DOCTYPE html [<!ENTITY e0 "ha">{ENTITIES}]>')
OUTSIDE = page("<p>A.&x;</p>", '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]>')
DEEP = page("<div>" * 50_000 + "deep" + "</div>" * 50_000)
ENCRYPTION = (
    '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><e:EncryptedData'
    ' xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:CipherData><e:CipherReference URI="OPS/1.xhtml"/>'
    "</e:CipherData></e:EncryptedData></encryption>"
)
PROTECTED = (
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/></manifest:file-entry>'
    "</manifest:manifest>"
)
ATTRIBUTES = f"<p {' '.join(f'a{number}' for number in range(1001))}>A.</p>"
REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "a bomb": (bomb, "document_too_large"),
    "a page whose tag never ends": (lambda: ATTRIBUTES.encode(), "document_unreadable"),
    "one in an epub": (
        lambda: epub({"1.xhtml": f'<!-- <a b=" --><script>a<b "</script>{ATTRIBUTES}'}),
        "document_unreadable",
    ),
    "a bomb as docx": (
        lambda: zipped({"word/document.xml": " " * (80 << 20)}), "document_too_large",
    ),
    "a bomb as odt": (lambda: odt("", **{"styles.xml": " " * (80 << 20)}), "document_too_large"),
    "a protected odt": (lambda: odt("<text:p>A.</text:p>", **{"META-INF/manifest.xml": PROTECTED}),
                        "document_encrypted"),
    "an odt in a package that is locked": (lambda: zipped({"encrypted-package": "A"}), "document_encrypted"),
    "half an odt": (lambda: zipped({"content.xml": "<a>"}), "document_unreadable"),
    "half an fodt": (lambda: fodt(ODT_WALK)[:-9], "document_unreadable"),
    "a flat sheet": (lambda: fodt("").replace(b"office:text", b"office:spreadsheet"), "document_format"),
    "xml": (lambda: b"\xef\xbb\xbf<?xml version='1.0'?>\n<feed><title>A.</title></feed>", "document_format"),
    "xml that does not say so": (lambda: b"\n<speak>A <break/> b.</speak>\n", "document_format"),
    "a sheet": (lambda: zipped({"content.xml": "<a/>"}), "document_format"),
    "many files": (lambda: zipped({f"{n}": "" for n in range(10_001)}), "document_too_large"),
    "a zip that lies": (lying, "document_unreadable"),
    "a zip of other things": (lambda: zipped({"a.txt": "A."}), "document_format"),
    "another packing": (lambda: zipped({"META-INF/container.xml": CONTAINER}, zipfile.ZIP_LZMA),
                        "document_unreadable"),
    "no package": (lambda: zipped({"META-INF/container.xml": CONTAINER}), "document_unreadable"),
    "half a zip": (lambda: WALKS["epub"][:200], "document_unreadable"),
    "a protected book": (lambda: epub(PAGES, **{"META-INF/encryption.xml": ENCRYPTION}),
                         "document_encrypted"),
    "a locked pdf": (lambda: pdf(*LINES, trailer=LOCKED), "document_encrypted"),
    "half a pdf": (lambda: WALKS["pdf"][:60], "document_unreadable"),
    "pictures": (lambda: pdf([], []), "document_without_text"),
    "too many pages": (lambda: pdf(*[[]] * 5001), "document_too_many_pages"),
    "too long": (lambda: b"All work and no play. " * 1000, "document_too_long"),
    "a long page": (lambda: epub({"1.xhtml": page(f"<p>{'A b. ' * 9999}</p>")}), "document_too_long"),
    "nothing": (lambda: b"  \n\n ", "document_empty"),
    "a page of nothing": (lambda: b"<html><body></body></html>", "document_empty"),
    "a picture": (lambda: b"\x89PNG\r\n\x1a\n" + bytes(100), "document_format"),
    "old Word": (lambda: b"\xd0\xcf\x11\xe0" + bytes(100), "document_format"),
    "half an rtf": (lambda: b"{\\rtf1 {A.}", "document_unreadable"),
    "an rtf of groups": (lambda: b"{\\rtf1 " + b"{" * 10**6, "document_unreadable"),
    "a picture in rtf": (lambda: b"{\\rtf1{\\pict 00ff}}", "document_empty"),
    "a long rtf": (lambda: b"{\\rtf1 " + b"\\u246 ?" * 30_000 + b"}", "document_too_long"),
    "bytes": (lambda: bytes(range(256)), "document_format"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
async def test_it_is_refused(what: str, path: Path) -> None:
    make, code = REFUSED[what]
    assert await refusal(make(), path) == code


@pytest.mark.parametrize("content", [LAUGHS, OUTSIDE, DEEP], ids=["laughs", "outside", "deep"])
async def test_hostile_xml_is_read_without_harm_or_refused(content: str, path: Path) -> None:
    """Nothing is expanded, nothing outside is read, and the child ends."""
    try:
        text = " ".join(await marked(epub({"1.xhtml": content, "2.xhtml": PAGES["2.xhtml"]}), path))
    except ApiError as error:
        assert error.code == "document_unreadable"
    else:
        assert "haha" not in text and "root:" not in text and "They came home." in text


async def test_a_reader_that_takes_too_long_is_ended(path: Path) -> None:
    with opened(WALKS["txt"], path) as file, pytest.raises(ApiError) as refused:
        await Documents(MOST_CHARACTERS, wall_seconds=0.0).read(file.fileno())
    assert refused.value.code == "document_unreadable"
