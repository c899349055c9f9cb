"""What is seen of Markdown, HTML, subtitles and faces, and not said."""

from __future__ import annotations

import pytest

from gateway.text import normalise

SAID = {
    "A note.[^1] More[^far].\n\n[^1]: It is far.": "A note. More.\n\nIt is far.",
    "A class [^a-z] or x[^1]* stays": "A class [^a-z] or x[^one] stays",
    'See ![a map](map.png "The map") and [a page](https://x.org/Foo_(bar)).': "See a map and a page.",
    "[![Build](https://x.io/b.svg)](https://x.io) passes": "Build passes",
    "See [the page][1], not a[i][1].\n\n[1]: https://x.io/a": "See [the page], not a[i][one].\n\n",
    "<!-- not said -->Said": "Said",
    "One<br>Two</p><p>Three <b>bo</b>ld": "One\nTwo\nThree bold",
    "<details><summary>More</summary>Here</details>": "\nMore\nHere",
    r"5 \* 3, snake\_case, D:\_b": "five times three, snake case, D colon backslash underscore b",
    ">> Sure?\n> Yes.\n>>> No.": "Sure?\nYes.\nNo.",
    "----- Original Message -----\nTitle\n=====\nText": "Original Message \nTitle\n\nText",
    "Chapter 1 ........ 5": "Chapter one, five",
    "1\n00:00:01,000 --> 00:00:04,000\nHello.\n\n2\n00:00:05,000 --> 00:00:07,500\nBye.": "Hello.\n\nBye.",
    "WEBVTT\n\n00:01.000 --> 00:04.000 align:start\nHi!": "WEBVTT\n\nHi!",
    "Oh no :'( it was $5 >_< see https://x.io": "Oh no  it was five dollars  see x dot io",
    "¯\\_(ツ)_/¯ it was $5": " it was five dollars",
    "1/ It costs $5": "one. It costs five dollars",
}


@pytest.mark.parametrize("written", SAID)
def test_what_is_not_said(written: str) -> None:
    assert normalise(written, "en").text == SAID[written]
