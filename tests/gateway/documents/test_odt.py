"""S7: of LibreOffice's files what a reader of the page would read out is kept, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.errors import ApiError
from tests.gateway.documents.files import fodt, odt
from tests.gateway.documents.told import read


async def said(folder: Path, body: str, styles: str = "", named: str = "") -> list[str]:
    return [block.text for block in (await read(odt(body, styles, named), folder / "upload")).blocks]


def style(family: str, name: str, properties: str, around: str = "") -> str:
    based = f" style:parent-style-name='{around}'" if around else ""
    return (
        f"<style:style style:family='{family}' style:name='{name}'{based}>"
        f"<style:text-properties {properties}/></style:style>"
    )


async def test_it_is_read_with_all_changes_made(tmp_path: Path) -> None:
    styles = style("text", "T1", "style:text-position='super 58%'") + style(
        "text", "T2", "text:display='none'"
    )
    styles += style("text", "T3", "style:text-position='0% 100%'", "T1") + style("text", "T4", "", "T1")
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>Old.</text:p></text:deletion>"
        "</text:changed-region></text:tracked-changes><text:p>"
        "<text:change-start text:change-id='1'/>New. <text:change-end text:change-id='1'/>"
        "<text:span text:style-name='T2'>Secret <text:span text:style-name='T1'>2</text:span>. </text:span>"
        "10<text:span text:style-name='T1'>6</text:span> cells.<text:span text:style-name='T4'>7</text:span>"
        " No<text:span text:style-name='T3'>.5</text:span>.</text:p>"
    )
    assert await said(tmp_path, body, styles) == ["New. 10⁶ cells. No.5."]


async def test_notes_comments_boxes_and_contents_are_left_out(tmp_path: Path) -> None:
    body = (
        "<text:table-of-content><text:index-body><text:p>One 1</text:p></text:index-body>"
        "</text:table-of-content><text:p>They walked<text:note><text:note-citation>1</text:note-citation>"
        "<text:note-body><text:p>Far.</text:p></text:note-body></text:note>, <office:annotation>"
        "<dc:creator>Ann</dc:creator><text:p>Why?</text:p></office:annotation><text:ruby><text:ruby-base>漢</text:ruby-base>"
        "<text:ruby-text>かん</text:ruby-text></text:ruby>.<draw:frame><draw:text-box><text:p>Box.</text:p>"
        "</draw:text-box></draw:frame></text:p><text:p text:style-name='P1'>Page 7</text:p>"
    )
    foot = "<style:style style:family='paragraph' style:name='P1' style:parent-style-name='Footer_20_left'/>"
    name = "<style:style style:family='paragraph' style:name='Footer_20_left'/>"
    assert await said(tmp_path, body, foot, name) == ["They walked, 漢."]


async def test_what_is_hidden_is_left_out(tmp_path: Path) -> None:
    body = (
        "<text:section text:display='none'><text:p>a</text:p></text:section>"
        "<text:section text:display='condition' text:is-hidden='true'><text:p>b</text:p></text:section>"
        "<text:section text:display='condition'><text:p>Seen</text:p></text:section>"
        "<text:p>c<text:hidden-paragraph text:is-hidden='true'/></text:p>"
        "<text:p text:style-name='P1'>d</text:p>"
        "<text:p>They <text:hidden-text text:is-hidden='true'>e</text:hidden-text>walked.</text:p>"
    )
    hidden = style("paragraph", "Quiet", "text:display='none'")
    by_hand = "<style:style style:family='paragraph' style:name='P1' style:parent-style-name='Quiet'/>"
    assert await said(tmp_path, body, by_hand, hidden) == ["Seen", "They walked."]


async def test_a_row_is_one_paragraph_if_its_cells_are(tmp_path: Path) -> None:
    def row(*cells: str) -> str:
        cells = tuple(cell.replace("|", "</text:p><text:p>") for cell in cells)
        inner = "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in cells)
        return f"<table:table-row>{inner}<table:covered-table-cell/></table:table-row>"

    note = "<text:note><text:note-body><text:p>Far.</text:p></text:note-body></text:note>"
    rows = row("Ann", f"is 5{note}.") + row("Bob went.", "") + row("They walked.|It rained.", "It is 5.")
    head = f"<table:table-header-rows>{row('Name', 'Age')}</table:table-header-rows>"
    body = f"<table:table>{head}{rows}</table:table><text:p>End.</text:p>"
    expected = ["Name, Age", "Ann, is 5.", "Bob went.", "They walked.", "It rained.", "It is 5.", "End."]
    assert await said(tmp_path, body) == expected


async def test_a_title_and_levels_make_chapters(tmp_path: Path) -> None:
    body = (
        "<text:p text:style-name='P1'>The Long Walk</text:p><text:h text:outline-level='2'>One</text:h>"
        "<text:p>A.<text:line-break/>B.</text:p><text:h text:outline-level='2'>Two</text:h>"
        "<text:p>C.</text:p>"
    )
    title = "<style:style style:family='paragraph' style:name='P1' style:parent-style-name='Title'/>"
    named = "<style:style style:family='paragraph' style:name='Title'/>"
    document = await read(odt(body, title, named, **{"meta.xml": "<a/>"}), tmp_path / "upload")
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("paragraph", "The Long Walk"), ("chapter", "One"), ("paragraph", "A.\nB."), ("chapter", "Two"),
        ("paragraph", "C."),
    ]  # fmt: skip
    assert document.title == "The Long Walk"
    for known in (odt(body, title, named), fodt(body, title, named)):
        document = await read(known, tmp_path / "upload")
        assert (document.title, document.language) == ("The Walk", "en")


ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
HOSTILE = {
    "laughs": (f'<!DOCTYPE a [<!ENTITY e0 "ha">{ENTITIES}]>', "&e9;"),
    "outside": ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>', "&x;"),
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_entities_are_not_expanded(what: str, tmp_path: Path) -> None:
    head, entity = HOSTILE[what]
    content = (
        f'{head}<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
        ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text>'
        f"<text:p>A{entity}.</text:p></office:text></office:body></office:document-content>"
    )
    document = await read(odt("", **{"content.xml": content}), tmp_path / "upload")
    assert [block.text.replace(" ", "") for block in document.blocks] == ["A."]


async def test_elements_that_are_too_deep_are_refused(tmp_path: Path) -> None:
    deep = "<text:section>" * 50_000 + "</text:section>" * 50_000
    with pytest.raises(ApiError) as refused:
        await read(odt(deep), tmp_path / "upload")
    assert refused.value.code == "document_unreadable"


async def test_levels_of_lists_are_not_counted_to_a_billion(tmp_path: Path) -> None:
    level = (
        "<text:list-level-style-number text:level='999999999' text:display-levels='999999999'"
        " style:num-format='1'/>"
    )
    styles = f"<text:list-style style:name='L1'>{level * 4}</text:list-style>"
    assert await said(tmp_path, "<text:p>They walked.</text:p>", styles) == ["They walked."]
