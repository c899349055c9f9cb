"""Normalisation keeps every word, and knows the way back."""

from __future__ import annotations

import re
from itertools import pairwise
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from benchmarks.text import FILES, cases
from gateway.text import Spoken, normalise
from gateway.text.rules import Rules, apply, rule
from gateway.text.spoken import Edit

PIECES = st.lists(
    st.one_of(
        st.sampled_from([case.written for name in FILES for case in cases(name)]),
        st.text(max_size=8),
        st.sampled_from(list("$€%#*_`[]()|<>=+-/\\:.,~^ \n0123456789年月点个第－")),
    ),
    max_size=6,
)
FUZZ = (
    *(
        "0123456789",
        "0123456789",
        "٠٣٩०५߁５０𝟗",
        "²³¹①Ⅻ½⅐〇百",
        "+-−–—*/×÷=<>≤√^%‰％°º$€£¥￥₹₿¢#@&~.,;:，。！？!?()[]|'’′″⁄",
    ),
    ("9" * 20, "1" * 4400, "1,000", "3.14", "12:30", "1999", "2024-05-06", "1/2", "007", "800-555-0000"),
    (
        "ſ",
        "\u212a",
        "ı",
        "İ",
        "ß",
        "\u0301",
        "\u200b",
        "\u200d",
        "\ufeff",
        "\u3000",
        "\u2028",
        "\x85",
        "\0",
        "㎡",
        "№",
    ),
    (
        "km",
        "kWh",
        "m/s²",
        "°C",
        "M",
        "bn",
        "万",
        "亿",
        "st",
        "th",
        "USD",
        "s",
        "am",
        "p.m.",
        "ms",
        "oz",
        "ſt",
        "\u212aM",
    ),
    (
        "sec. ",
        "ſec. ",
        "No. ",
        "Fıg. ",
        "Louis ",
        "Chapter ",
        "XIV",
        "iv",
        "Call ",
        "v",
        "0x",
        "Ext. ",
        "in ",
        "Jan ",
    ),
    (
        "第",
        "年",
        "比分",
        "电话",
        "航班",
        "验证码",
        "章",
        "他有",
        "个",
        "室",
        " ",
        " ",
        "\n",
        "a@b.co",
        "www.a.com/",
        "/usr/bin",
    ),
)
"""Figures, signs, units and letters of all kinds."""


def normalise_without_error(text: str, language: str | None = None) -> str:
    """Fails where a rule does, which `normalise` only logs."""
    with capture_logs() as logs:
        spoken = normalise(text, language)
    assert [entry for entry in logs if entry["log_level"] == "error"] == [], text
    return spoken.text


def ranges(spoken: Spoken) -> list[tuple[int, int]]:
    return list(zip(spoken.starts, spoken.ends, strict=True))


def test_every_character_knows_what_it_stands_for() -> None:
    spoken = normalise("It costs $5.20 now.")
    assert spoken.text == "It costs five dollars and twenty cents now."
    five = spoken.text.index("five")
    assert spoken.written_range(five, five + len("five dollars and twenty cents")) == (9, 14)
    now = spoken.text.index("now")
    assert spoken.written[slice(*spoken.written_range(now, now + 3))] == "now"
    assert spoken.spoken_range(9, 14) == (five, now - 1)


def test_progress_is_told_in_whole_figures() -> None:
    spoken = normalise("Pay $5.20 now.")
    assert spoken.to_written(spoken.text.index("twenty")) == 4
    assert spoken.to_written(spoken.text.index(" now")) == 9
    assert spoken.to_written(10_000) == len(spoken.written)


@settings(max_examples=150, deadline=None)
@given(PIECES, st.booleans())
def test_whatever_comes_the_way_back_is_in_order(pieces: list[str], spell: bool) -> None:
    text = " ".join(pieces)
    spoken = normalise(text, "en", spell=spell)
    found = ranges(spoken)
    assert len(found) == len(spoken.text)
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(one[0] <= other[0] and one[1] <= other[1] for one, other in pairwise(found))
    assert normalise(text, "en", spell=spell) == spoken


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["the", "quick", "fox", "said", "nothing", "你好", "世界", "again"])))
def test_plain_words_are_left_alone(words: list[str]) -> None:
    text = " ".join(words)
    assert normalise(text).text == text


BESIDE = (
    *(
        "1:10",
        "9:30",
        "3.5",
        "½",
        "5/6",
        "50/60 Hz",
        "§4",
        "(",
        "|",
        "★★★★☆",
        "-",
        "–",
        "—",
        "°",
        "′",
        "€5",
        "%",
    ),
    *(
        "km",
        "V",
        "Jan ",
        "Fri.",
        "Dr.",
        "Ps ",
        "IV",
        "×",
        "=",
        "^2",
        "²",
        "∫",
        "→",
        "±",
        "*",
        "_",
        "``` ",
        "#",
    ),
    *(
        "\n",
        " ",
        "!",
        "。",
        "，",
        "中文",
        "第",
        "3月5日",
        "2",
        "《约翰福音》",
        "比分",
        "万",
        "🙂",
        "１２",
        "1. ",
        "> ",
    ),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*BESIDE, "Zorbex"])), st.sampled_from([None, "en", "zh"]))
