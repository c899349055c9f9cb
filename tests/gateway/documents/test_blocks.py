"""Which blocks of a document begin chapters."""

from __future__ import annotations

import pytest

from gateway.documents.blocks import Found, in_chapters, title_of
from gateway.jobs.chapters import MOST_TITLE_CHARACTERS

H1, H2 = 1, 2


def marked(*found: Found) -> list[str]:
    """A chapter as "# ..."; what is a paragraph as it is."""
    return [("# " if block.kind == "chapter" else "") + block.text for block in in_chapters(found)]


@pytest.mark.parametrize(
    ("found", "blocks"),
    [
        ([Found("One", H1), Found("A."), Found("Two", H1), Found("B.")], ["# One", "A.", "# Two", "B."]),
        (
            [Found("Title", H1), Found("One", H2), Found("A."), Found("Two", H2), Found("B.")],
            ["Title", "# One", "A.", "# Two", "B."],
        ),
        ([Found("Only", H1), Found("A.")], ["# Only", "A."]),
        ([Found("Part One", H1), Found("1", H2), Found("A."), Found("Part Two", H1), Found("B.")],
         ["# Part One\n1", "A.", "# Part Two", "B."]),
        ([Found("A."), Found("B.")], ["A.", "B."]),
        ([Found("Chapter 1"), Found("A."), Found("Chapter 2"), Found("B.")],
         ["# Chapter 1", "A.", "# Chapter 2", "B."]),
        ([Found("It began.", chapter="The Start"), Found("B.", chapter="The End")],
         ["# The Start", "It began.", "# The End", "B."]),
        ([Found("the START", chapter="The start!"), Found("B.")], ["# the START", "B."]),
        ([Found("I", H1, chapter="1. The Walk"), Found("B.")], ["# I", "B."]),
    ],
)  # fmt: skip
def test_chapters_are_found(found: list[Found], blocks: list[str]) -> None:
    assert marked(*found) == blocks


def test_a_long_row_of_headings_is_no_title() -> None:
    blocks = in_chapters([Found(f"Heading {number}", H1) for number in range(100)])
    assert all(len(block.text) <= MOST_TITLE_CHARACTERS for block in blocks)
    assert "\n".join(block.text for block in blocks) == "\n".join(f"Heading {n}" for n in range(100))


@pytest.mark.parametrize(
    ("found", "title"),
    [
        ([Found("Title", H1), Found("One", H2), Found("A."), Found("Two", H2), Found("B.")], "Title"),
        ([Found("Only", H1), Found("A.")], "Only"),
        ([Found("One", H1), Found("A."), Found("Two", H1), Found("B.")], ""),
        ([Found("A.")], ""),
    ],
)
def test_a_title_stands_before_the_chapters(found: list[Found], title: str) -> None:
    assert title_of(found, in_chapters(found)) == title
