"""S7: of RTF files what a reader of the page would read out is kept, in any code page, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.documents.reading import Document
from tests.gateway.documents import told


async def read(content: str | bytes, folder: Path) -> Document:
    body = content if isinstance(content, bytes) else content.encode("ascii")
    return await told.read(b"{\\rtf1\\ansi\\ansicpg1252\\deff0" + body + b"}", folder / "upload")


async def said(content: str | bytes, folder: Path) -> list[str]:
    return [block.text for block in (await read(content, folder)).blocks]


FONTS = (
    r"{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial{\*\falt Cyr};}{\f2\fcharset128 Mincho;}"
    r"{\f3\fcharset2 Wingdings;}{\f4\fcharset1 Any;}{\f5\fcharset0\cpg1250 CE;}}"
)
CHARACTERS = {
    "of the west": (r"Caf\'e9", "Café"),
    "of a font": (r"{\f1 \'cc\'e8\'f0} \'e9", "Мир é"),
    "of two bytes": (r"\f2\'8a\'bf\'8e\'9a\'83A", "漢字ア"),
    "of the document": (r"\ansicpg1251\f4 \'cc\'e8\'f0", "Мир"),
    "of a font's page": (r"\f5 \'9e", "ž"),
    "of no page": (r"\ansicpg4\f4 \'e9", "é"),
    "of unicode": (r"\u28450\'3f\uc2\u-10179 ??{\uc0\u-8704}\u233\'8a\'bf!", "漢😀é!"),
    "of unicode without others": (r"\u1052\u1080\u1088?.", "Мир."),
    "of a symbol": (r"{\f3 \'d8a}{\u-3913 ?}A", "A"),
    "with names": (r"\ldblquote A\rdblquote\~\emdash  B\_C\-d\{\}\\ \'zz", "“A” — B-Cd{}\\ zz"),
}


@pytest.mark.parametrize("what", CHARACTERS)
async def test_characters_are_read_as_they_are_meant(what: str, tmp_path: Path) -> None:
    written, expected = CHARACTERS[what]
    assert await said(FONTS + written, tmp_path) == [expected]


async def test_it_is_read_with_all_changes_made(tmp_path: Path) -> None:
    body = (
        r"{\revised New. }{\deleted Old. }{\v Secret. }\v Gone\plain 10{\super 6} cells.{\super 7\nosupersub}"
        r"\deleted no\deleted0  A.\par"
    )
    assert await said(body, tmp_path) == ["New. 10⁶ cells. A."]


async def test_notes_comments_boxes_and_what_stands_on_every_page_are_left_out(tmp_path: Path) -> None:
    body = (
        r"{\colortbl;\red1;}{\header Head\par}{\footerf Foot}{\*\generator Word 1;}"
        r"They walked{\super\chftn{\footnote\pard Far.}}, {\*\annotation Why?\par}far"
        r"{\shp{\*\shpinst{\shptxt Box\par}}{\shprslt x}}.{\object{\result Chart}}"
        r"{\pict\bin5 }}}}}}{\*\shppict{\pict 00}}"
        r"{\field{\*\fldinst HYPERLINK {\field x} }{\fldrslt There}}. {\xe Index}\par"
    )
    assert await said(body, tmp_path) == ["They walked, far.There."]


async def test_how_characters_are_read_is_not_said_beside_them(tmp_path: Path) -> None:
    field = r'EQ \\* jc2 \\* "Font:M" \\* hps10 \\o\\ad(\\s\\up 9(\u12363\'3f),\u28450\'3f)'
    assert await said(rf"{{\field{{\*\fldinst {{{field}}}}}{{\fldrslt}}}}!\par", tmp_path) == ["漢!"]


async def test_a_row_is_one_paragraph_if_its_cells_are(tmp_path: Path) -> None:
    body = (
        r"\trowd\pard\intbl Name\cell Age\cell\row\trowd\intbl Ann\cell is 5.\cell\row"
        r"\intbl Bob went.\cell\cell\row\intbl They walked.\par It rained.\cell It is 5.\cell\row"
        r"\pard End.\par"
    )
    expected = ["Name, Age", "Ann, is 5.", "Bob went.", "They walked.", "It rained.", "It is 5.", "End."]
    assert await said(body, tmp_path) == expected


async def test_numbers_of_lists_stand_before_their_items(tmp_path: Path) -> None:
    body = (
        FONTS
        + r"{\listtext\pard\plain 1.\tab}\ls1 One\par{\listtext\f3\'d8\tab}dot\par{\listtext o\tab}circle"
        r"\par{\pntext a)\tab}{\*\pn\pnlvlbody{\pntxta )}}letter\par{\listtext 2.\tab}\par after\par"
    )
    assert await said(body, tmp_path) == ["1. One", "dot", "circle", "a) letter", "after"]


async def test_roman_numbers_of_lists_are_said_in_figures(tmp_path: Path) -> None:
    lists = (
        r"{\*\listtable{\list{\listlevel\levelnfc1{\leveltext\'02\'00.;}}{\listlevel\levelnfc4{\leveltext )}}"
        r"{\listname Name;}\listid7}}{\listoverridetable{\listoverride\listid7\ls2}}"
    )
    body = (
        r"\pard{\listtext Chapter XIV.\tab}\ls2\ilvl0 One\par\pard{\listtext i)\tab}\ls2\ilvl1 letter\par"
        r"\pard{\listtext i)\tab}\ls3\ilvl0 unknown\par\pard{\listtext IX\tab}\ls2\ilvl0 nine\par"
        r"\pard{\listtext (c)\tab}\ls2 three\par"
    )
    expected = ["Chapter 14. One", "i) letter", "i) unknown", "9 nine", "(c) three"]
    assert await said(lists + body, tmp_path) == expected


async def test_styles_and_levels_make_chapters(tmp_path: Path) -> None:
    body = (
        r"{\stylesheet{\ql Normal;}{\s1\outlinelevel0{\*\keycode x}heading 1;}{\s2\sbasedon1 Part;}"
        r"{\s3 toc 1;}{\*\cs4 Strong;}{\s5 heading 2,Sub;}{\s6\sbasedon6 Loop;}}"
        r"{\info{\upr{\title A ?}{\*\ud{\title A \u28450 ?}}}{\author Ann}{\operator Bob}}"
        r"\pard\s3 One 1\par\pard\s1 One\par\pard\s6 A.\par\pard\s2 Two\par\pard\outlinelevel9 B.\par"
        r"\pard\s5 C\par\pard D.\line E.\sect F."
    )
    document = await read(body, tmp_path)
    assert document.title == "A 漢"
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("chapter", "One"), ("paragraph", "A."), ("chapter", "Two"), ("paragraph", "B."), ("paragraph", "C"),
        ("paragraph", "D.\nE."), ("paragraph", "F."),
    ]  # fmt: skip
