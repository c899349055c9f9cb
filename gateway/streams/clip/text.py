"""The text of a clip as it is spoken: cut into parts, in words, each part at its place in what was written.

How a model reads is in `gateway/streams/clip/parts.py`. Another model reads another way, so a text belongs to
one of them; as long as none is known, it is one part as it is written.
"""

from __future__ import annotations

from functools import cached_property

from gateway.requests import TtsRequest
from gateway.streams.clip.parts import Part, Reading
from gateway.streams.clip.slices import in_slices
from gateway.text import Spoken
from gateway.text.paragraphs import paragraphs
from gateway.text.ssml import Script
from gateway.text.steps import Steps
from gateway.timing.words import locate

_ENGLISH = "en"
_SHORT_CHARACTERS = 500
"""A longer text is cut in a thread, and so is any that is put into words: a figure may take milliseconds."""


class ClipText:
    """Everything is found when somebody first asks for it, and kept."""

    def __init__(
        self,
        request: TtsRequest,
        script: Script | None = None,
        reading: Reading | None = None,
        tells_words: bool = False,
    ) -> None:
        """`script`: that of a document, whose text the request has. `tells_words`: `said` is asked for."""
        self._request = request
        self._script = script
        self.reading = reading
        self._tells_words = tells_words
        self._parts: list[Part] | None = None

    async def prepare(self) -> None:
        """Cut it, without holding up the event loop."""
        reading = self.reading
        if reading is None or self._parts is not None:
            return
        if reading.as_written and reading.is_quick and len(self._request.text) <= _SHORT_CHARACTERS:
            return
        await in_slices(self.steps())

    def steps(self) -> Steps[None]:
        """`prepare` in small steps, for a text that is read."""
        parts: list[Part] = []
        for part in self.reading.each_part(self._document):
            if part is not None:
                parts.append(part)
            yield
        self.places = locate(self._request.text, [part.written for part in parts])
        if self._tells_words:
            self.said = yield from self.reading.steps(self._request.text)
        self._parts = parts

    @property
    def _document(self) -> Script:
        return self._script or Script(paragraphs(self._request.text, self._request.paragraph_pause))

    @property
    def parts(self) -> list[Part]:
        """What is spoken, one after the other."""
        if self._parts is None:
            text, reading = self._request.text, self.reading
            self._parts = reading.cut_script(self._document) if reading else [Part(text, text)]
        return self._parts

    @property
    def written(self) -> list[str]:
        """The parts as they were written."""
        return [part.written for part in self.parts]

    @property
    def spoken(self) -> str:
        """What the worker is told to say, of all parts."""
        return " ".join(part.spoken for part in self.parts)

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Where the parts stand in the text, as ranges of characters."""
        return locate(self._request.text, self.written)

    @cached_property
    def said(self) -> Spoken:
        """All of it as it is spoken, from each character to what is said for it."""
        return self.reading.read(self._request.text)

    def in_words(self, number: int) -> bool:
        """Whether figures of a part are put into words."""
        return self.reading is not None and self.reading.puts_in_words(self.parts[number].language)

    def language_of(self, number: int) -> str:
        """ISO 639 code of a part, without its region; English where it is not known. May load a model."""
        part = self.parts[number]
        language = part.language or self.reading.language_of(part.written) or _ENGLISH
        return language.partition("-")[0].lower()
