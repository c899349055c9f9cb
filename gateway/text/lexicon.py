"""How words are said that a model or the rules would say wrongly: a lexicon of words and their respellings.

    lexicon = Lexicon.of({"Nguyen": "Nwin", "gif": "jif"})
    spoken, kept = lexicon.respell("Nguyen's GIF")      # "Nwin's jif", [(0, 4), (7, 10)]

An entry in small letters stands for the word in any case; one with a capital for exactly that spelling, and
before the other. Only whole words are respelt: "can" is not in "can't", nor "Node" in "Node.js", and Chinese
words are found wherever they stand. Of several entries that begin at one place the longest is taken. What an
entry says is final: neither another entry nor a rule changes it.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from operator import or_

from gateway.text.beginnings import Beginnings
from gateway.text.printable import JOINERS, is_printable
from gateway.text.spoken import Edit, Spoken, is_ideogram
from models.sentences import has_words

MOST_WORD_CHARACTERS = 64
MOST_SPOKEN_CHARACTERS = 128
MOST_REQUEST_ENTRIES = 100
"""Of the lexicon that comes with a request."""
_SAME = {ord("\u2019"): "'", ord("\u02bc"): "'", ord("\u00a0"): " ", ord("\n"): " ", ord("\t"): " "}
"""Characters that are written for others in the same word."""
_APOSTROPHE = "'"
_JOINING = "._'"
"""Between two letters or digits they hold a word together, as in Unicode's word boundaries."""
_MOST_SIGNS = 4
"""Of a character, whose accents may stand by themselves; many take as many steps as they are, squared."""
_ENDING = "+#"
"""After a letter they belong to its word: C++, F#."""


def check_word(word: str) -> str:
    """A word as it is kept. Raises ValueError that says what is wrong with it."""
    word = " ".join(word.split())
    if len(word) <= _MOST_SIGNS * MOST_WORD_CHARACTERS and not word.isascii():
        word = unicodedata.normalize("NFC", word.translate(_SAME))
    return _checked(word, MOST_WORD_CHARACTERS, "a word")


def check_spoken(spoken: str) -> str:
    """A respelling as it is kept. Raises ValueError that says what is wrong with it."""
    return _checked(" ".join(spoken.split()), MOST_SPOKEN_CHARACTERS, "a respelling")


def check_entries(entries: Mapping[str, str], most: int) -> dict[str, str]:
    """Words and respellings as they are kept. Raises ValueError that says which is wrong, and how."""
    if len(entries) > most:
        raise ValueError(f"has {len(entries)} entries, at most {most} are allowed")
    checked: dict[str, str] = {}
    for word, spoken in entries.items():
        try:
            kept = check_word(word)
            checked_spoken = check_spoken(spoken)
        except ValueError as error:
            raise ValueError(f"{word[:MOST_WORD_CHARACTERS]!r}: {error}") from None
        if kept in checked:
            raise ValueError(f"{kept!r} is there twice")
        checked[kept] = checked_spoken
    return checked


def _checked(text: str, most_characters: int, what: str) -> str:
    if not 0 < len(text) <= most_characters:
        raise ValueError(f"{what} has 1 to {most_characters} characters")
    if not (is_printable(text) and has_words(text)):
        raise ValueError(f"{what} has letters or digits, and no control characters")
    return text


