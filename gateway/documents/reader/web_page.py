"""HTML, of web pages and of the pages in an EPUB: what a reader would read out."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from lxml import etree
from markers import Count, Lists
from plain.character_sets import GUESSES, WESTERN, encoding_of
from plain.plain_text import characters
from refusal import Refusal
from text import BASE_CHARACTERS, Text, raised

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog",
    "div", "dl", "dt", "figcaption", "figure", "footer", "form", "header", "hr", "html", "legend", "li",
    "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul",
    *_HEADINGS,
}  # fmt: skip
_CELLS = frozenset({"td", "th"})
_SILENT = {
    "audio", "button", "canvas", "datalist", "head", "iframe", "input", "math", "menu", "nav",
    "noscript", "object", "option", "rp", "rt", "rtc", "script", "select", "style", "svg", "template",
    "textarea", "title", "video",
}  # fmt: skip
_SILENT_TYPES = frozenset({"pagebreak", "noteref", "doc-pagebreak", "doc-noteref"})
"""Of EPUB and DPUB-ARIA: page numbers, and the figures that stand for notes."""
_TYPES = ("{http://www.idpf.org/2007/ops}type", "epub:type", "role")
"""The second is what HTML's parser makes of the first, in a page that is no XML."""
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_LISTS = frozenset({"ol", "ul"})
_UNMARKED = re.compile(r"list-style(?:-type)?\s*:[^;]*\bnone\b", re.IGNORECASE)
_DECLARED = re.compile(rb"<meta[^>]{0,200}\bcharset\b|<\?xml[^>]{0,200}\bencoding\b", re.IGNORECASE)
_HEAD_BYTES = 4096
_MOST_ATTRIBUTES = 1000
"""Of an element."""
_ELEMENT = re.compile(rb"<[^<>]{0,500}>")
_NUMBER = re.compile(r"\s*([-+]?\d{1,9})(?!\d)", re.ASCII)
_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_ENTITIES = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})


def read_page(content: bytes, text: Text) -> None:
    """A file of HTML into `text`."""
    characters(content, _encoding_of(content))  # whatever has bytes of no text is no page
    root = parsed_html(content)
    head = {
        name: "".join(root.xpath(f"string((//meta[@name='{name}'])[1]/@content)")) for name in ("author",)
    }
    text.say(root.xpath("string((//title)[1])"), head["author"], root.get("lang"))
    Page(text).read(root)


def _encoding_of(content: bytes) -> str:
    """As its text tells it, without elements, whose names are English."""
    return encoding_of(_ELEMENT.sub(b" ", content)) or WESTERN


def parsed_html(content: bytes) -> etree._Element:
    """The tree of what is HTML more or less.

    Raises Refusal for nothing at all, for elements that are too deep in one another to be read (an old page
    closes few, so there are many), and for one with very many attributes.
    """
    encoding = _encoding_of(content)
    if encoding in GUESSES and (encoding == WESTERN or _DECLARED.search(content, 0, _HEAD_BYTES)):
        encoding = None  # what the page itself says
    elif encoding in GUESSES:
        encoding, content = "utf-8", characters(content, encoding).encode()
    if not content.strip():
        raise Refusal("document_empty")
    etree.fromstring(content, _html_parser(encoding, _FewAttributes()))
    parser = _html_parser(encoding)
    root = etree.fromstring(content, parser)
    if any(error.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for error in parser.error_log):
        raise Refusal("document_unreadable")
    if root is None:
        raise Refusal("document_empty")
    return root


class _FewAttributes:
    """Looks at elements before a tree is made of them, which takes the square of an element's attributes."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins. Raises Refusal."""
        if len(attributes) > _MOST_ATTRIBUTES:
            raise Refusal("document_unreadable")

    def close(self) -> None:
        """There are no more."""


def _html_parser(encoding: str | None, target: _FewAttributes | None = None) -> etree.HTMLParser:
    return etree.HTMLParser(
        encoding=encoding, target=target,
        no_network=True, remove_comments=True, remove_pis=True, huge_tree=True,
    )  # fmt: skip


def parsed_xml(content: bytes) -> etree._Element:
    """The tree of XML, of which no entity is expanded and nothing is loaded. Raises XMLSyntaxError."""
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, dtd_validation=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    return etree.fromstring(_ENTITY.sub(_as_number, content), parser)


def parsed_xhtml(content: bytes) -> etree._Element:
    """The tree of a page in an EPUB: XML, or what should be that."""
    try:
        return parsed_xml(content)
    except etree.XMLSyntaxError:
        return parsed_html(content)


def _as_number(match: re.Match[bytes]) -> bytes:
    """HTML's entities, which XML does not know, as numbers."""
    if match[1] in _XML_ENTITIES:
        return match[0]
    known = html.entities.html5.get(match[1].decode() + ";", "")
    return "".join(f"&#{ord(character)};" for character in known).encode() or b" "


