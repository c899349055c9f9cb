"""Tags by which other services are told how to speak."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from gateway.protocols.deepgram.controls import Controls
from gateway.protocols.tags import ANY_CUE, Piece, Tags, _joined, clip_fields
from gateway.requests import TtsRequest

TEXTS = [
    ("I am <emotion value='happy' /> glad.", "I am glad."),
    ('<speed ratio="1.2"/>Fast, <volume ratio="0.5"/>soft.', "Fast, soft."),
    ("Code <spell>A7X9</spell>.", "Code A 7 X 9."),
    ("It is to<spell>12 34</spell>, then.", "It is to 1 2 3 4, then."),
    ('A <phoneme alphabet="ipa" ph="ˈmædɪsən">Madison</phoneme>!', "A Madison!"),
    ("One<break/>two", "One (0.4)two"),
    ('One. <break time="250ms" /><break time="9s"/> Two', "One. (0.25)(9.0)Two"),
    ("Take <<m|ɛ|t|f|ˈ|ɔ|ɹ|m|ɪ|n>>, <<dʒ|ɑ|n>>.", "Take metformin, dzhan."),
    ("1<<2|3, <<a>>, <<b|c>", "1<<2|3, <<a>>, <<b|c>"),
    ("Is 3 < 5, and a <b or <i>c</i>?", "Is 3 < 5, and a <b or <i>c</i>?"),
    ("<breakfast> at <spelling", "<breakfast> at <spelling"),
    ('Not closed <break time="1s"', 'Not closed <break time="1s"'),
    ("[laughs] Well [1] is [a, b]", "[laughs] Well [1] is [a, b]"),
]


def marked(said: list[Piece]) -> str:
    """With seconds of silence in brackets."""
    return "".join(piece if isinstance(piece, str) else f"({piece})" for piece in said)


@pytest.mark.parametrize(("text", "said"), TEXTS)
@pytest.mark.parametrize("length", [1, 3, 1000])
def test_tags_are_taken_out_however_the_text_comes(text: str, said: str, length: int) -> None:
    tags = Tags()
    pieces = [marked(tags.take(text[at : at + length])) for at in range(0, len(text), length)]
    assert "".join(pieces) + tags.rest() == said


def test_what_is_no_tag_does_not_wait() -> None:
    tags = Tags()
    assert tags.take("3 < 5, <i> and <br") == ["3 < 5, <i> and "]
    assert tags.take("eak/>so on, <") == [0.4, "so on, "]
    assert tags.take("emotional> x") == ["<emotional> x"]


def test_words_in_brackets_are_cues_for_models_that_know_them() -> None:
    tags = Tags(ANY_CUE)
    assert tags.take("[laughs softly] Well, [1] is [whisp") + tags.take("ers] it.") == [
        "Well, [1] is ",
        "it.",
    ]
    assert clip_fields("[laughs]", Tags(ANY_CUE)) == {"text": "…"}
    assert clip_fields("[laughs]", Tags()) == {"text": "[laughs]"}


def test_cues_that_are_pauses_are_silence() -> None:
    tags = Tags(ANY_CUE)
    said = (
        tags.take("Well[short pause] so. [pau") + tags.take("se]Then [long pause]") + tags.take("[sighs] it")
    )
    assert said == ["Well ", 0.5, "so. ", 1.0, "Then ", 2.0, "it"]
    assert Tags().take("[pause]") == ["[pause]"]


def test_a_clip_of_pauses_alone_is_a_moment_of_silence() -> None:
    assert clip_fields(' <break time="1s"/>... ', Tags()) == {"text": "…"}
    assert clip_fields(" ", Tags()) == {"text": " "}
    assert clip_fields("", Tags()) == {"text": ""}


@pytest.mark.parametrize(
    ("tag", "seconds"),
    [('time="1.5s"', "1.5"), ("time='250ms' /", "0.25"), ('time="90s"/', "20"), ("/", "0.4"), ("", "0.4")],
)
def test_a_break_in_a_clip_is_a_pause(tag: str, seconds: str) -> None:
    fields = clip_fields(f"R & D<break {tag}> <spell>ab</spell>.", Tags())
    assert fields["input_type"] == "ssml"
    assert fields["text"] == f'<speak>R &amp; D <break time="{seconds}s"/>a b.</speak>'


@pytest.mark.parametrize(
    ("text", "pauses"),
    [
        ("One. [long pause] " * 100, 60),
        ('One <break time="15s"/> - <break time="15s"/><break time="5s"/> two.', 2),
        ('One <break time="20s"/> two <break time="20s"/> three.', 2),
        ("\x01One\x0b <break/> t\ufffewo.", 1),
    ],
)
def test_whatever_has_pauses_can_be_said(text: str, pauses: int) -> None:
    """Nobody is told of SSML who sent none: it has so many pauses, and not all characters."""
    request = TtsRequest(**clip_fields(text, Tags(ANY_CUE)))
    assert request.input_type == "ssml" and request.text.count("<break") == pauses


class Whole(str):
    """A text that is not put together with another one by one."""

    def __add__(self, other: str) -> str:
        pytest.fail("all that came before was copied")


def test_many_pieces_are_put_together_at_once() -> None:
    """A megabyte of tags had as many copies made of what was read before: 1.3 s, for everybody."""
    assert _joined([Whole("a"), Whole("b"), "", 1.0, 0.5, Whole("c"), "", Whole("d")]) == [
        "ab",
        1.0,
        0.5,
        "cd",
    ]


@pytest.mark.parametrize("tags", [Tags(), Tags(ANY_CUE), Controls()])
def test_the_beginning_of_a_tag_is_looked_for_at_the_end(tags: Tags) -> None:
    looked: list[int] = []
    begun = tags._begun

    def search(text: str, start: int) -> re.Match[str] | None:
        looked.append(len(text) - start)
        return begun.search(text, start)

    tags._begun = SimpleNamespace(search=search)  # type: ignore[assignment]
    tags.take("a < b " * 10_000)
    assert looked == [1100]


@pytest.mark.parametrize(
    ("tags", "begun"),
    [
        (Tags(), f"</phoneme {' ' * 199}"),
        (Controls(), "\\{" + " " * 20 + '"' + '\\"' * 500 + "\\"),
    ],
)
def test_the_longest_beginning_waits(tags: Tags, begun: str) -> None:
    assert tags.take("a" * 2000 + begun) == ["a" * 2000]
    assert tags.rest() == begun
