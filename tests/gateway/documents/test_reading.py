"""S7: documents become chapters and paragraphs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gateway.documents.reading import FORMATS
from tests.gateway.documents.files import (
    WALKS,
    epub,
    page,
    word_with,
)
from tests.gateway.documents.told import marked, read, refusal

WALK = ["# One", "They walked. It rained.", "# Two", "They came home."]


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


@pytest.mark.parametrize("kind", FORMATS)
def test_the_pages_name_every_format(kind: str) -> None:
    frontend = Path(__file__).parents[3] / "frontend"
    assert f".{kind}" in (frontend / "books.html").read_text(encoding="utf-8").partition('id="file"')[2]
    for language in ("en", "zh"):
        texts = (frontend / f"static/js/i18n/{language}/errors.js").read_text(encoding="utf-8")
        assert re.search(rf"document_format.*\b{kind}\b", texts, re.ASCII)
