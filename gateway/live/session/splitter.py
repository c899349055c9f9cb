"""Text that arrives in pieces, a token or a page at a time, becomes sentences.

    splitter = SentenceSplitter()
    splitter.push("Good morn")          # []
    splitter.push("ing. How are")       # ["Good morning. "]
    splitter.flush()                    # ["How are"]

However the text is cut into pieces, the sentences put together are the text. Each has something to speak, but
for one that `flush` ends: white space and signs alone go with the sentence after them. No word of the lexicon
is in two sentences, though it has spaces and full stops.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.text import NO_LEXICON
from gateway.text.lexicon import MOST_WORD_CHARACTERS
from models.sentences import complete, cut, seems_complete

MOST_CHARACTERS = 400
"""A sentence that does not end is cut here, where a reader would breathe."""
_LONGEST_WORD = 5 * MOST_WORD_CHARACTERS
"""Of a lexicon, with its accents as characters of their own, and what stands behind it."""


class SentenceSplitter:
    """Keeps what is not a whole sentence yet."""

    def __init__(self, languages: Sequence[str] = (), most_characters: int = MOST_CHARACTERS) -> None:
        """languages: ISO 639 codes; the first decides what is an abbreviation."""
        self.languages = languages
        self.lexicon = NO_LEXICON
        self.rest = ""
        """What waits for its end."""
        self._most_characters = most_characters

    @property
    def seems_complete(self) -> bool:
        """Whether the rest ends like a sentence, as far as one can tell without the next word."""
        if not seems_complete(self.rest):
            return False
        kept = self._kept(self.rest)
        return not (kept and kept[-1][1] > len(self.rest))

    def push(self, text: str) -> list[str]:
        """Take in the next piece; the sentences that are complete now."""
        self.rest += text
        found = complete(self.rest, self.languages)
        if found:  # else a word of the lexicon divides nothing, and need not be looked for with every token
            found = complete(self.rest, self.languages, self._kept(self.rest))
        self.rest = self.rest[sum(map(len, found)) :]
        while len(self.rest) > self._most_characters:
            head = self.rest[: self._most_characters + _LONGEST_WORD]
            at = cut(self.rest, self._most_characters, self._kept(head))
            found.append(self.rest[:at])
            self.rest = self.rest[at:]
        return found

    def _kept(self, text: str) -> list[tuple[int, int]]:
        return self.lexicon.ranges(text, growing=True)

    def flush(self) -> list[str]:
        """What is left, complete or not."""
        rest, self.rest = self.rest, ""
        return [rest] if rest else []

    def clear(self) -> int:
        """Forget what is left; the number of its characters."""
        return len("".join(self.flush()))
