"""Documents as blocks of text, in the confined child. What a file is, its content says, not its name."""

from __future__ import annotations

import re
from typing import BinaryIO

from archive import Archive
from epub_book import CONTAINER, read_epub
from lxml import etree
from odt import file as odt_file
from pdf import file as pdf_file
from plain.character_sets import GUESSES
from plain.markdown_text import looks_like_markdown, read_markdown
from plain.plain_text import characters, decoded, read_text
from plain.subtitles import looks_like_subtitles, read_subtitles
from refusal import Refusal
from rtf import file as rtf_file
from text import Text
from web_page import local_name, parsed_xml, read_page
from word import file as word_file

_PDF_HEAD_BYTES = 1024
_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:(?><!--.*?-->)\s*)*"
    rb"<(?:!doctype\s+html|html|head|body|main|article|section|div|p|h[1-6]|title|meta|table)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_XML = re.compile(r"\s*<(?:(\?xml\s)|[^\W\d][\w.:-]*[\s/>])")
"""Or what begins so; the group is of what says that it is."""
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
"""Of UTF-16 and UTF-32."""
_OTHERS = (b"\xd0\xcf\x11\xe0", b"PK", b"\x89PNG", b"\xff\xd8\xff", b"GIF8")
"""What looks like text at times and is none: Word's old format, zips without a first entry, pictures."""


def read(file: BinaryIO, most_characters: str) -> tuple[dict[str, object], bytes]:
    """What is in the file. Raises Refusal."""
    text = Text(int(most_characters))
    try:
        return text.facts(_read(file, text)), b""
    except (etree.LxmlError, MemoryError, RecursionError):
        raise Refusal("document_unreadable") from None


def rehearse() -> None:
    """Read something of every format: what is imported on first use is imported while that is possible."""
    word_file.rehearse()
    pdf_file.rehearse()
    rtf_file.rehearse()
    for content in ("# A\n\n[b](c) **d**\n\n<p>e</p>\n", "<p>caf&eacute;</p>"):
        read_markdown(content, Text(100))
        read_page(content.encode(), Text(100))
    for encoding in ("utf-8", "utf-16", "utf-32", *GUESSES):
        characters("a".encode(encoding), encoding)


def _read(file: BinaryIO, text: Text) -> str:
    """The name of its format."""
    head = file.read(_PDF_HEAD_BYTES)
    file.seek(0)
    if b"%PDF-" in head:
        pdf_file.read_pdf(file.read(), text)
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return _read_archive(file, text)
    if head.startswith(rtf_file.BEGINNING):
        rtf_file.read_rtf(file.read(), text)
        return "rtf"
    if head.startswith(_OTHERS):
        raise Refusal("document_format")
    content = file.read()
    if _HTML.match(content.removeprefix(b"\xef\xbb\xbf")):
        read_page(content, text)
        return "html"
    words, text.encoding = decoded(content)
    if content.startswith(_WIDE_MARKS) and _HTML.match(head := words.encode()):
        read_page(b"\xef\xbb\xbf" + head, text)
        return "html"
    if (begun := _XML.match(words)) and (format := _read_xml(content, text, is_declared=bool(begun[1]))):
        return format
    if looks_like_subtitles(words):
        read_subtitles(words, text)
        return "srt"
    if looks_like_markdown(words):
        read_markdown(words, text)
        return "md"
    read_text(words, text)
    return "txt"


def _read_xml(content: bytes, text: Text, *, is_declared: bool) -> str | None:
    """The name of its format; None where it is no XML after all. Raises Refusal for XML of another format."""
    try:
        root = parsed_xml(content)
    except etree.XMLSyntaxError:
        if is_declared:
            raise
        return None
    text.encoding = ""
    if local_name(root) == "html":
        read_page(content, text)
        return "html"
    if root.tag != odt_file.FLAT_ROOT:
        raise Refusal("document_format")
    odt_file.read_flat(root, text)
    return "odt"


def _read_archive(file: BinaryIO, text: Text) -> str:
    archive = Archive(file)
    if CONTAINER in archive:
        read_epub(archive, text)
        return "epub"
    if word_file.MAIN_PART in archive:
        word_file.read_word(file, archive, text)
        return "docx"
    if odt_file.MAIN_PART in archive or odt_file.LOCKED_PART in archive:
        odt_file.read_odt(archive, text)
        return "odt"
    raise Refusal("document_format")
