"""S7: the numbers that a document's program counts are read, and those that it does not show are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gateway.documents.files import fodt, numbered_word, odt
from tests.gateway.documents.told import read

HTML = (
    '<html><body><ol start="3" type="a"><li>Three<li><p>Four</p><p>more</p><ul><li>dot</li></ul></li>'
    "<li value=9><ol reversed><li>x</li><li>y</li></ol></li><li><img></li></ol>"
    '<ol style="list-style: none"><li>free</ol><ol type=i><li>one<li>two</ol><p>after</p></body></html>'
)
MARKDOWN = "# T\n\n3. three\n4. four\n\n   more\n   - dot\n   1) in\n5. ```\n   code\n   ```\n\n- x\n"
LEVELS = "".join(
    f'<w:lvl w:ilvl="{level}"><w:start w:val="{start}"/><w:numFmt w:val="{format}"/>{more}'
    f'<w:lvlText w:val="{text}"/></w:lvl>'
    for level, start, format, text, more in (
        (0, 1, "upperRoman", "Chapter %1", '<w:pStyle w:val="Heading1"/>'),
        (1, 1, "decimal", "%1.%2", ""),
        (2, 3, "lowerLetter", "(%3)", ""),
        (3, 1, "bullet", "o", ""),
    )
)
BEGINS = '<w:lvlOverride w:ilvl="1"><w:startOverride w:val="7"/></w:lvlOverride>'
WORD = (
    ("The One", 1, None), ("a", 1, 1), ("b", 1, 1), ("x", 1, 2), ("y", 1, 2), ("dot", 1, 3), ("c", 1, 1),
    ("z", 1, 2), ("seven", 2, 1), ("eight", 2, 1), ("Two", 1, None), ("d", 1, 1), ("off", 0, 0),
)  # fmt: skip
"""Text, list, level; a heading where there is no level."""


def listed(name: str, *items: str, more: str = "") -> str:
    inside = "".join(item if item.startswith("<") else f"<text:p>{item}</text:p>" for item in items)
    inside = inside.replace("<text:p>", "</text:list-item><text:list-item><text:p>").removeprefix(
        "</text:list-item>"
    )
    style = f" text:style-name='{name}'" if name else ""
    return f"<text:list{style} {more}>{inside}</text:list-item></text:list>"


OUTLINE = (
    "<text:outline-style style:name='Outline'><text:outline-level-style text:level='1' style:num-format='I'"
    " style:num-prefix='Chapter '/><text:outline-level-style text:level='2' style:num-format='1'"
    " text:display-levels='2'/><text:outline-level-style text:level='3' style:num-format=''/>"
    "</text:outline-style>"
)
COUNTS = (
    "<text:list-style style:name='L1'><text:list-level-style-number text:level='1' style:num-format='1'"
    " style:num-suffix='.' text:start-value='3'/><text:list-level-style-number text:level='2'"
    " style:num-format='a' loext:num-list-format='(%2%)'/><text:list-level-style-bullet text:level='3'/>"
    "</text:list-style>"
)
ODT = (
    "<text:h text:outline-level='1'>One</text:h>"
    + listed("L1", "three", "four", listed("", "x", listed("", "dot"), "y"), "five", listed("", "z"),
             more="xml:id='a'")
    + "<text:h text:outline-level='2'>In</text:h>"
    + listed("L1", "again")
    + listed("L1", "on", more="text:continue-numbering='true'")
    + "<text:h text:outline-level='1'>Two</text:h><text:h text:outline-level='2'>Out</text:h>"
    + "<text:h text:outline-level='3'>Off</text:h>"
    + listed("L1", "six", more="text:continue-list='a'")
    + "<text:list text:style-name='L1'><text:list-header><text:p>head</text:p></text:list-header>"
    "<text:list-item text:start-value='9'><text:p>nine</text:p><text:p>more</text:p></text:list-item>"
    "</text:list>"
)  # fmt: skip
CASES = {
    "html": (
        HTML.encode(),
        ["c. Three", "d. Four", "more", "dot", "i. 2. x", "1. y", "free", "1. one", "2. two", "after"],
    ),
    "md": (MARKDOWN.encode(), ["T", "3. three", "4. four", "more", "dot", "1) in", "5. code", "x"]),
    "docx": (
        numbered_word(LEVELS, BEGINS, WORD),
        ["Chapter 1 The One", "1.1 a", "1.2 b", "(c) x", "(d) y", "dot", "1.3 c", "(c) z", "1.7 seven",
         "1.8 eight", "Chapter 2 Two", "2.1 d", "off"],
    ),
    "odt": (
        odt(ODT, COUNTS, OUTLINE),
        ["Chapter 1 One", "3. three", "4. four", "(a) x", "dot", "(b) y", "5. five", "(a) z", "1.1 In",
         "3. again", "4. on", "Chapter 2 Two\n2.1 Out\nOff", "6. six", "head", "9. nine", "more"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
async def test_items_of_lists_have_the_numbers_that_are_shown(kind: str, tmp_path: Path) -> None:
    content, said = CASES[kind]
    document = await read(content, tmp_path / "upload")
    assert [block.text for block in document.blocks] == said


async def test_they_are_those_of_a_flat_file(tmp_path: Path) -> None:
    document = await read(fodt(ODT, COUNTS, OUTLINE), tmp_path / "upload")
    assert [block.text for block in document.blocks] == CASES["odt"][1]
