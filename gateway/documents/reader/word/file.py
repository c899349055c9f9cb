"""Word's docx: paragraphs in order, tables and content controls included, headings by their styles."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO

import docx
from archive import Archive
from docx.opc.exceptions import PackageNotFoundError
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph
from lxml import etree
from refusal import Refusal
from rows import Rows, Tags
from text import Text, raised
from word.numbers import Numbers
from word.styles import level_by_names

MAIN_PART = "word/document.xml"
_BREAKS = {qn("w:tab"): " ", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}
_TEXT, _BOX = qn("w:t"), qn("w:txbxContent")
_SILENT = (_BOX, qn("w:moveFrom"), qn("w:rt"))
"""Boxes, what was moved away, and how characters are read, which stands above them."""
_RUN, _PROPERTIES, _HIDDEN, _HEIGHT = qn("w:r"), qn("w:rPr"), qn("w:vanish"), qn("w:vertAlign")
_VALUE, _OFF = qn("w:val"), ("0", "false", "off")
_PARAGRAPH = qn("w:p")
_TABLE = Tags(qn("w:tr"), qn("w:tc"), (_PARAGRAPH,))
_MOST_STYLES = 10
"""That are based on each other."""


def read_word(file: BinaryIO, archive: Archive, text: Text) -> None:
    """A document into `text`. Raises Refusal for one that is damaged or too large."""
    archive.check_whole()
    file.seek(0)
    try:
        document = docx.Document(file)
    except (PackageNotFoundError, KeyError, ValueError, AttributeError, etree.XMLSyntaxError):
        raise Refusal("document_unreadable") from None
    said = document.core_properties
    text.say(said.title, said.author if said.author != "python-docx" else "", said.language)
    levels: dict[str | None, int | None] = {}
    numbers, rows = Numbers(document), Rows(text, _TABLE)
    for element in document.element.body.iter(_PARAGRAPH):
        paragraph = Paragraph(element, document)
        style = element.style
        if style not in levels:
            levels[style] = level_by_names(_names(paragraph))
        level = levels[style]
        if level is not None and not any(True for _ in element.iterancestors(_BOX)):
            number, words = numbers.before(element), _words(element)
            words = number + words if words.strip() else ""
            if not rows.takes(element, words):
                text.add(words, level)
    rows.end()


def rehearse() -> None:
    """Write a document and read it, so that nothing is left to be imported."""
    file = io.BytesIO()
    document = docx.Document()
    document.add_heading("A", 1)
    document.add_paragraph("b")
    document.save(file)
    file.seek(0)
    read_word(file, Archive(file), Text(100))


def _names(paragraph: Paragraph) -> Iterator[str]:
    """The names of its style and of those that it is based on."""
    style = paragraph.style
    for _ in range(_MOST_STYLES):
        if style is None:
            break
        yield style.name or ""
        style = style.base_style


def _words(paragraph: etree._Element) -> str:
    """Its text as it is shown with all changes made; without that of boxes in it, or above it."""
    words = ""
    for element in paragraph.iter(_TEXT, *_BREAKS):
        if any(parent.tag in _SILENT for parent in element.iterancestors()):
            continue
        said = _BREAKS.get(element.tag, element.text or "")
        properties = _properties(element)
        if properties.get(_HIDDEN, "0") in _OFF:
            words += raised(words, said) if properties.get(_HEIGHT) == "superscript" else said
    return words


def _properties(element: etree._Element) -> dict[str, str]:
    """Properties of the run around the element: name -> value; "true" where none is given."""
    run = element.getparent()
    found = run.find(_PROPERTIES) if run is not None and run.tag == _RUN else None
    return {each.tag: each.get(_VALUE, "true") for each in ([] if found is None else found)}
