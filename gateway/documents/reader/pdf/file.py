"""PDF, with PDFium: lines with their places, and the outline as chapters. Pictures of pages have no text."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import byref, c_double
from itertools import groupby
from operator import itemgetter

import pypdfium2
import pypdfium2.raw as pdfium
from pdf.columns import in_columns
from pdf.lines import LINE_HYPHENS, Line, Passage, passages
from refusal import Refusal
from text import Text, cleaned, raised

MAX_PAGES = 5_000
_DEEPEST = 2
"""Level of the outline to which entries are chapters."""
_MOST_ENTRIES = 2_000
_HIGH = frozenset("0123456789,-–−[]")
_SMALL, _LIFTED = 0.85, 0.15
"""Of what stands above a line: at most so large and at least so high, in sizes of the line's font."""
_FAR = 1.2
"""Of a gap between two parts of a line, in sizes of its font."""
_Piece = tuple[str, bool]
"""A character, and whether it stands above the line."""
_EMPTY = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n" \
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" \
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R" \
    b"/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n" \
    b"4 0 obj<</Length 34>>stream\nBT /F 12 Tf 20 100 Td (A) Tj ET   \nendstream endobj\n" \
    b"trailer<</Root 1 0 R>>\n"  # fmt: skip


def read_pdf(content: bytes, text: Text) -> None:
    """A file into `text`. Raises Refusal for one that is damaged, encrypted, too long or has no text."""
    try:
        pdf = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        locked = getattr(error, "err_code", None) in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY)
        raise Refusal("document_encrypted" if locked else "document_unreadable") from None
    if len(pdf) > MAX_PAGES:
        raise Refusal("document_too_many_pages")
    text.say(pdf.get_metadata_value("Title"), pdf.get_metadata_value("Author"))
    pages, left = [], text.most_characters
    for number in range(len(pdf)):
        pages.append(in_columns(list(_lines(pdf, number))))
        left -= sum(len(line.text) for line in pages[-1])
        if left < 0:
            raise Refusal("document_too_long")
    found = list(passages(pages))
    starts = _starts(found, _outline(pdf))
    for number, passage in enumerate(found):
        text.add(passage.text, passage.level, starts.get(number))
    if pages and not text.blocks:
        raise Refusal("document_without_text")
    text.empty_pages = sum(not page for page in pages)


def rehearse() -> None:
    """Read a small file."""
    read_pdf(_EMPTY, Text(100))


def _lines(pdf: pypdfium2.PdfDocument, number: int) -> Iterator[Line]:
    """The lines of a page; none of one that cannot be read."""
    try:
        page = pdf[number]
        characters = page.get_textpage()
    except pypdfium2.PdfiumError:
        return
    try:
        yield from _split(characters, number)
    finally:
        characters.close()
        page.close()


def _split(characters: pypdfium2.PdfTextPage, number: int) -> Iterator[Line]:
    """The lines, and the parts of those that have a wide gap."""
    line: list[_Piece] = []
    first = last = level = 0
    beside = False
    for index in range(characters.count_chars()):
        character = chr(pdfium.FPDFText_GetUnicode(characters, index))
        is_space = character.isspace()
        if line and not is_space and line[-1][0].isspace() and _is_far(characters, last, index):
            yield _line(characters, number, line, (first, last), beside)
            line, beside = [], True
        if character not in "\r\n" and (line or not is_space):
            first = first if line else index
            last = last if is_space else index
            high = bool(line) and character in _HIGH and _is_high(characters, level, index)
            level = level if high or is_space else index
            line.append((character, high))
        if character in ("\r", "\n", *LINE_HYPHENS):
            if line:
                yield _line(characters, number, line, (first, last), beside)
            line, beside = [], False
    if line:
        yield _line(characters, number, line, (first, last), beside)


def _is_far(characters: pypdfium2.PdfTextPage, last: int, index: int) -> bool:
    """Whether there is room for several spaces between two characters."""
    left = characters.get_charbox(last)[2]
    size = pdfium.FPDFText_GetFontSize(characters, last)
    return _origin(characters, index)[0] - left > _FAR * size


def _line(
    characters: pypdfium2.PdfTextPage, page: int, pieces: list[_Piece], ends: tuple[int, int], beside: bool
) -> Line:
    first, last = ends
    left, baseline = _origin(characters, first)
    _, _, right, _ = characters.get_charbox(last)
    size = pdfium.FPDFText_GetFontSize(characters, first)
    whole = ""
    for high, run in groupby(pieces, key=itemgetter(1)):
        said = "".join(character for character, _ in run)
        whole += raised(whole, said) if high else said
    whole = whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return Line(whole.rstrip(), page, left, right, baseline, size, beside)


def _is_high(characters: pypdfium2.PdfTextPage, level: int, index: int) -> bool:
    """Whether a character is smaller and higher than the one at `level`, the last that stands on the line."""
    size = pdfium.FPDFText_GetFontSize(characters, level)
    if pdfium.FPDFText_GetFontSize(characters, index) > _SMALL * size:
        return False
    return _origin(characters, index)[1] - _origin(characters, level)[1] > _LIFTED * size


def _origin(characters: pypdfium2.PdfTextPage, index: int) -> tuple[float, float]:
    x, y = c_double(), c_double()
    pdfium.FPDFText_GetCharOrigin(characters, index, byref(x), byref(y))
    return x.value, y.value


def _outline(pdf: pypdfium2.PdfDocument) -> dict[int, list[str]]:
    """Page -> titles of the chapters that begin there."""
    found: dict[int, list[str]] = {}
    for number, entry in enumerate(pdf.get_toc(max_depth=_DEEPEST)):
        if number == _MOST_ENTRIES:
            break
        destination = entry.get_dest()
        page = destination.get_index() if destination is not None else None
        title = cleaned(entry.get_title()).replace("\n", " ")
        if page is not None and title:
            found.setdefault(page, []).append(title)
    return found


def _starts(found: list[Passage], chapters: dict[int, list[str]]) -> dict[int, str]:
    """Passage -> the chapter that begins with it: where its title stands, else at the top of the page."""
    on_page: dict[int, list[int]] = {}
    for number, passage in enumerate(found):
        on_page.setdefault(passage.page, []).append(number)
    starts: dict[int, str] = {}
    for page, titles in sorted(chapters.items()):
        for title in titles:
            places = on_page.get(page, [])
            same = (number for number in places if _is_title(found[number].text, title))
            place = next(same, places[0] if places else None)
            if place is not None:
                starts[place] = title
    return starts


def _is_title(text: str, title: str) -> bool:
    """Whether a passage is the heading that an outline names, "1. A Walk" or "A Walk" for one of them."""
    text, title = _letters(text), _letters(title)
    return bool(text and title) and (text.startswith(title) or title.endswith(text))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
