"""Tags by which other services are told how to speak, within the text: they are not read aloud.

    tags = Tags()
    tags.take('I am <emotion value="hap')     # "I am "
    tags.take('py"/> glad: <spell>A1</spell>')  # "glad: A 1"

`clip_fields` does the same to the text of a clip, whose `<break time="1s"/>` is a pause. Where text comes in
pieces it is but a space.
"""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

_NAMES = ("break", "emotion", "speed", "volume", "spell", "phoneme")
_NAME = "|".join(_NAMES)
_BEGINNINGS = "|".join(sorted({name[:count] for name in _NAMES for count in range(len(name))}, key=len)[1:])
_ATTRIBUTES = r"(?:\s[^<>]{0,200}|/)?"
_CUE = r"[A-Za-z][A-Za-z ,'-]{0,40}"
_TAG = re.compile(rf"<(?P<end>/?)(?P<name>{_NAME})(?P<attributes>{_ATTRIBUTES})>")
_TAG_OR_CUE = re.compile(rf"{_TAG.pattern}|\[{_CUE}\]")
_BEGUN = re.compile(rf"</?(?:{_BEGINNINGS})?$|</?(?:{_NAME})(?:\s[^<>]{{0,200}}|/)?$")
_BEGUN_CUE = re.compile(rf"{_BEGUN.pattern}|\[(?:{_CUE})?$")
_TIME = re.compile(r"\stime=[\"'](\d{1,5}(?:\.\d{1,3})?)(m?s)[\"']")
_LONGEST_PAUSE_SECONDS = 20.0
_NOTHING = "…"
"""What is said where there are but tags: text without words is a moment of silence."""


class Tags:
    """Takes them out of a text that comes in pieces."""

    def __init__(self, *, cues: bool = False) -> None:
        """`cues`: also words in brackets, such as [laughs]."""
        self._whole, self._begun = (_TAG_OR_CUE, _BEGUN_CUE) if cues else (_TAG, _BEGUN)
        self._held = ""
        """What may be the beginning of a tag."""
        self._spelling = self._after_tag = False
        self._last = " "
        """The character before."""

    def take(self, text: str) -> str:
        """What of it is to be said by now."""
        text = self._held + text
        said, done = [], 0
        for tag in self._whole.finditer(text):
            said += [self._plain(text[done : tag.start()]), self._tag(tag)]
            done = tag.end()
        begun = self._begun.search(text, done)
        self._held = begun[0] if begun else ""
        said.append(self._plain(text[done : len(text) - len(self._held)]))
        return "".join(said)

    def rest(self) -> str:
        """What waited for more, which does not come."""
        held, self._held = self._held, ""
        return self._plain(held)

    def _tag(self, tag: re.Match[str]) -> str:
        if tag["name"] == "spell":
            self._spelling = not tag["end"]
        if tag["end"]:
            return ""
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


def clip_fields(text: str, *, cues: bool = False) -> dict[str, str]:
    """The fields of a request that says this text: SSML where there are pauses in it."""
    tags = Tags(cues=cues)
    pauses = [tag for tag in _TAG.finditer(text) if tag["name"] == "break" and not tag["end"]]
    if not pauses:
        words = tags.take(text) + tags.rest()
        return {"text": words if words.strip() or not text.strip() else _NOTHING}
    said, done = [], 0
    for pause in pauses:
        said += [escape(tags.take(text[done : pause.end()])), f'<break time="{_seconds(pause):g}s"/>']
        done = pause.end()
    said.append(escape(tags.take(text[done:]) + tags.rest()))
    return {"text": f"<speak>{''.join(said)}</speak>", "input_type": "ssml"}


def _seconds(pause: re.Match[str]) -> float:
    """How long it is; as SSML's where it does not say."""
    told = _TIME.search(pause["attributes"] or "")
    if told is None:
        return 0.4
    return min(float(told[1]) / (1000 if told[2] == "ms" else 1), _LONGEST_PAUSE_SECONDS)
