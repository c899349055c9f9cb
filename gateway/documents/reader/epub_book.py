"""EPUB 2 and 3: its pages in the order of the spine, its chapters by its table of contents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from archive import Archive, resolved
from lxml import etree
from refusal import Refusal
from text import Text
from web_page import Page, parsed_xhtml, parsed_xml, types_of

CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = (
    *("application/xhtml+xml", "text/html", "application/x-dtbook+xml"),
    *("text/x-oeb1-document", "application/xml", "text/xml"),
)
_NCX = "application/x-dtbncx+xml"
_DEEPEST = 2
"""Level of the table of contents to which entries are chapters: parts, and chapters in them."""


@dataclass(frozen=True)
class _Item:
    path: str
    kind: str
    properties: str


def read_epub(archive: Archive, text: Text) -> None:
    """A book into `text`. Raises Refusal for one that is damaged or encrypted."""
    try:
        _read(archive, text)
    except etree.XMLSyntaxError:
        raise Refusal("document_unreadable") from None


def _read(archive: Archive, text: Text) -> None:
    places = parsed_xml(archive.read(CONTAINER)).xpath("//*[local-name()='rootfile']/@full-path")
    if not places:
        raise Refusal("document_unreadable")
    package = parsed_xml(archive.read(places[0]))
    _say(package, text)
    items = {
        item.get("id"): _Item(
            resolved(places[0], item.get("href", ""))[0],
            item.get("media-type", ""),
            item.get("properties", ""),
        )
        for item in package.xpath("//*[local-name()='manifest']/*[local-name()='item']")
    }
    encrypted = _encrypted(archive)
    marks = _marks(archive, items)
    chapter: str | None = None
    for reference in package.xpath("//*[local-name()='spine']/*[local-name()='itemref']"):
        item = items.get(reference.get("idref"))
        if item is None or item.kind not in _PAGES or "nav" in item.properties.split():
            continue
        if reference.get("linear") == "no" or item.path not in archive:
            continue
        if item.path in encrypted:
            raise Refusal("document_encrypted")
        starts = marks.get(item.path, {})
        root = _page(archive.read(item.path))
        within = _found(starts, root) if root is not None else starts
        chapter = within.get("", chapter)
        if root is not None:
            chapter = Page(text, within, chapter).read(root)


def _page(content: bytes) -> etree._Element | None:
    """None of a file with nothing in it: some books have one among their pages."""
    try:
        return parsed_xhtml(content)
    except Refusal as refusal:
        if str(refusal) == "document_empty":
            return None
        raise


def _found(marks: dict[str, str], root: etree._Element) -> dict[str, str]:
    """The marks that lie in a page; one whose element is not there is at its beginning."""
    there = {"", *root.xpath("//@*[local-name()='id' or local-name()='name']")} if marks else set()
    lost = next((title for fragment, title in marks.items() if fragment not in there), None)
    return {"": lost, **marks} if lost else marks


def _say(package: etree._Element, text: Text) -> None:
    def said(name: str) -> list[str]:
        found = package.xpath(f"//*[local-name()='metadata']//*[local-name()='{name}']")
        return [words for element in found if (words := (element.text or "").strip())]

    text.say(next(iter(said("title")), ""), ", ".join(said("creator")), next(iter(said("language")), ""))


def _encrypted(archive: Archive) -> set[str]:
    """Files that cannot be read; fonts of books that are not protected are among them."""
    if _ENCRYPTION not in archive:
        return set()
    found = parsed_xml(archive.read(_ENCRYPTION)).xpath("//*[local-name()='CipherReference']/@URI")
    return {resolved("", uri)[0] for uri in found}


def _marks(archive: Archive, items: dict[str | None, _Item]) -> dict[str, dict[str, str]]:
    """Path of a page -> fragment ("": its beginning) -> the chapter that begins there."""
    marks: dict[str, dict[str, str]] = {}
    contents = [item for item in items.values() if "nav" in item.properties.split()]
    contents += [item for item in items.values() if item.kind == _NCX]
    for item in contents:
        if item.path not in archive:
            continue
        tree = parsed_xhtml(archive.read(item.path))
        for title, href in _ncx_entries(tree) if item.kind == _NCX else _nav_entries(tree):
            path, fragment = resolved(item.path, href)
            marks.setdefault(path, {}).setdefault(fragment, title)
        if marks:
            break
    return marks


def _nav_entries(tree: etree._Element) -> Iterator[tuple[str, str]]:
    navs = tree.xpath("//*[local-name()='nav']")
    tables = [nav for nav in navs if "toc" in types_of(nav)]
    for nav in (tables or navs)[:1]:
        for link in nav.xpath(".//*[local-name()='a'][@href]"):
            depth = sum(etree.QName(each).localname == "ol" for each in link.iterancestors())
            if depth <= _DEEPEST:
                yield " ".join("".join(link.itertext()).split()), link.get("href")


def _ncx_entries(tree: etree._Element) -> Iterator[tuple[str, str]]:
    for point in tree.xpath("//*[local-name()='navPoint']"):
        depth = sum(etree.QName(each).localname == "navPoint" for each in point.iterancestors())
        href = point.xpath("string(*[local-name()='content']/@src)")
        title = point.xpath("normalize-space(string(*[local-name()='navLabel']))")
        if depth < _DEEPEST and href:
            yield title, href
