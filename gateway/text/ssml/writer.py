"""Writing down what is said, passage by passage, and how long the pauses between them are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gateway.text.spoken import Edit, has_ideogram
from gateway.text.ssml.script import Passage, Script, SsmlError
from gateway.text.ssml.values import LONGEST_PAUSE_SECONDS
from models.sentences import has_words

MOST_PAUSE_SECONDS = 120.0
"""Of all pauses together."""


@dataclass
class ScriptWriter:
    """Takes text and pauses in the order in which they are said."""

    passages: list[Passage] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Of the passage that is being written, with every run of white space as one space."""
    length: int = 0
    """Of all of them."""
    is_blank: bool = True
    """Whether they are white space alone."""
    has_ideograms: bool = False
    """Whether that text has any."""
    fixed: list[Edit] = field(default_factory=list)
    rate: float = 1.0
    """Of that passage."""
    before: float = 0.0
    """Seconds of silence before it."""
    explicit: float | None = None
    """Of the breaks since the last word."""
    boundary: float = 0.0
    """Of sentences and paragraphs that began or ended since."""

    def pause(self, seconds: float) -> None:
        """A break."""
        self.explicit = (self.explicit or 0.0) + seconds

    def part(self, seconds: float) -> None:
        """A sentence or a paragraph begins or ends."""
        self.boundary = max(self.boundary, seconds)

    def say(self, data: str, rate: float, spoken: str | None = None, named: str | None = None) -> None:
        """Text; `spoken` is said for it, and `named` by a model that cannot spell."""
        if data.strip():
            self._end_passage(rate)
        words = " ".join(f".{data}.".split())[1:-1]
        if not self.texts or self.texts[-1].endswith(" "):
            words = words.removeprefix(" ")
        if spoken is not None:
            self.fixed.append(Edit(self.length, self.length + len(words), spoken, named))
        if words:
            self.texts.append(words)
        self.length += len(words)
        self.is_blank = self.is_blank and not words.strip()
        self.has_ideograms = self.has_ideograms or has_ideogram(words)

    def script(self, language: str | None) -> Script:
        """The whole. Raises SsmlError."""
        if not self.is_blank:
            self._close()
        if not self.passages:
            raise SsmlError("there are no words in it")
        after = self.before + (self.explicit or 0.0)
        if after > LONGEST_PAUSE_SECONDS:
            raise SsmlError(f"a pause lasts at most {LONGEST_PAUSE_SECONDS:g} s")
        if after + sum(passage.pause for passage in self.passages) > MOST_PAUSE_SECONDS:
            raise SsmlError(f"all pauses together last at most {MOST_PAUSE_SECONDS:g} s")
        return Script(tuple(self.passages), after, language)

    def _end_passage(self, rate: float) -> None:
        """What follows comes after a pause, or at another rate, if that is so."""
        seconds = self.boundary if self.explicit is None else self.explicit
        if self.is_blank and not self.passages:
            seconds = self.explicit or 0.0
        parted = seconds > 0 or self.boundary > 0 or self.rate != rate
        if parted and not self.is_blank:
            self._close()
        if parted:
            self.before, self.texts, self.fixed = self.before + seconds, [], []
            self.length, self.is_blank, self.has_ideograms = 0, True, False
        self.explicit, self.boundary, self.rate = None, 0.0, rate

    def _close(self) -> None:
        """Signs of which no word is said belong to the words before them."""
        text = "".join(self.texts).rstrip()
        if not has_words(text) and not any(has_words(edit.spoken) for edit in self.fixed):
            if self.passages:
                self.passages[-1] = replace(self.passages[-1], text=self.passages[-1].text + text)
            return
        if self.before > LONGEST_PAUSE_SECONDS:
            raise SsmlError(f"a pause lasts at most {LONGEST_PAUSE_SECONDS:g} s")
        self.passages.append(Passage(text, tuple(self.fixed), self.before, self.rate))
        self.before = 0.0
