"""Chapters of a text and of its audio."""

from __future__ import annotations

import time

import pytest

from gateway.jobs.chapters import Chapter, SpokenPart, find_chapters, mark_chapters, title_line

LONG = "He went on for a long while, and nobody minded."


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        (f"# One \t##\n{LONG}\n\n# {'#' * 9}\n\n{LONG}", ["One"]),
        (f"# One #\n{LONG}\n\n## Two *and* a half\n\n{LONG}", ["One", "Two *and* a half"]),
        (f"Preface\n\n{LONG}\n\nCHAPTER I. The Door\n\n{LONG}\n\nChapter 2\n\n{LONG}",
         ["Preface", "CHAPTER I. The Door", "Chapter 2"]),
        (f"第一章 门\n\n{LONG}\n\n第二章\n\n{LONG}", ["第一章 门", "第二章"]),
        (f"The Door\n\n{LONG}\n\nThe Window\n\n{LONG}", ["The Door", "The Window"]),
        (f"{LONG}\n\n“Who?”\n\n{LONG}\n\nYes.", []),
        (f"A\n\nlist\n\nof\n\nlines\n\n{LONG}", ["lines"]),
        (f"Part of it was true.\nThe rest was not.\n\n{LONG}", []),
    ],
)  # fmt: skip
def test_headings_begin_chapters(text: str, titles: list[str]) -> None:
    found = find_chapters(text)
    assert [chapter.title for chapter in found] == titles
    assert all(chapter.title.split()[0] in text[chapter.start :].split("\n")[0] for chapter in found)


@pytest.mark.parametrize("run", ["#", " ", "\t #"])
def test_time_grows_with_a_heading_and_not_with_its_square(run: str) -> None:
    def seconds(count: int) -> float:
        text = f"# a{run * count}x"
        began = time.thread_time()
        find_chapters(text)
        return time.thread_time() - began

    short = min(seconds(500) for _ in range(3))
    assert min(seconds(8_000) for _ in range(3)) < 48 * short + 0.03


def test_marks_lie_where_the_parts_are() -> None:
    parts = [SpokenPart(0, 10, 1000), SpokenPart(12, 20, 3000), SpokenPart(22, 42, 2000)]
    chapters = [Chapter("A", 0), Chapter("B", 11), Chapter("C", 32), Chapter("D", 50)]
    marks = mark_chapters(chapters, parts, 1000)
    assert [(mark.title, mark.start, mark.end) for mark in marks] == [("A", 0, 1), ("B", 1, 5), ("C", 5, 6)]
    assert mark_chapters(chapters, [], 1000) == [] == mark_chapters([], parts, 1000)
    begun = mark_chapters([Chapter("A", 0), Chapter("B", 10)], parts[:1], 1000)
    assert [mark.title for mark in begun] == ["A"], "nothing of B is spoken yet"


def test_a_title_keeps_joiners_and_loses_what_is_not_seen() -> None:
    assert (
        title_line("می\u200cخواهم  👩\u200d🚀\nOne\u3000two\u202e\u200b!")
        == "می\u200cخواهم 👩\u200d🚀 One two!"
    )