@example(["1:10", "Zorbex"], "en")
@example(["``` ", "中文", " ", "Zorbex", "\n", "2"], "en")
def test_a_word_is_said_whatever_stands_beside_it(pieces: list[str], language: str | None) -> None:
    text = "".join(pieces)
    assert normalise(text, language).text.count("Zorbex") == text.count("Zorbex")


@pytest.mark.parametrize(
    "text",
    ["価格は100円です。", "Цена 5 рублей.", "가격은 5원입니다.", "السعر 5"],
)
def test_other_languages_stay_as_they_are(text: str) -> None:
    assert normalise(text).text == text


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("To do\n* call Ann\n* buy bread", "To do,\ncall Ann,\nbuy bread"),
        (
            "Bring:\n- a **warm** `coat`\n- a *hat*\n- gloves.\n- tea",
            "Bring:\na warm coat,\na hat,\ngloves.\ntea",
        ),
        ("1. pears\n2. plums (blue)\n3. figs", "one. pears,\ntwo. plums (blue),\nthree. figs"),
        ("- long\n  line\n\n- two", "long\n  line\n\ntwo"),
        ("- 苹果\n- 梨", "苹果，\n梨"),
        ("see page\n3. Then go", "see page\nthree. Then go"),
    ],
)
def test_items_of_a_list_do_not_run_into_each_other(written: str, said: str) -> None:
    assert normalise(written, "en").text == said


def test_a_language_that_is_given_and_not_known_is_left_alone() -> None:
    assert normalise("Das kostet 5 Euro.", "de").text == "Das kostet 5 Euro."
    assert normalise("105", "zh-CN").text == "一百零五"
    assert normalise("105", "en-GB").text == "one hundred five"


def test_text_of_marks_alone_is_not_emptied() -> None:
    assert normalise("<b></b>").text == "<b></b>"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("It was _very_ good, _he\nsaid_.", "It was very good, he\nsaid."),
        ("“_No!_” I", "“No!” I"),
        ("Of foo_bar, _private and _ as such _", "Of foo bar, _private and _ as such _"),
        ("_One\n\nTwo_", "_One\n\nTwo_"),
    ],
)
def test_marks_of_slanted_words_are_not_said(written: str, said: str) -> None:
    assert normalise(written, "en").text == said


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("Bake for 2½ hours.", "Bake for two and a half hours."),
        ("It is 10 ¾ inches long.", "It is ten and three quarters inches long."),
        ("We drove 1,250⅓ miles.", "We drove one thousand two hundred fifty and a third miles."),
        ("Add ½ of it.", "Add one half of it."),
        ("Line 1.5½ here.", "Line one point five one half here."),
        ("It costs $2½ now.", "It costs two dollars one half now."),
    ],
)
def test_a_whole_and_a_fraction_are_one_number(written: str, said: str) -> None:
    assert normalise(written, "en").text == said


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("他有$999999999999M的资产。", "他有九十九亿九千九百九十九万九千九百九十九点九九亿美元的资产。"),
        ("他有$10000000000b。", "他有一千亿亿美元。"),
        ("他有$1.25M。", "他有一百二十五万美元。"),
        (f"他有${'9' * 400}M。", None),
        ("See ſec. 5.", "See section five."),
        ("See fıg. 5.", "See fıg. five."),
        ("v" + "1" * 4301, "version" + " one" * 4301),
        ("$1." + "1" * 4301, f"one point{' one' * 4301} dollars"),
    ],
)
def test_odd_figures_are_said_too(written: str, said: str | None) -> None:
    spoken = normalise_without_error(written)
    assert spoken == said if said else "M" not in spoken


@pytest.mark.parametrize("language", ["en", "zh", None])
def test_nothing_written_makes_a_rule_fail(language: str | None) -> None:
    random = Random(5)
    for _ in range(250):
        pieces = [random.choice(random.choice(FUZZ)) for _ in range(random.randint(1, 12))]
        normalise_without_error("".join(pieces), language)


def test_where_a_rule_fails_the_sentence_is_read_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(match: re.Match[str]) -> str:
        raise ValueError(f"not {match[0]}")

    monkeypatch.setattr("gateway.text.english.RULES", Rules(rule("secret", fail), rule("5", "five")))
    with capture_logs() as logs:
        spoken = normalise("**5** secret words!\nOnly 5.", "en")
    assert spoken.text == "5 secret words!\nOnly five."
    (entry,) = logs
    assert (entry["log_level"], entry["error"]) == ("error", "ValueError")
    assert "secret" not in str(entry) and entry["at"].startswith("test_normalise.py:")


def test_the_earlier_rule_has_its_way() -> None:
    rules = Rules(rule(r"b+", "B"), rule(r"ab|c", "X"))
    assert apply(rules, "abb c") == [Edit(1, 3, "B"), Edit(4, 5, "X")]


def test_words_beside_each_other_are_one_space_apart() -> None:
    text = "It ran at 10¹² Hz w/ 3² m at 5:45p"
    assert normalise(text, "en").text == (
        "It ran at ten to the power of twelve hertz with three squared m at five forty-five p m"
    )
