r"""Marks within a text that tell how to speak it, as Deepgram's clients write them.

    Take one tablet. \{pause:500ms\} Then rest.
    Take \{"word": "dupilumab", "pronounce": "duːˈpɪljuːmæb"\} twice a day.

A pause is silence. Of a pronunciation the word is said, as the model reads it.
"""

from __future__ import annotations

import re

from gateway.protocols.tags import Piece, Tags, pause_seconds

_BLANKS = r"\s{0,20}"
_CHARACTERS = r'(?:[^"\\]|\\.){0,200}'
_PAUSE = r"pause:\s*(?P<time>\d{1,5}(?:\.\d{1,3})?)(?P<unit>m?s)"
_WORD = rf'"word":\s*"(?P<word>{_CHARACTERS})",\s*"pronounce":\s*"{_CHARACTERS}"'
_CONTROL = re.compile(rf"\\\{{{_BLANKS}(?:{_PAUSE}|{_WORD}){_BLANKS}\\\}}")
_BEGUN = re.compile(rf'\\(?:\{{{_BLANKS}(?:["p](?:[^\\{{}}]|\\["\\/]){{0,500}}\\?)?)?$')
_ESCAPED = re.compile(r'\\(["\\/])')


class Controls(Tags):
    """Takes them out of a text that comes in pieces, and counts them."""

    def __init__(self) -> None:
        super().__init__()
        self._whole, self._begun = _CONTROL, _BEGUN
        self.pauses = 0
        self.characters = 0
        """Of what is said."""

    def _tag(self, tag: re.Match[str]) -> list[Piece]:
        if tag["time"] is None:
            return [self._plain(_ESCAPED.sub(r"\1", tag["word"]))]
        self.pauses += 1
        return [self._space(), pause_seconds(tag["time"], tag["unit"])]

    def _plain(self, text: str) -> str:
        said = super()._plain(text)
        self.characters += len(said)
        return said
