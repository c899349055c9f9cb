"""Tags by which other services are told how to speak, within the text: they are not read aloud.

    tags = Tags()
    tags.take('I am <emotion value="hap')       # ["I am "]
    tags.take('py"/> glad: <spell>A1</spell>')  # ["glad: A 1"]
    tags.take('<break time="1s"/>Well')         # [" ", 1.0, "Well"], of which 1.0 are seconds of silence
    tags.take("<<h|ə|ˈ|l|oʊ>>")                 # ["halou"], of a word that is given in phones

`clip_fields` does the same to the text of a clip.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from xml.sax.saxutils import escape

from gateway.text.ssml import MOST_PAUSE_SECONDS
from gateway.text.ssml.values import LONGEST_PAUSE_SECONDS
from models.sentences import has_words

Piece = str | float
"""Text, or seconds of silence."""

_NAMES = ("break", "emotion", "speed", "volume", "spell", "phoneme")
_NAME = "|".join(_NAMES)
_BEGINNINGS = "|".join(sorted({name[:count] for name in _NAMES for count in range(len(name))}, key=len)[1:])
_ATTRIBUTES = r"(?:\s[^<>]{0,200}|/)?"
ANY_CUE = r"[A-Za-z][A-Za-z ,'-]{0,40}"
"""Words in brackets, such as [laughs]."""
_CUES = {"short pause": 0.5, "pause": 1.0, "pauses": 1.0, "long pause": 2.0}
"""Those that are silence, in seconds."""
_PHONES = r"<<(?P<phones>[^<>\s|]{1,20}(?:\|[^<>\s|]{0,20}){1,60})>>"
_TAG = rf"<(?P<end>/?)(?P<name>{_NAME})(?P<attributes>{_ATTRIBUTES})>|{_PHONES}"
_BEGUN = rf"</?(?:{_BEGINNINGS})?$|</?(?:{_NAME})(?:\s[^<>]{{0,200}}|/)?$|<<[^<>\s]{{0,200}}>?$"
_LETTERS = str.maketrans(
    dict.fromkeys("|ˈˌː", "")
    | dict(zip("ɛɜəɐʌæɑɒɔɪʊɹɾɡʔ", "eeaaaaaooiurrg'", strict=True))
    | {"ʃ": "sh", "ʒ": "zh", "θ": "th", "ð": "th", "ŋ": "ng", "ɲ": "ny", "ɚ": "er", "ɝ": "er", "j": "y"}
)
"""How phones are written for a model that reads words."""
_TIME = re.compile(r"\stime=[\"'](\d{1,5}(?:\.\d{1,3})?)(m?s)[\"']")
_LONGEST_BEGUN = 1100
"""No beginning of a tag, or of a mark of Deepgram's, has more characters."""
_UNWRITABLE = str.maketrans({code: " " for code in (*range(32), 0xFFFE, 0xFFFF) if chr(code) not in "\t\n\r"})
"""Characters that no XML has, of which nothing is said."""
_NOTHING = "…"
"""What is said where there are but tags: text without words is a moment of silence."""


class Tags:
    """Takes them out of a text that comes in pieces."""

    def __init__(self, cues: str | None = None) -> None:
        """`cues`: a pattern of what in brackets is not read."""
        self._whole = re.compile(rf"{_TAG}|\[(?P<cue>{cues})\]" if cues else _TAG)
        self._begun = re.compile(rf"{_BEGUN}|\[(?:{ANY_CUE})?$" if cues else _BEGUN)
        self._held: str
        """What may be the beginning of a tag."""
        self._last: str
        """The character before."""
        self.forget()

    def take(self, text: str) -> list[Piece]:
        """What of it is to be said by now."""
        text = self._held + text
        said: list[Piece] = []
        done = 0
        for tag in self._whole.finditer(text):
            said += [self._plain(text[done : tag.start()]), *self._tag(tag)]
            done = tag.end()
        begun = self._begun.search(text, max(done, len(text) - _LONGEST_BEGUN))
        self._held = begun[0] if begun else ""
        said.append(self._plain(text[done : len(text) - len(self._held)]))
        return _joined(said)

    def rest(self) -> str:
        """What waited for more, which does not come."""
        held, self._held = self._held, ""
        return self._plain(held)

    def forget(self) -> None:
        """What comes next has nothing to do with what came before."""
        self._held, self._last = "", " "
        self._spelling = self._after_tag = False

    def whole(self, text: str) -> list[Piece]:
        """What is to be said of a text to which nothing comes any more."""
        return _joined([*self.take(text), self.rest()])

    def _tag(self, tag: re.Match[str]) -> list[Piece]:
        if tag["phones"]:
            return [self._plain(tag["phones"].translate(_LETTERS))]
        if tag["name"] == "spell":
            self._spelling = not tag["end"]
        if tag["end"]:
            return []
        seconds = _seconds(tag) if tag["name"] == "break" else _CUES.get(tag.groupdict().get("cue") or "")
        return [self._space()] if seconds is None else [self._space(), seconds]

    def _space(self) -> str:
        """What parts the words before a tag from those behind it."""
        self._after_tag = True
        space = "" if self._last.isspace() else " "
        self._last = " "
        return space

    def _plain(self, text: str) -> str:
        if self._after_tag:
            text = text.lstrip()
        if not text:
            return ""
        self._after_tag = False
        if self._spelling:
            spelt = " ".join("".join(text.split()))
            text = spelt if self._last.isspace() else f" {spelt}"
        self._last = text[-1:] or self._last
        return text


def clip_fields(text: str, tags: Tags) -> dict[str, str]:
    """The fields of a request that says this text: SSML where there are pauses in it."""
    said = tags.whole(text)
    words = "".join(piece for piece in said if isinstance(piece, str))
    if len(said) == 1 and isinstance(said[0], str):
        return {"text": words}
    if not has_words(words):
        return {"text": _NOTHING if text.strip() else words}
    marked = (
        _escaped(each) if isinstance(each, str) else f'<break time="{each:g}s"/>' for each in _bounded(said)
    )
    return {"text": f"<speak>{''.join(marked)}</speak>", "input_type": "ssml"}


def _escaped(piece: str) -> str:
    return escape(piece.translate(_UNWRITABLE))


def _bounded(said: Iterable[Piece]) -> Iterator[Piece]:
    """Without the silences beyond those that SSML may have: over a socket, too, they are left out."""
    between = total = 0.0
    for piece in said:
        if isinstance(piece, str):
            between = 0.0 if has_words(piece) else between
        elif between + piece > LONGEST_PAUSE_SECONDS or total + piece > MOST_PAUSE_SECONDS:
            continue
        else:
            between, total = between + piece, total + piece
        yield piece


def _joined(said: Iterable[Piece]) -> list[Piece]:
    """With texts that follow each other as one, and none that is empty."""
    groups = groupby(filter(None, said), lambda piece: isinstance(piece, str))
    return [piece for is_text, group in groups for piece in (["".join(group)] if is_text else group)]


def _seconds(pause: re.Match[str]) -> float:
    """How long it is; as SSML's where it does not say."""
    told = _TIME.search(pause["attributes"] or "")
    return pause_seconds(told[1], told[2]) if told else 0.4


def pause_seconds(time: str, unit: str) -> float:
    """Of a number of seconds or milliseconds ("ms"), as far as a pause may last."""
    return min(float(time) / (1000 if unit == "ms" else 1), LONGEST_PAUSE_SECONDS)
