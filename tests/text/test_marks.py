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
    "WEBVTT\n\n00:01.000 --> 00:04.000 align:start\nHi!": "Hi!",
    "Oh no :'( it was $5 >_< see https://x.io": "Oh no  it was five dollars  see x dot io",
    "¯\\_(ツ)_/¯ it was $5": " it was five dollars",
    "1/ It costs $5": "one. It costs five dollars",
}

LINES = {
    "I wandered lonely\nThat floats on high\nBeside the lake,\nBeneath the trees.": "I wandered lonely,\nThat"
    " floats on high,\nBeside the lake,\nBeneath the trees.",
    "10 Downing Street\nLondon": "ten Downing Street,\nLondon",
    "# Chapter 1\nIt was a dark and\nstormy night in\nParis.": "Chapter one,\nIt was a dark and\nstormy night"
    " in\nParis.",
    "Name: Ann\nAge: 35": "Name: Ann,\nAge: thirty-five",
    "id,name\n1,Ann\n2,Bob": "id,name.\none,Ann.\ntwo,Bob",
    "| Fruit | Price |\n|---|---|\n| Pear | $3 |\n| Fig | $2 |": "Fruit, Price.\n\nPear, three dollars.\nFig,"
    " two dollars",
    "14:30:12 began\n14:30:13 done": "fourteen thirty and twelve seconds began,\nfourteen thirty and thirteen"
    " seconds done",
    "It cost $5 in the old\nParis and then\nwe slept in\nLondon": "It cost five dollars in the old\nParis and"
    " then\nwe slept in\nLondon",
    "a visit to the old town and its harbour, which took us\nAnn": "a visit to the old town and its harbour,"
    " which took us\nAnn",
    "静夜思\n李白\n床前明月光，\n疑是地上霜。": "静夜思，\n李白，\n床前明月光，\n疑是地上霜。",
    "这是一段很长的文字它在一行里没有写完\n所以接着写": "这是一段很长的文字它在一行里没有写完\n所以接着写",
    "时间：3月5日 14:30\n地点：A座3层\n主题": "时间：三月五日 十四点三十分，\n地点：A座三层，\n主题",
    "```sh\nA\n```": "\nA\n",
    '``` js {1,3} hl_lines="7 12"\nA\n```': "\nA\n",
}


@pytest.mark.parametrize("written", LINES)
def test_a_line_that_no_sign_ends_gets_a_breath_unless_it_goes_on(written: str) -> None:
    assert normalise(written, "en").text == LINES[written]


@pytest.mark.parametrize("written", SAID)
def test_what_is_not_said(written: str) -> None:
    assert normalise(written, "en").text == SAID[written]
