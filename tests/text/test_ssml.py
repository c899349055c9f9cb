"""SSML: what it says and where it pauses; what is not known, or not safe, is refused by name."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.text import Lexicon, normalise
from gateway.text.spoken import has_ideogram
from gateway.text.ssml import Script, SsmlError, parse_ssml

LONG_TIME = f"<say-as interpret-as='time'>{'1一' * 100}</say-as>"
SHORT_TIME = "<say-as interpret-as='time'>1s</say-as>"
LONG_SAY_AS = f"<say-as interpret-as='characters'>{'a' * 200}</say-as>"


def parse(inner: str, attributes: str = "") -> Script:
    return parse_ssml(f"<speak {attributes}>{inner}</speak>")


def said(inner: str, attributes: str = 'xml:lang="en-US"') -> str:
    script = parse(inner, attributes)
    texts = (normalise(each.text, script.language, fixed=each.fixed).text for each in script.passages)
    return " | ".join(texts)


@pytest.mark.parametrize(
    ("inner", "passages", "after"),
    [
        ("Hello  there\n you.", [("Hello there you.", 0)], 0),
        ("One <break time='500ms'/> two", [("One", 0), ("two", 0.5)], 0),
        ("<break time='1.25s'/>One<break time='10ms'/>", [("One", 1.25)], 0.01),
        ("One<break time='1s'/><break strength='weak'/>two", [("One", 0), ("two", 1.2)], 0),
        ("One<break strength='none'/> two<break time='0s'/>.", [("One two.", 0)], 0),
        ("<p>One.</p><p>Two.</p>", [("One.", 0), ("Two.", 0.7)], 0),
        ("<p><s>One.</s><s>Two.</s></p> Three", [("One.", 0), ("Two.", 0.2), ("Three", 0.7)], 0),
        ("<p>One.</p><break time='30ms'/><p>Two.</p>", [("One.", 0), ("Two.", 0.03)], 0),
        ("<p>One.</p><break strength='none'/><p>Two.</p>", [("One.", 0), ("Two.", 0)], 0),
        ("One<break/>. <break time='1s'/>Two", [("One.", 0), ("Two", 1.4)], 0),
        ("<sub alias='plus'>+</sub>", [("+", 0)], 0),
        ("One<break time='1s'/><sub alias='and'>&amp;</sub><break time='1s'/>!", [("One", 0), ("&!", 1)], 1),
        ("One <![CDATA[<two>]]> &amp; &#x33;", [("One <two> & 3", 0)], 0),
        ("<!-- said by nobody -->One", [("One", 0)], 0),
    ],
)
def test_passages_and_pauses(inner: str, passages: list[tuple[str, float]], after: float) -> None:
    script = parse(inner)
    assert [each.text for each in script.passages] == [text for text, _ in passages]
    assert [each.pause for each in script.passages] == pytest.approx([pause for _, pause in passages])
    assert script.pause_after == pytest.approx(after)


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        ("<sub alias='W three C'>W3C</sub> W3C", "W three C W three C"),
        ("<sub alias='5 $'>x</sub> and $5", "5 $ and five dollars"),
        ("One <break/> <sub alias='plus'>+</sub> <break/> two", "One | plus | two"),
        ("<say-as interpret-as='characters'>ab1</say-as>", "A B one"),
        ("<say-as interpret-as='spell-out'>US</say-as>", "U S"),
        ("<say-as interpret-as='cardinal'>1,234</say-as>", "one thousand two hundred thirty-four"),
        ("<say-as interpret-as='cardinal'>-7</say-as>", "minus seven"),
        ("<say-as interpret-as='ordinal'>21</say-as>", "twenty-first"),
        ("<say-as interpret-as='telephone'>415-555</say-as>", "four one five, five five five"),
        ("<say-as interpret-as='time'>9:30am</say-as>", "nine thirty a m"),
        ("<say-as interpret-as='date' format='dmy'>4/3/2025</say-as>", "March fourth, twenty twenty-five"),
        ("<say-as interpret-as='date'>4/3/2025</say-as>", "April third, twenty twenty-five"),
    ],
)
def test_what_is_said_otherwise(inner: str, words: str) -> None:
    if "W3C" in inner:
        script = parse(inner)
        (only,) = script.passages
        respelt = Lexicon.of({"W3C": "W three C"}).respell(only.text, only.fixed)[0].text
        assert respelt == words
        assert normalise(only.text, "en", fixed=only.fixed).text.startswith("W three C")
    else:
        assert said(inner).replace("-", " ").replace(" and thirty", " thirty") == words.replace("-", " ")


def test_chinese_is_read_in_chinese() -> None:
    assert said("第 <say-as interpret-as='cardinal'>12</say-as>", "") == "第 十二"
    assert said("<say-as interpret-as='ordinal'>3</say-as>", "xml:lang='zh-CN'") == "第三"
    assert parse("第<say-as interpret-as='cardinal'>2</say-as>").passages[0].fixed[0].spoken == "二"
    apart = parse("第一。<break time='1s'/>page <say-as interpret-as='cardinal'>2</say-as>").passages
    assert apart[1].fixed[0].spoken == "two"


def test_very_many_short_texts_may_be_read_as_their_author_says() -> None:
    assert len(parse(LONG_SAY_AS * 100).passages[0].fixed) == 100
    assert len(parse(SHORT_TIME * 200).passages[0].fixed) == 200
    assert len(parse(LONG_TIME * 20).passages[0].fixed) == 20
    assert len(parse("<say-as interpret-as='cardinal'>123</say-as> " * 1999).passages[0].fixed) == 1999


def test_a_document_is_looked_through_once_for_its_language(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0

    def counted(text: str) -> bool:
        nonlocal looked_at
        looked_at += len(text)
        return has_ideogram(text)

    for module in ("reader", "writer"):
        monkeypatch.setattr(f"gateway.text.ssml.{module}.has_ideogram", counted)
    inner = "several words <say-as interpret-as='cardinal'>2</say-as> " * 200
    parse(inner)
    assert looked_at < 2 * len(inner)


def test_nothing_is_called_for_each_of_its_characters() -> None:
    """A megabyte was looked at one by one, on the event loop: everybody waited for a quarter of a second."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        script = parse("a\n" * 50_000)
    finally:
        sys.setprofile(None)
    assert script.text == "a " * 49_999 + "a"
    assert calls < 1000


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("<speak><audio src='http://x/'/>Hi</speak>", "<audio>"),
        ("<speak><emphasis>Hi</emphasis></speak>", "<emphasis>"),
        ("<speak><break time='1s' foo='1'/>Hi</speak>", "'foo'"),
        ("<speak onload='x'>Hi</speak>", "'onload'"),
        ("<speak>Hi<break time='21s'/></speak>", "at most 20 s"),
        ("<speak>Hi<break time='-1s'/></speak>", "500ms"),
        ("<speak>Hi<break time='soon'/></speak>", "500ms"),
        ("<speak>Hi<break strength='huge'/></speak>", "strength"),
        ("<speak>Hi" + "<break time='20s'/>Hi" * 7 + "</speak>", "at most 120 s"),
        ("<speak>Hi" + "<break time='15s'/>" * 2 + "Hi</speak>", "at most 20 s"),
        ("<speak><sub>Hi</sub></speak>", "'alias'"),
        ("<speak><sub alias='x'><break/></sub></speak>", "<sub> holds no <break>"),
        ("<speak><sub alias='x'> </sub></speak>", "<sub>"),
        (f"<speak><sub alias='{'x' * 129}'>Hi</sub></speak>", "1 to 128"),
        ("<speak><say-as>1</say-as></speak>", "'interpret-as'"),
        ("<speak><say-as interpret-as='address'>1</say-as></speak>", "'address'"),
        ("<speak><say-as interpret-as='cardinal'>one</say-as></speak>", "cardinal"),
        ("<speak><say-as interpret-as='date' format='dmy'>4/13/2025</say-as></speak>", "date"),
        ("<speak><say-as interpret-as='cardinal' format='dmy'>4</say-as></speak>", "format"),
        ("<speak><p><p>Hi</p></p></speak>", "<p>"),
        ("<speak><speak>Hi</speak></speak>", "<speak>"),
        ("<p>Hi</p>", "<speak>"),
        ("<speak>Hi</p>", "line 1"),
        ("Hi", "well-formed"),
        ("<speak>&nbsp;Hi</speak>", "well-formed"),
        ("<speak> <break/> </speak>", "no words"),
        ("<speak>...</speak>", "no words"),
        ("<speak><?php x?>Hi</speak>", "processing instruction"),
        ("<!DOCTYPE speak><speak>Hi</speak>", "DOCTYPE"),
        ('<!DOCTYPE s [<!ENTITY a "b">]><speak>&a;</speak>', "DOCTYPE"),
        ('<!DOCTYPE s SYSTEM "file:///etc/passwd"><speak>Hi</speak>', "DOCTYPE"),
        ("<speak>" + "<break/>" * 2001 + "Hi</speak>", "2000 elements"),
        ("<speak xml:lang='../x'>Hi</speak>", "xml:lang"),
        ("<speak>\x00Hi</speak>", "well-formed"),
        (f"<speak><say-as interpret-as='time'>{'!' * 200}a</say-as></speak>", "200 characters"),
        (f"<speak><say-as interpret-as='date'>{'1' * 201}</say-as></speak>", "200 characters"),
        (f"<speak>{LONG_SAY_AS * 101}</speak>", "20000 characters in all"),
        (f"<speak>{LONG_TIME * 21}</speak>", "20000 characters in all"),
        (f"<speak>{SHORT_TIME * 201}</speak>", "20000 characters in all"),
        (f"<speak>{'Hi ' * 400_000}</speak>", "1000000 characters"),
    ],
)
def test_what_is_refused_is_named(source: str, named: str) -> None:
    with pytest.raises(SsmlError) as caught:
        parse_ssml(source)
    assert named in str(caught.value)


