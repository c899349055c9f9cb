"""LibreOffice's odt (OpenDocument text): paragraphs in order, in sections, lists and tables too.

The same as one file of XML is fodt, "flat".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from archive import Archive
from lxml import etree
from odt.numbers import Numbers
from odt.styles import TABLE, TEXT, Styles
from refusal import Refusal
from rows import Rows, Tags
from text import Text, raised
from web_page import parsed_xml

MAIN_PART = "content.xml"
LOCKED_PART = "encrypted-package"
"""All that a file has which newer programs have encrypted."""
_MANIFEST, _STYLES, _FACTS = "META-INF/manifest.xml", "styles.xml", "meta.xml"
_ENCRYPTED = "{urn:oasis:names:tc:opendocument:xmlns:manifest:1.0}encryption-data"
FLAT_ROOT, _META, _BODY, _COMMENT, _FORMS = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:office:1.0}}{name}"
    for name in ("document", "meta", "text", "annotation", "forms")
)
_SILENT = (
    _COMMENT, _FORMS, "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}*",
    *(f"{TEXT}{name}" for name in (
        "tracked-changes", "note", "ruby-text", "number", "script", "table-of-content", "illustration-index",
        "table-index", "object-index", "user-index", "alphabetical-index",
    )),
)  # fmt: skip
"""What was deleted, notes, comments, how characters are read, boxes and pictures, contents."""
_HIDDEN_PARAGRAPH = f"{TEXT}hidden-paragraph"
_HIDING = (f"{TEXT}section", f"{TEXT}hidden-text", _HIDDEN_PARAGRAPH)
_PARAGRAPH = f"{TEXT}p"
_PARAGRAPHS = (_PARAGRAPH, f"{TEXT}h")
_LEVEL = re.compile(r"\d{1,2}", re.ASCII)
_LIST, _ITEM, _SPAN, _NAME = f"{TEXT}list", f"{TEXT}list-item", f"{TEXT}span", f"{TEXT}style-name"
_TABLE = Tags(f"{TABLE}table-row", f"{TABLE}table-cell", _PARAGRAPHS)
_SIGNS = {f"{TEXT}s": " ", f"{TEXT}tab": " ", f"{TEXT}line-break": "\n"}
_SPACES = re.compile(r"[ \t\r\n]+")


def read_odt(archive: Archive, text: Text) -> None:
    """A document into `text`. Raises Refusal for one that is damaged, encrypted, too large or no text."""
    if LOCKED_PART in archive or _is_encrypted(archive):
        raise Refusal("document_encrypted")
    content = parsed_xml(archive.read(MAIN_PART))
    styles = [parsed_xml(archive.read(_STYLES))] if _STYLES in archive else []
    if _FACTS in archive:
        _say(parsed_xml(archive.read(_FACTS)), text)
    _read_parts([*styles, content], text)


def read_flat(document: etree._Element, text: Text) -> None:
    """Read a document in one file, whose root is `FLAT_ROOT`, as `read_odt` does one in an archive."""
    facts = document.find(_META)
    if facts is not None:
        _say(facts, text)
    _read_parts([document], text)


def _read_parts(roots: Sequence[etree._Element], text: Text) -> None:
    """What the last of the parts says, by the styles of all."""
    body = next(roots[-1].iter(_BODY), None)
    if body is None:
        raise Refusal("document_format")
    styles = Styles(roots)
    _drop_what_is_silent(body)
    _read(body, styles, Numbers(roots, styles), text)


def _is_encrypted(archive: Archive) -> bool:
    if _MANIFEST not in archive:
        return False
    return next(parsed_xml(archive.read(_MANIFEST)).iter(_ENCRYPTED), None) is not None


def _say(facts: etree._Element, text: Text) -> None:
    said = {etree.QName(each).localname: each.text for each in facts.iter("{*}*")}
    text.say(said.get("title"), said.get("initial-creator") or said.get("creator"), said.get("language"))


def _drop_what_is_silent(body: etree._Element) -> None:
    """Take out the elements that nobody reads out."""
    for element in [each for each in body.iter(*_HIDING) if _is_hidden(each)]:
        if element.tag == _HIDDEN_PARAGRAPH:
            element = next(element.iterancestors(*_PARAGRAPHS), element)
        _drop(element)
    etree.strip_elements(body, *_SILENT, with_tail=False)


def _is_hidden(element: etree._Element) -> bool:
    """Whether nobody sees what it holds, or of a field what holds it."""
    shown = element.get(f"{TEXT}display")
    return shown == "none" or (shown in (None, "condition") and element.get(f"{TEXT}is-hidden") == "true")


def _read(body: etree._Element, styles: Styles, numbers: Numbers, text: Text) -> None:
    rows = Rows(text, _TABLE)
    for event, element in etree.iterwalk(body, ("start", "end"), tag=(_LIST, _ITEM, *_PARAGRAPHS)):
        if element.tag == _LIST:
            numbers.begin(element) if event == "start" else numbers.end()
        elif event == "start" and element.tag == _ITEM:
            numbers.item(element)
        elif event == "start":
            level = _level(element, styles)
            if level is None:
                continue
            number, words = numbers.before(element), _words(element, styles)
            words = number + words.lstrip() if words.strip() else ""
            if not rows.takes(element, words):
                text.add(words, level)
    rows.end()


def _level(paragraph: etree._Element, styles: Styles) -> int | None:
    """The level of a heading, by itself or the title's style; 0: a paragraph; None: not read out."""
    level = styles.level(paragraph.get(_NAME))
    if level is None or paragraph.tag == _PARAGRAPH:
        return level
    said = paragraph.get(f"{TEXT}outline-level", "")
    return max(1, min(6, int(said))) if _LEVEL.fullmatch(said) else 1


def _words(paragraph: etree._Element, styles: Styles) -> str:
    """Its text as it is shown with all changes made."""
    words, looks = "", [styles.look("paragraph", paragraph.get(_NAME))]
    for event, element in etree.iterwalk(paragraph, ("start", "end")):
        if event == "start":
            if element.tag == _SPAN:
                looks.append(styles.look("text", element.get(_NAME)).within(looks[-1]))
            said = _SIGNS.get(element.tag) or (element.text if isinstance(element.tag, str) else "")
        else:
            if element.tag == _SPAN:
                looks.pop()
            said = element.tail if element is not paragraph else ""
        if said and not looks[-1].hidden:
            said = said if element.tag in _SIGNS and event == "start" else _SPACES.sub(" ", said)
            words += raised(words, said) if looks[-1].raised else said
    return words


def _drop(element: etree._Element) -> None:
    """Take it out of its tree; what stands behind it stays."""
    around, before = element.getparent(), element.getprevious()
    if around is None:
        return
    if element.tail and before is not None:
        before.tail = (before.tail or "") + element.tail
    elif element.tail:
        around.text = (around.text or "") + element.tail
    around.remove(element)