def local_name(element: etree._Element) -> str:
    """Its tag without the namespace, in small letters; none of an entity, which is not expanded."""
    return etree.QName(element).localname.lower() if isinstance(element.tag, str) else ""


def types_of(element: etree._Element) -> set[str]:
    """The types that EPUB and ARIA give the element."""
    return {each for name in _TYPES for each in (element.get(name) or "").split()}


class Page:
    """Goes through a tree once, without recursion, and collects what is read out."""

    def __init__(
        self, text: Text, marks: Mapping[str, str] | None = None, chapter: str | None = None
    ) -> None:
        """marks: chapters that begin at elements, by their ids; `chapter` begins with the page."""
        self._text = text
        self._marks = marks or {}
        self._chapter = chapter
        self._pieces: list[str] = []
        self._levels: list[int] = []
        self._raised: list[int] = []
        """How many pieces there were before each `sup` that is open."""
        self._verbatim = 0
        self._lists = Lists()

    def read(self, root: etree._Element) -> str | None:
        """Take all of it; the chapter that has begun and has no text yet."""
        silent: etree._Element | None = None
        for event, element in etree.iterwalk(root, events=("start", "end")):
            if event == "start":
                self._mark(element)
                if silent is None and _is_silent(element):
                    silent = element
                if silent is None:
                    self._begin(element)
            else:
                if silent is None:
                    self._end(element)
                elif silent is element:
                    silent = None
                if silent is None and element is not root:
                    self._say(element.tail)
        self._flush()
        return self._chapter

    def _mark(self, element: etree._Element) -> None:
        for name in ("id", "name", "{http://www.w3.org/XML/1998/namespace}id"):
            if (mark := element.get(name)) in self._marks:
                self._chapter = self._marks[mark]

    def _begin(self, element: etree._Element) -> None:
        name = local_name(element)
        if name in _BLOCKS:
            self._flush()
        if name in _LISTS:
            self._lists.begin(_count(element) if name == "ol" else None)
        elif name == "li":
            self._lists.item(_number(element, "value"), shown=not _UNMARKED.search(element.get("style", "")))
        elif name in _HEADINGS:
            self._levels.append(_HEADINGS[name])
        elif name == "br":
            self._pieces.append("\n")
        elif name == "pre":
            self._verbatim += 1
        elif name == "sup":
            self._raised.append(len(self._pieces))
        elif name in _CELLS and any(piece.strip() for piece in self._pieces):
            self._pieces.append(", ")
        if name:
            self._say(element.text)

    def _end(self, element: etree._Element) -> None:
        name = local_name(element)
        if name in _BLOCKS:
            self._flush()
        if name in _LISTS:
            self._lists.end()
        elif name == "li":
            self._lists.item_ends()
        elif name in _HEADINGS:
            self._levels.pop()
        elif name == "pre":
            self._verbatim -= 1
        elif name == "sup":
            self._lower(self._raised.pop(), element)

    def _lower(self, start: int, element: etree._Element) -> None:
        """What stood above the line since so many pieces."""
        said = "".join(self._pieces[start:])
        if len(said) <= BASE_CHARACTERS:
            before = "".join(self._pieces[max(0, start - BASE_CHARACTERS) : start])
            self._pieces[start:] = [raised(before, said, _is_link(element))]

    def _say(self, words: str | None) -> None:
        if words:
            self._pieces.append(words if self._verbatim else " ".join(re.split(r"[ \t\r\n\f]+", words)))

    def _flush(self) -> None:
        level = self._levels[-1] if self._levels else 0
        words = self._lists.marked("".join(self._pieces))
        if self._text.add(words, level, self._chapter):
            self._chapter = None
        self._pieces.clear()


def _count(element: etree._Element) -> Count | None:
    """How an `ol` counts; None where its numbers are not shown."""
    if _UNMARKED.search(element.get("style", "")):
        return None
    back = "reversed" in element.attrib
    start = _number(element, "start")
    if start is None:
        start = sum(local_name(each) == "li" for each in element) if back else 1
    return Count(start, element.get("type", "1"), -1 if back else 1)


def _number(element: etree._Element, name: str) -> int | None:
    found = _NUMBER.match(element.get(name, ""))
    return int(found[1]) if found else None


def _is_link(element: etree._Element) -> bool:
    """Whether there is one right around it, or in it."""
    return any(local_name(each) == "a" and each.get("href") for each in (element.getparent(), *element))


def _is_silent(element: etree._Element) -> bool:
    hidden = "hidden" in element.attrib or _HIDDEN.search(element.get("style") or "")
    return local_name(element) in _SILENT or bool(hidden or types_of(element) & _SILENT_TYPES)
