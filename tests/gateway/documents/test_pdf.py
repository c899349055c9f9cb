"""S7: of the pages of a PDF file what a reader would read out is kept, in its order."""

from __future__ import annotations

from pathlib import Path

from tests.gateway.documents.files import pdf
from tests.gateway.documents.told import marked, read


async def test_pdf_lines_are_joined_and_page_numbers_dropped(path: Path) -> None:
    pages = [
        [("Head", 9, 780), (f"A line that ends in a hy-{number}", 12, 700), ("phen here.", 12, 686),
         (str(number), 9, 20)]
        for number in range(1, 6)
    ]  # fmt: skip
    pages[0][1] = ("A line that ends in a hy-", 12, 700)
    text = "\n".join(await marked(pdf(*pages), path))
    assert "hyphen here." in text
    assert "Head" not in text and "\n3" not in text


async def test_heads_and_feet_of_several_lines_and_numbers_of_two_pages_are_dropped(path: Path) -> None:
    words = ["one", "two", "three", "four"]
    pages = [
        [("The Walk", 9, 780), (f"Chapter {n}", 9, 768), (f"They went on for {word} long day and", 12, 700),
         (f"{word} night with inter-", 12, 686), ("Confidential", 9, 34), (f"Page {n} of 4", 9, 22)]
        for n, word in enumerate(words, 1)
    ]  # fmt: skip
    said = " ".join(f"They went on for {word} long day and {word} night with inter-" for word in words)
    assert await marked(pdf(*pages), path) == [said.replace("- T", "-T").removesuffix("-")]
    two = [[("They walked", 12, 700), ("and inter-", 12, 686), ("7", 12, 20)],
           [("rupted it", 12, 700), ("to rest.", 12, 686), ("8", 12, 20)]]  # fmt: skip
    assert await marked(pdf(*two), path) == ["They walked and interrupted it to rest."]


async def test_a_compound_that_a_line_end_parts_keeps_its_hyphen(path: Path) -> None:
    lines = (
        "It is a well-known fact that a well-|known man walks, to his mother-in-|law, in what is long-stand-|"
        "ing: walk-|ing. She is standing."
    )
    page = [(line, 12, 700 - 14 * number) for number, line in enumerate(lines.split("|"))]
    said = (
        "It is a well-known fact that a well-known man walks, to his mother-in-law, in what is long-standing:"
    )
    assert await marked(pdf(page), path) == [f"{said} walking. She is standing."]


LEFT = (
    "The quick brown fox jumps over|the lazy dog and runs away into|the deep dark forest where he|lives with"
)
RIGHT = (
    "On the other side of the river|there is a town with many people|who never go into the forest at|night."
)


def in_rows(left: str, right: str) -> list[tuple[str, int, int, int]]:
    """Lines beside each other, as they are written row by row."""
    pairs = zip(left.split("|"), right.split("|"), strict=True)
    return [
        (line, 10, 700 - 12 * row, column)
        for row, pair in enumerate(pairs)
        for line, column in zip(pair, (50, 320), strict=True)
    ]


async def test_columns_that_were_written_row_by_row_are_read_one_after_the_other(path: Path) -> None:
    title = ("A title over both of the columns, which is a long one here.", 10, 730, 60)
    said = [title[0], *(column.replace("|", " ") for column in (f"{LEFT} his friends.", RIGHT))]
    assert await marked(pdf([title, *in_rows(f"{LEFT} his friends.", RIGHT)]), path) == said


async def test_a_long_paragraph_takes_no_square_of_its_length(path: Path) -> None:
    """A minute of processor time, else, which is more than a reader has."""
    lines = [(f"{'They walked on and on, ' * 3}and", 10, 780 - 14 * number) for number in range(50)]
    document = await read(pdf(*[lines] * 160), path, 10**6)
    assert len(document.blocks) == 1
    assert document.blocks[0].text.count("walked") > 3 * 40 * 160


async def test_rows_of_a_table_and_wide_spaces_stay_as_they_are(path: Path) -> None:
    cells = in_rows("Ann|Bob|Charlotte|Dan|Eve.", "It rained.|5|They walked home.|9|A.")
    (text,) = await marked(pdf(cells), path)
    assert text == "Ann It rained. Bob 5 Charlotte They walked home. Dan 9 Eve. A."


async def test_hyphens_that_no_line_end_made_stay(path: Path) -> None:
    lines = ["Jean-", "Paul of 1914-", "1918 had an X-", "ray and Covid-", "19 and was self-", "assured."]
    page = [(line, 12, 700 - 14 * number) for number, line in enumerate(lines)]
    said = "Jean-Paul of 1914-1918 had an X-ray and Covid-19 and was selfassured."
    assert await marked(pdf(page), path) == [said]


async def test_pdf_has_powers_and_figures_of_notes_above_the_line(path: Path) -> None:
    high = "/F 7 Tf 5 Ts ({}) Tj /F 12 Tf 0 Ts ("
    notes, power = (high.format("1,2"), high.format("3")), high.format("6")
    line = f"It ended.) Tj {notes[0]} They) Tj {notes[1]} were 10) Tj {power} on 5."
    content = pdf([(line, 12, 700), ("And 12 more.", 12, 686)])
    assert await marked(content, path) == ["It ended. They were 10⁶ on 5. And 12 more."]


async def test_pages_without_text_are_told(path: Path) -> None:
    document = await read(pdf([("Words.", 12, 700)], [], []), path)
    assert document.warnings == ["2 pages have no text: pictures of text are not read"]


# -------------------------------------------------------------------------------------------- what is refused