class _Table:
    """One lexicon, made for looking up."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        self.spoken: dict[str, str] = {}
        for word, spoken in entries.items():
            for form in {word, unicodedata.normalize("NFD", word)}:
                self.spoken[form] = spoken
        self._in_order = sorted(self.spoken)
        small = {word for word in self.spoken if word == word.lower()}
        self._small = Beginnings(set(map(_in_any_case, small)))
        self._exact = Beginnings(self.spoken.keys() - small)
        self.firsts = {_in_any_case(word)[0] for word in self.spoken}
        """The first characters of all words."""
        self.longest = max(map(len, self.spoken), default=0)

    def lengths(self, written: str, in_any_case: str) -> int:
        """Bits: how long the words are that a text begins with."""
        return self._small.lengths(in_any_case) | self._exact.lengths(written)

    def goes_on(self, begun: str) -> bool:
        """Whether a longer entry begins so."""
        for start in (begun, begun.lower()):
            following = bisect_right(self._in_order, start)
            if following < len(self._in_order) and self._in_order[following].startswith(start):
                return True
        return False


@dataclass(frozen=True)
class Lexicon:
    """Several lexicons, of which the first that has a word decides."""

    tables: tuple[_Table, ...] = ()

    @classmethod
    def of(cls, entries: Mapping[str, str]) -> Lexicon:
        """One lexicon of words and respellings that were checked."""
        return cls((_Table(entries),)) if entries else cls()

    def before(self, other: Lexicon) -> Lexicon:
        """Both: this one decides where it has a word."""
        return Lexicon((*self.tables, *other.tables))

    def __bool__(self) -> bool:
        return bool(self.tables)

    def respell(self, text: str, fixed: Sequence[Edit] = ()) -> tuple[Spoken, list[tuple[int, int]]]:
        """The text with its words respelt, and where in it respellings stand.

        fixed: what the author says of places in the text, in their order; no word there is looked up.
        """
        edits = self._with(fixed, text)
        spoken = Spoken.of(text).edited(edits)
        return spoken, [spoken.spoken_range(edit.start, edit.end) for edit in edits]

    def used_in(self, text: str) -> dict[str, str]:
        """The words of the text that are respelt. Together they are a lexicon that does the same to it."""
        found: dict[str, str] = {}
        deque(self.find_used(text, found), maxlen=0)
        return found

    def find_used(self, text: str, found: dict[str, str]) -> Iterator[object]:
        """Put what `used_in` gives into `found`, in small steps."""
        for edit in self._scan(text):
            if edit is not None:
                found[text[edit.start : edit.end].translate(_SAME)] = edit.spoken
            yield edit

    def _with(self, fixed: Sequence[Edit], text: str) -> list[Edit]:
        if not fixed:
            return list(self._edits(text))
        starts = [edit.start for edit in fixed]

        def is_free(edit: Edit) -> bool:
            before = bisect_left(starts, edit.end)
            return not before or fixed[before - 1].end <= edit.start

        free = filter(is_free, self._edits(text))
        return sorted((*fixed, *free), key=lambda edit: edit.start)

    def ranges(
        self, text: str, fixed: Sequence[Edit] = (), *, growing: bool = False
    ) -> list[tuple[int, int]]:
        """Where words stand that are respelt. With `growing`, one that may have just begun goes beyond the
        end.
        """
        found = [(edit.start, edit.end) for edit in self._with(fixed, text)]
        if growing and (start := self._unfinished(text)) is not None:
            found = [place for place in found if place[1] <= start] + [(start, len(text) + 1)]
        return found

    def _edits(self, text: str) -> Iterator[Edit]:
        return (edit for edit in self._scan(text) if edit is not None)

    def _scan(self, text: str) -> Iterator[Edit | None]:
        """Each place where an entry may stand, and what it says there."""
        if not self.tables:
            return
        plain, end = text.translate(_SAME), 0
        key, firsts = _in_any_case(plain), frozenset().union(*(table.firsts for table in self.tables))
        longest = max(table.longest for table in self.tables)
        ends = cache(partial(_ends_word, plain))
        for at, character in enumerate(key):
            if at >= end and character in firsts and _begins_word(plain, at):
                within = slice(at, at + longest)
                edit = self._at(plain, at, self._lengths(plain[within], key[within]), ends)
                if edit is not None:
                    end = edit.end
                yield edit

    def _lengths(self, written: str, in_any_case: str) -> int:
        return reduce(or_, (table.lengths(written, in_any_case) for table in self.tables))

    def _at(self, plain: str, start: int, lengths: int, ends: Callable[[int], bool]) -> Edit | None:
        """What the longest word says that stands there as a whole; `lengths`: bits of those that may."""
        while lengths:
            length = lengths.bit_length() - 1
            lengths ^= 1 << length
            if not ends(start + length):
                continue
            written = plain[start : start + length]
            small = written.lower()
            for table in self.tables:
                said = table.spoken.get(written) or table.spoken.get(small)
                if said is not None:
                    return Edit(start, start + length, said)
        return None

    def _unfinished(self, text: str) -> int | None:
        """Where at the end of the text an entry may have begun of which more has yet to come."""
        if not self.tables:
            return None
        plain = text.translate(_SAME)
        for start in range(max(0, len(plain) - MOST_WORD_CHARACTERS + 1), len(plain)):
            begun = plain[start:]
            if _begins_word(plain, start) and any(table.goes_on(begun) for table in self.tables):
                return start
        return None


NO_LEXICON = Lexicon()


def _in_any_case(text: str) -> str:
    """One form for texts that differ in nothing but their case, character by character."""
    small = text.lower()
    if len(small) != len(text):  # a Turkish I with a dot becomes two
        small = "".join(character.lower()[0] for character in text)
    return small.replace("\u03c2", "\u03c3")  # the Greek s at the end of a word


def _begins_word(text: str, at: int) -> bool:
    before, here = text[at - 1 : at], text[at]
    if _is_mark(here) or (_in_word(before) and not _stands_alone(here)):
        return False
    return not (before and before in _JOINING and at > 1 and _in_word(text[at - 2]) and _in_word(here))


def _ends_word(text: str, at: int) -> bool:
    last, after, beyond = text[at - 1], text[at : at + 1], text[at + 1 : at + 2]
    if not after:
        return True
    if _is_mark(after) or (_in_word(after) and not _stands_alone(last)):
        return False
    if not _in_word(last):
        return _stands_alone(last) or last != after
    if after == _APOSTROPHE and beyond in ("s", "S") and not _in_word(text[at + 2 : at + 3]):
        return True
    number = after == "," and last.isdecimal() and beyond.isdecimal()
    return not (after in _ENDING or number or (after in _JOINING and _in_word(beyond)))


def _in_word(character: str) -> bool:
    """Whether it makes one word with what stands beside it."""
    if not character or _stands_alone(character):
        return False
    return character.isalnum() or character == "_" or _is_mark(character)


def _is_mark(character: str) -> bool:
    """An accent, a vowel sign or a joiner, which belongs to the letter before it."""
    return character in JOINERS or unicodedata.category(character).startswith("M")


def _stands_alone(character: str) -> bool:
    """Whether it is of a script without spaces: Chinese, kana, Thai, Lao, Burmese, Khmer."""
    return (
        is_ideogram(character)
        or "\u3040" <= character <= "\u30ff"
        or "\u0e00" <= character <= "\u0eff"
        or "\u1000" <= character <= "\u109f"
        or "\u1780" <= character <= "\u17ff"
    )