@given(
    st.lists(
        st.sampled_from(
            [
                "<speak>",
                "</speak>",
                "<p>",
                "</p>",
                "<break/>",
                "<sub alias='x'>",
                "</sub>",
                "Hi ",
                ". ",
                "&lt;",
                "<s>",
            ]
        ),
        max_size=12,
    ).map("".join)
)
def test_whatever_comes_is_a_script_or_a_refusal(source: str) -> None:
    try:
        script = parse_ssml(source)
    except SsmlError:
        return
    assert script.text.strip() and all(each.text == each.text.strip() for each in script.passages)


@pytest.mark.parametrize(
    ("inner", "passages"),
    [
        ("One <prosody rate='slow'>two</prosody> three.", [("One", 1), ("two", 0.75), ("three.", 1)]),
        ("<prosody rate='80%'>One. <s>Two.</s></prosody>", [("One.", 0.8), ("Two.", 0.8)]),
        (
            "<prosody rate='+20%'>A <prosody rate='-50%'>b</prosody> c</prosody>",
            [("A", 1.2), ("b", 0.5), ("c", 1.2)],
        ),
        ("<prosody rate='medium'>One</prosody> two", [("One two", 1)]),
        ("One <prosody rate='fast'> </prosody>two", [("One two", 1)]),
    ],
)  # fmt: skip
def test_a_rate_holds_for_what_it_encloses(inner: str, passages: list[tuple[str, float]]) -> None:
    assert [(each.text, each.rate) for each in parse(inner).passages] == [
        (text, pytest.approx(rate)) for text, rate in passages
    ]


@pytest.mark.parametrize(
    ("inner", "problem"),
    [
        ("<prosody>x</prosody>", "needs the attribute 'rate'"),
        ("<prosody pitch='high'>x</prosody>", "no attribute 'pitch'"),
        ("<prosody rate='quick'>x</prosody>", "rate is one of x-slow"),
        ("<prosody rate='500%'>x</prosody>", "from 25% to 400%"),
        ("<prosody rate='-90%'>x</prosody>", "from 25% to 400%"),
        ("<sub alias='y'><prosody rate='slow'>x</prosody></sub>", "holds no <prosody>"),
    ],
)
def test_a_wrong_rate_is_refused_by_name(inner: str, problem: str) -> None:
    with pytest.raises(SsmlError, match=problem):
        parse(inner)
