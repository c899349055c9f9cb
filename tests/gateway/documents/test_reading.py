"""S7: documents become chapters and paragraphs; what is hostile or damaged gets a clear refusal."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.documents.reading import FORMATS, Documents
from gateway.errors import ApiError
from tests.gateway.documents.files import (
    CONTAINER,
    LOCKED,
    epub,
    fodt,
    odt,
    page,
    pdf,
    word,
    word_with,
    zipped,
)
from tests.gateway.documents.told import MOST_CHARACTERS, marked, opened, read, refusal

WALK = ["# One", "They walked. It rained.", "# Two", "They came home."]


PAGES = {
    "1.xhtml": page("<h1>One</h1><p>They <b>walked</b>. It\n rained.</p><script>no()</script>"),
    "2.xhtml": page("<h1>Two</h1><p>They came home.<a role='doc-noteref'>7</a></p>"),
}
LINES = [[("One", 24, 700), ("They walked.", 12, 650), ("It rained.", 12, 636)],
         [("Two", 24, 700), ("They came home.", 12, 650)]]  # fmt: skip
ODT_WALK = (
    "<text:h text:outline-level='1'>One</text:h><text:p>They walked.<text:s/>It\n rained.</text:p>"
    "<text:h text:outline-level='1'>Two</text:h><text:p>They <text:span>came</text:span> home.</text:p>"
)
WALKS = {
    "txt": b"Chapter 1\n\nThey walked.\nIt rained.\n\nChapter 2\n\nThey came home.\n",
    "md": b"# One\n\nThey **walked**. It\nrained.\n\n# Two\n\nThey [came](http://a) home.\n",
    "html": b"<html><head><title>T</title></head><body><nav>menu</nav><h2>One</h2><p>They walked. It rained."
    b"<h2>Two</h2><p>They came home.</body></html>",
    "epub": epub(PAGES),
    "epub with contents": epub(PAGES, [("One", "1.xhtml"), ("Two", "2.xhtml#x")]),
    "docx": word(("One", 1), ("They walked. It rained.", 0), ("Two", 1), ("They came home.", 0)),
    "odt": odt(ODT_WALK),
    "fodt": fodt(ODT_WALK),
    "fodt in UTF-16": fodt(ODT_WALK).replace(b"UTF-8", b"UTF-16").decode().encode("utf-16"),
    "xhtml": b"<?xml version='1.0'?><?xml-stylesheet href='a.css'?>\n<html xmlns='http://www.w3.org/1999/xhtml'>"
    b"<body><h1>One</h1><p>They walked. It rained.</p><h1>Two</h1><p>They came home.</p></body></html>",
    "rtf": b"{\\rtf1\\ansi{\\stylesheet{\\s1\\outlinelevel0 Part;}}"
    b"{\\pard\\s1 One\\par}\\pard They {\\b walked}"
    b". It\r\n rained.\\par\\pard\\outlinelevel0 Two\\par\\pard They came home.}",
    "pdf": pdf(*LINES),
}


@pytest.mark.parametrize("kind", WALKS)
async def test_a_document_becomes_chapters_and_paragraphs(kind: str, path: Path) -> None:
    expected = ["# Chapter 1", WALK[1], "# Chapter 2", WALK[3]] if kind == "txt" else WALK
    assert await marked(WALKS[kind], path) == expected


async def test_what_a_document_says_of_itself_is_kept(path: Path) -> None:
    document = await read(WALKS["epub"], path)
    assert document.to_dict() == {
        "title": "The Walk",
        "language": "en",
        "blocks": [
            {"kind": "chapter", "text": "One"},
            {"kind": "paragraph", "text": "They walked. It rained."},
            {"kind": "chapter", "text": "Two"},
            {"kind": "paragraph", "text": "They came home."},
        ],
        "characters": sum(map(len, ("One", WALK[1], "Two", WALK[3]))),
        "warnings": [],
    }


async def test_names_in_the_contents_that_the_pages_lack_are_said(path: Path) -> None:
    pages = {"1.xhtml": page("<p>A.</p>"), "2.xhtml": page("<p>B.</p><p id='x'>C.</p>")}
    book = epub(pages, [("Begin", "1.xhtml"), ("End", "2.xhtml#x")])
    assert await marked(book, path) == ["# Begin", "A.", "B.", "# End", "C."]


async def test_figures_of_notes_are_left_out_and_powers_stay(path: Path) -> None:
    html = (
        "<p>Paris<sup><a href='#n1'>[1]</a></sup> is<a href='#n2'><sup>b</sup></a> old.<sup>3</sup> In"
        " 1999<sup>4</sup> it had 2&middot;10<sup>6</sup> people on 105 km<sup>2</sup>, the 5<sup>th</sup> of"
        " x<sup>-1</sup>."
    )
    said = "Paris is old. In 1999 it had 2·10⁶ people on 105 km², the 5th of x⁻¹."
    assert await marked(html.encode(), path) == [said]


async def test_markdown_is_said_without_the_signs_of_tables_tasks_and_notes(path: Path) -> None:
    markdown = (
        "# One\n\n| Name | Age |\n|---|--:|\n| Ann | 5 |\n| Bob |  |\n\n- [x] They walked.\n"
        "- [ ] They rest.\n\nIt rained[^1] and[^a] ~~snowed~~ `[^b]`.\n\n"
        "> [!NOTE]\n> It is far.\n\n[^1]: A lot.\n[^a]: There.\n"
    )
    assert await marked(markdown.encode(), path) == [
        "# One", "Name, Age", "Ann, 5", "Bob", "They walked.", "They rest.", "It rained and snowed [^b].",
        "It is far.", "A lot. There.",
    ]  # fmt: skip


async def test_a_text_that_begins_as_xml_does_is_text(path: Path) -> None:
    assert await marked(b"<Ann> They walked.\n\n<Bob> It rained.", path) == [
        "<Ann> They walked.", "<Bob> It rained."
    ]  # fmt: skip


SUBTITLES = {
    "srt": "1\n00:00:01,000 --> 00:00:04,000\n<i>They walked\nto Ann,</i>\n\n2\n"
    "00:00:05,000 --> 00:00:08,000\nand it rained.\n\n"
    "3\n00:00:09,000 --> 00:00:12,000\n{\\an8}- Home?\n- Home.\n",
    "vtt": "WEBVTT - Walk\n\nNOTE nothing\n\nSTYLE\n::cue {}\n\na\n00:01.000 --> 00:04.000 align:start\n"
    "<v Ann>They <c.x>walked</c>\nto Ann,\n\n00:04.000 --> 00:08.000\nto Ann,\nand it<00:06.000> rained.\n\n"
    "00:09.000 --> 00:12.000\n- Home?\n- Home.\n",
}


@pytest.mark.parametrize("kind", SUBTITLES)
async def test_of_subtitles_what_is_said_is_read(kind: str, path: Path) -> None:
    said = ["They walked to Ann, and it rained.", "Home?", "Home."]
    assert await marked(SUBTITLES[kind].encode(), path) == said
    assert await marked(SUBTITLES[kind].replace("\n", "\r\n").encode(), path) == said


async def test_a_row_of_a_table_in_word_is_one_paragraph_if_its_cells_are(path: Path) -> None:
    def row(*cells: str) -> str:
        paragraphs = (cell.replace("|", "</w:t></w:r></w:p><w:p><w:r><w:t>") for cell in cells)
        return "".join(
            [
                "<w:tr>",
                *(f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in paragraphs),
                "</w:tr>",
            ]
        )

    rows = row("Ann", "is 5.") + row("Bob went.", "") + row("They walked.|It rained.", "It is 5.")
    file = word_with(f"</w:p><w:tbl>{rows}</w:tbl><w:p><w:r><w:t>End.</w:t></w:r>")
    assert await marked(file, path) == [
        "Ann, is 5.",
        "Bob went.",
        "They walked.",
        "It rained.",
        "It is 5.",
        "End.",
    ]


async def test_lines_of_subtitles_are_no_chapters(path: Path) -> None:
    cues = "".join(f"{number}\n00:00:0{number},0 --> 00:00:0{number},9\n{line}\n\n" for number, line in
                   enumerate(("Oh my", "They walked.", "Home", "It rained."), 1))  # fmt: skip
    assert await marked(cues.encode(), path) == ["Oh my", "They walked.", "Home", "It rained."]


async def test_how_characters_are_read_is_not_said_beside_them(path: Path) -> None:
    def run(text: str) -> str:
        return f"<w:r><w:t>{text}</w:t></w:r>"

    ruby = f"<w:ruby><w:rt>{run('かん')}</w:rt><w:rubyBase>{run('漢')}</w:rubyBase></w:ruby>{run('字です。')}"
    assert await marked(word_with(ruby), path) == ["漢字です。"]
    page = "<p><ruby><rb>漢</rb><rt>かん</rt><rtc>kan</rtc></ruby>字です。</p>"
    assert await marked(page.encode(), path) == ["漢字です。"]


async def test_word_files_are_read_with_all_changes_made(path: Path) -> None:
    def run(text: str, properties: str = "") -> str:
        return f"<w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"

    raised, hidden = "<w:vertAlign w:val='superscript'/>", "<w:vanish/>"
    body = (
        f"<w:moveFrom w:id='1'>{run('Moved. ')}</w:moveFrom><w:ins w:id='2'>{run('New. ')}</w:ins>"
        f"<w:del w:id='3'><w:r><w:delText>Old. </w:delText></w:r></w:del>{run('Secret. ', hidden)}"
        f"{run('10')}{run('6', raised)}{run(' cells.')}{run('7', raised)}{run(' ')}"
        f"<w:moveTo w:id='4'>{run('Moved.')}</w:moveTo>"
    )
    file = word_with(body)
    assert await marked(file, path) == ["New. 10⁶ cells. Moved."]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
async def test_a_web_page_is_one_in_any_encoding(encoding: str, path: Path) -> None:
    html = "<html><head><meta charset='latin-1'></head><body><p>Café &amp; tea.</p></body></html>"
    assert await marked(html.encode(encoding), path) == ["Café & tea."]


BROKEN = {
    "no XML": page(
        "<p>A & B<a xmlns:epub='e' epub:type='noteref'>7</a>.<span epub:type='pagebreak'>9</span></p>"
    ),
    "entities": page("<p>A &amp; B&a;.</p>", '<!DOCTYPE html [<!ENTITY a "a">]>'),
    "hidden": page("<p>A &amp; B.</p><p style='color: red; Display : none'>no</p>"),
}


@pytest.mark.parametrize("what", BROKEN)
async def test_a_broken_page_is_read_as_a_whole_one_is(what: str, path: Path) -> None:
    assert await marked(epub({"1.xhtml": BROKEN[what]}), path) == ["A & B."]


@pytest.mark.parametrize("empty", ["", "<?xml version='1.0'?>", "<!-- nothing -->"])
async def test_a_page_of_a_book_may_be_empty(empty: str, path: Path) -> None:
    book = epub({"0.xhtml": empty, "1.xhtml": page("<p>A.</p>")}, [("Begin", "0.xhtml")])
    assert await marked(book, path) == ["# Begin", "A."]


async def test_elements_that_nobody_closes_cut_no_page_short(path: Path) -> None:
    old = "<html>" + "".join(f"<p><a name={number}>A{number}.</p>" for number in range(900))
    assert (await marked(old.encode(), path))[-1] == "A899."
    assert await refusal(old.replace("<p>", "<div>" * 9).encode(), path) == "document_unreadable"


@pytest.mark.parametrize(
    "run",
    ["<!---->" * 60, "[" * 200_000, "[a](" * 60_000, "---\n" + "    They sat.\n" * 30, " " * 200_000],
    ids=["remarks", "brackets", "links", "indented", "spaces"],
)
async def test_runs_of_signs_are_looked_through_once(run: str, path: Path) -> None:
    document = await read(f"{run} They walked.".encode(), path, 10**6)
    assert document.blocks[-1].text.endswith("They walked.")


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
REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "a bomb": (bomb, "document_too_large"),
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


@pytest.mark.parametrize("kind", FORMATS)
def test_the_pages_name_every_format(kind: str) -> None:
    frontend = Path(__file__).parents[3] / "frontend"
    assert f".{kind}" in (frontend / "books.html").read_text(encoding="utf-8").partition('id="file"')[2]
    for language in ("en", "zh"):
        texts = (frontend / f"static/js/i18n/{language}/errors.js").read_text(encoding="utf-8")
        assert re.search(rf"document_format.*\b{kind}\b", texts, re.ASCII)


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
