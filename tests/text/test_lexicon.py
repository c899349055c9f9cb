"""Whole words are respelt, the longest first; nothing changes them afterwards, and the way back is known."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.live.session.splitter import SentenceSplitter
from gateway.text import Lexicon, lexicon, normalise
from gateway.text.lexicon import check_entries
from gateway.text.spoken import Edit
from models.sentences import parts

ENTRIES = {
    "gif": "jif", "Nguyen": "Nwin", "US": "U S", "polish": "pollish", "Polish": "Poh lish",
    "St. Louis": "Saint Lewis", "St.": "Saint", "Node": "node", "GPT-4o": "G P T four oh", "GPT": "G P T",
    ".NET": "dot net", "C++": "see plus plus", "C": "see", "Yahoo! Inc.": "Yahoo ink", "重庆": "虫庆",
    "don't": "dohnt", "café": "kaffay", "नम": "num", "W3C": "W 3 C", "100": "one oh oh",
    "می\u200cروم": "miravam", "روم": "Rome", "क्\u200dष": "ksha",
}  # fmt: skip
LEXICON = Lexicon.of(check_entries(ENTRIES, 100))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("A gif, a GIF and Gif.", "A jif, a jif and jif."),
        ("US and us", "U S and us"),
        ("I polish the Polish POLISH", "I pollish the Poh lish pollish"),
        ("Nguyen's gifs and Nguyen\u2019s, nguyen", "Nwin's gifs and Nwin\u2019s, nguyen"),
        ("Nguyen-Smith met Nguyens", "Nwin-Smith met Nguyens"),
        ("In St. Louis by St. Anne", "In Saint Lewis by Saint Anne"),
        ("St.\nLouis", "Saint Lewis"),
        ("Node.js on Node. Then Node's", "Node.js on node. Then node's"),
        ("GPT-4o beats GPT-4", "G P T four oh beats G P T-4"),
        ("ASP.NET or .NET", "ASP.NET or dot net"),
        ("C, C++, C# and C++11", "see, see plus plus, C# and C++11"),
        ("don't and don\u2019t, don'ts", "dohnt and dohnt, don'ts"),
        ("café cafés " + unicodedata.normalize("NFD", "café"), "kaffay cafés kaffay"),
        ("新重庆人用GPT说", "新虫庆人用G P T说"),
        ("重庆庆典在重庆", "虫庆庆典在虫庆"),
        ("नम नमस्ते", "num नमस्ते"),
        ("من می\u200cروم، روم", "من miravam، Rome"),
        ("क्\u200dष क्\u200dषम", "ksha क्\u200dषम"),
        ("gif_one my_gif gif", "gif_one my_gif jif"),
        ("100 or 100,000 or 1.100 or 100.", "one oh oh or 100,000 or 1.100 or one oh oh."),
        ("", ""),
    ],
)
def test_whole_words_are_respelt(written: str, said: str) -> None:
    spoken, kept = LEXICON.respell(written)
    assert spoken.text == said
    assert all(spoken.text[start:end].strip() in ENTRIES.values() for start, end in kept)


def test_what_is_said_knows_what_was_written() -> None:
    text = "Dr. Nguyen paid $5 in St. Louis."
    spoken = normalise(text, "en", LEXICON)
    assert spoken.text == "Doctor Nwin paid five dollars in Saint Lewis."
    for said, written in (("Nwin", "Nguyen"), ("five dollars", "$5"), ("Saint Lewis", "St. Louis")):
        start = spoken.text.index(said)
        first, last = spoken.written_range(start, start + len(said))
        assert text[first:last] == written
        assert spoken.spoken_range(first, last) == (start, start + len(said))


def test_no_rule_changes_what_the_lexicon_says() -> None:
    lexicon = Lexicon.of({"W3C": "W 3 C", "No. 5": "No. 5", "重庆5": "虫庆5", "*x*": "*ex*", "St.": "St."})
    assert (
        normalise("W3C has 3 *x* on St. and No. 5", "en", lexicon).text
        == "W 3 C has three *ex* on St. and No. 5"
    )
    assert normalise("我在重庆5有2个人,1,200元", "zh", lexicon).text.startswith("我在虫庆5有两个人")


def test_the_first_lexicon_decides_and_the_longest_word() -> None:
    service = Lexicon.of({"gif": "service", "Big Blue": "company"})
    request = Lexicon.of({"GIF": "request", "Big": "large"})
    both = request.before(service)
    assert both.respell("gif GIF Big Blue Big")[0].text == "service request company large"
    assert not Lexicon.of({}).before(Lexicon())


@given(st.lists(st.sampled_from([*ENTRIES, " ", "'s ", "-", "x", "。", ". "]), max_size=8).map("".join))
def test_what_was_used_is_a_lexicon_that_does_the_same(text: str) -> None:
    again = Lexicon.of(LEXICON.used_in(text))
    assert again.respell(text) == LEXICON.respell(text)


@given(
    pieces=st.lists(st.sampled_from([*ENTRIES, " ", ". ", "! ", "word", "他", "5 "]), max_size=30),
    limit=st.integers(30, 80),
)
def test_no_word_is_divided(pieces: list[str], limit: int) -> None:
    text = "".join(pieces)
    cut = parts(text, limit, ["en"], LEXICON.ranges(text))
    assert all(len(part) <= limit for part in cut)
    assert sum(len(LEXICON.ranges(part)) for part in cut) >= len(LEXICON.ranges(text))


@given(
    pieces=st.lists(st.sampled_from([*ENTRIES, " ", ". ", "! ", "word "]), max_size=30),
    cuts=st.lists(st.integers(1, 9), min_size=1),
)
def test_live_text_keeps_words_whole(pieces: list[str], cuts: list[int]) -> None:
    text = "".join(pieces)
    splitter = SentenceSplitter(["en"])
    splitter.lexicon = LEXICON
    found, at, turn = [], 0, 0
    while at < len(text):
        step = cuts[turn % len(cuts)]
        found += splitter.push(text[at : at + step])
        at, turn = at + step, turn + 1
    found += splitter.flush()
    assert "".join(found) == text
    edges = {sum(map(len, found[:count])) for count in range(len(found) + 1)}
    assert not [edge for edge in edges for start, end in LEXICON.ranges(text) if start < edge < end]


def test_a_word_that_may_go_on_is_waited_for() -> None:
    splitter = SentenceSplitter(["en"])
    splitter.lexicon = LEXICON
    assert splitter.push("She left Yahoo! ") == []
    assert not splitter.seems_complete
    assert splitter.push("Inc. Then sh") == ["She left Yahoo! Inc. "]


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({"": "x"}, "1 to 64"),
        ({"a" * 65: "x"}, "1 to 64"),
        ({"a": "x" * 129}, "1 to 128"),
        ({"a": " "}, "1 to 128"),
        ({"--": "x"}, "letters"),
        ({"a": "x\u0007"}, "control"),
        ({"\ud800a": "x"}, "control"),
        ({"a\u200b": "x"}, "control"),
        ({"\u200d": "x"}, "letters"),
        ({"a b": "x", "a  b": "y"}, "twice"),
        ({"a": "x", "b": "x"}, "at most 1"),
    ],
)
def test_what_is_wrong_is_named(entries: dict[str, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        check_entries(entries, 1 if problem == "at most 1" else 9)


def test_entries_are_kept_in_one_form() -> None:
    decomposed = unicodedata.normalize("NFD", "café")
    assert check_entries({f" {decomposed}  au\u2019lait ": " a\n b "}, 1) == {"café au'lait": "a b"}


SOME = Lexicon.of({"a": "uh"})
WORK: dict[str, Callable[[int], object]] = {
    "of kept words": lambda count: parts(
        "He saw a cat. " * count, 160, ["en"], SOME.ranges("He saw a cat. " * count)
    ),
    "of fixed words": lambda count: SOME.ranges(
        "a b " * count, [Edit(4 * at + 2, 4 * at + 3, "x") for at in range(count)]
    ),
    "of both": lambda count: normalise("a 5! " * count, "en", SOME),
}


@pytest.mark.parametrize("what", WORK)
def test_time_grows_with_the_number_of_words_and_not_with_its_square(what: str) -> None:
    def seconds(count: int) -> float:
        began = time.thread_time()
        WORK[what](count)
        return time.thread_time() - began

    short = min(seconds(1_000) for _ in range(3))
    assert min(seconds(10_000) for _ in range(2)) < 25 * short + 0.1


@given(st.sets(st.text("aA好σςΣ", min_size=1, max_size=5), min_size=1), st.text("aA好σςΣb", max_size=6))
def test_the_words_that_a_text_begins_with_are_found_in_any_case(words: set[str], text: str) -> None:
    keys = {lexicon._in_any_case(word) for word in words}
    begins = lexicon._in_any_case(text)
    expected = {len(key) for key in keys if begins.startswith(key)}
    written = {len(word) for word in words if text.startswith(word)}
    lengths = lexicon._Table(dict.fromkeys(words, "x")).lengths(text, begins)
    assert written <= {length for length in range(7) if lengths >> length & 1} <= expected


def test_a_place_is_looked_at_once_however_many_words_might_end_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a live session every piece of text is looked through anew."""
    looked_at: list[int] = []
    ends = lexicon._ends_word
    monkeypatch.setattr(lexicon, "_ends_word", lambda text, at: looked_at.append(at) or ends(text, at))
    words = Lexicon.of({"好" * length: "x" for length in range(2, 62)})
    assert words.ranges("好" * 500) == [(start, min(start + 61, 500)) for start in range(0, 500, 61)]
    assert len(looked_at) == len(set(looked_at)) <= 500


def test_words_are_looked_for_when_a_sentence_may_end_and_not_with_every_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_through: list[str] = []
    ranges = Lexicon.ranges

    def noticed(self: Lexicon, text: str, **options: bool) -> list[tuple[int, int]]:
        looked_through.append(text)
        return ranges(self, text, **options)

    monkeypatch.setattr(Lexicon, "ranges", noticed)
    splitter = SentenceSplitter()
    splitter.lexicon = Lexicon.of({"st. louis": "Saint Lewis"})
    for token in ["In ", "a ", "town ", "by "]:
        assert splitter.push(token) == [] and not splitter.seems_complete
    assert looked_through == []
    assert [*splitter.push("St. "), *splitter.push("Louis it rains. "), *splitter.push("He is wet")] == [
        "In a town by St. Louis it rains. "
    ]
    assert looked_through
