"""Long text in parts that a model speaks well, cut where a reader would breathe.

    parts("Dr. Smith came in. He sat down.", most_characters=20) == ["Dr. Smith came in.", "He sat down."]

Sentences are found by sentencex (its rules know abbreviations and some 300 languages). Whole sentences share
a part as long as they fit; a sentence that doesn't fit is cut after a comma or the like, else between words.

`kept` are ranges of the text, in order, that are never cut: words that hold spaces and full stops, such as
names in a lexicon.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from sentencex import segment

Ranges = Sequence[tuple[int, int]]
"""Begin and end of each, in order; they do not overlap."""

_PAUSE = re.compile(
    r"[,;:][\"')\u2019\u201d]*(?:\s+|(?=[^\x00-\x7f]))|[)\]](?:\s+|(?=[^\x00-\x7f]))|[、，；：]\s*"
    r"|\s[-\u2013\u2014]\s|(?:(?<!\s)\s+)?\u2014\s*"
)
_PAUSE_IN_WORDS = re.compile(r"[,;:)\]](?![\d/])")
"""Where there are no spaces: within an address, or between values."""
_GOES_ON = re.compile(
    r"(?<!\w)(?:(?:Rm|[Vv]ol|[Cc]h|[Aa]pt|Ste|Fl|Ft|[Aa]pprox|[Tt]sp|[Tt]bsp|Ave|Tel|[Ee]st|[Mm]ax|[Mm]in|[Ii]nc?l"
    r"|Mon|Tues?|Wed|Thurs?|Fri|Sat|Sun|Pt|[Ee]q|Rte|Civ|Crim|Evid|[Dd]ep|[Aa]rr)\."
    r"|\d+ ?(?:hrs?|mins?|ft|lg|sm|deg)\.)\s+$"
)
"""Abbreviations that sentencex does not know."""
_IN_CHINESE = re.compile(r"(?<![A-Za-z])(?:No|Nos|Dr|Mr|Mrs|Ms|Prof|St|vs|Vol|Op|Fig)\.\s+$")
_INITIAL = re.compile(r"(?<![A-Za-z])[A-Z]\.$")
_NEXT_INITIAL = re.compile(r"[A-Z]\.")
_MOVE_NUMBER = re.compile(r"(?<![\w.])\d{1,3}\.\s+$")
_MOVE = re.compile(r"[KQRBN][a-h]?[1-8]?x?[a-h][1-8]|[a-h]x?[a-h]?[1-8]|O-O")
"""Of chess, "2. Nf3"."""
_HALF_DAY = re.compile(r"[ap]\.m\.\s+$", re.I)
_ZONE = re.compile(
    r"(?:[ECMP][SD]?T|GMT|UTC|BST|CES?T|IST|JST|AE[SD]T|Eastern|Pacific|Central"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)\b|[A-Z]{1,4}\Z|[MTWFS][a-z]{1,7}\Z"
)
"""What belongs to "9 p.m.", though it has a capital; at the end of a text that is still growing, perhaps."""
_OF_LIST = re.compile(r"\s*(?:\d{1,3}|[A-Za-z]|[IVX]{2,5})[.)]\s+")
"""The number of an item belongs to it."""
_LOOK_BACK = 16
"""Characters in which such an abbreviation stands."""
_SPACE_IN_WORDS = re.compile(r"(?<![\d$€£¥+№.])\s+(?![\d$€£¥+])")
"""A number may go on after a space: "+1 415 555 2671", "3:30 pm", "No. 5"."""
_STRETCH, _LONGEST_STRETCH = 4000, 16_000
"""Characters, in which there are usually many sentences, and at least one."""
_SPACE = re.compile(r"\s+")
_UNSPOKEN = re.compile(r"(?:[\x00-/:-@[-`{-\x7f]++|[\W_]++)*+")
"""What `str.isalnum` does not say of characters; those of ASCII apart, which takes a tenth of the time."""
_STOPS = "!?\u2026\u3002\uff01\uff1f"
"""What ends a sentence, besides the full stop, which may also stand in a number."""
_CLOSERS = "\"')]\u2019\u201d"
_PAUSES = ",;:-\u2013\u2014\u3001\uff0c\uff1b\uff1a"
_END = re.compile(rf"(?:(?<!\d)\.|[{_STOPS}])[{re.escape(_CLOSERS)}]*$")


def has_words(text: str) -> bool:
    """Whether a text can be spoken: it has letters of any script or digits, not signs and emoji alone."""
    return first_word(text) is not None


def first_word(text: str, start: int = 0, end: int | None = None) -> int | None:
    """The first character of `text`, or of what is between `start` and `end` of it, that can be spoken."""
    end = len(text) if end is None else end
    if start >= end:
        return None
    found = _UNSPOKEN.match(text, start, end).end()
    return found if found < end else None


def parts(
    text: str, most_characters: int | None, languages: Sequence[str] = (), kept: Ranges = ()
) -> list[str]:
    """`text` in order, in parts of at most `most_characters` without space around them; all of it if None.

    languages: ISO 639 codes of the model, of which the first decides what is an abbreviation; English if
    there is none. A text without words gives no part.
    """
    groups = part_ranges(text, most_characters, languages, kept)
    return [" ".join(text[start:end] for start, end in group) for group in groups]


def part_ranges(
    text: str, most_characters: int | None, languages: Sequence[str] = (), kept: Ranges = ()
) -> list[list[tuple[int, int]]]:
    """For each part of `parts` the pieces of the text, (start, end), that it joins with a space."""
    return list(each_part_ranges(text, most_characters, languages, kept))


def each_part_ranges(
    text: str, most_characters: int | None, languages: Sequence[str] = (), kept: Ranges = ()
) -> Iterator[list[tuple[int, int]]]:
    """`part_ranges`, one part after the other."""
    if most_characters is None or len(text) <= most_characters:
        if text.strip():
            yield [(0, len(text))]
        return
    found: list[tuple[int, int]] = []
    length = 0
    for start, end in _sentences(text, languages, kept):
        for first, last in _pieces(text[start:end], most_characters, _within(kept, start, end)):
            if found and length + 1 + last - first <= most_characters:
                found.append((start + first, start + last))
                length += 1 + last - first
                continue
            if found:
                yield found
            found = [(start + first, start + last)]
            length = last - first
    if found:
        yield found


def complete(text: str, languages: Sequence[str] = (), kept: Ranges = ()) -> list[str]:
    """The sentences of a text that is still growing, as far as they are complete; the rest is not returned.

        complete("It was Dr. Smith. He sat d") == ["It was Dr. Smith. "]

    A sentence is complete once the next one has begun: only then it is known that its full stop was none of
    an abbreviation or a number. The parts keep their white space, so that together they begin `text`.
    """
    found: list[str] = []
    for start, end in _sentences(text, languages, kept):
        sentence = text[start:end]
        if found and not has_words(sentence):
            found[-1] += sentence
        else:
            found.append(sentence)
    return found[:-1]


def sentence_ends(text: str) -> set[int]:
    """How many characters there are up to the end of each sentence, without the space behind it."""
    return {start + len(text[start:end].rstrip()) for start, end in _sentences(text, (), ())}


def _sentences(text: str, languages: Sequence[str], kept: Ranges) -> Iterator[tuple[int, int]]:
    """Where the sentences stand; none ends within what is kept."""
    language = languages[0] if languages else "en"
    start = end = 0
    for length in _lengths(text, language):
        begun, end = end, end + length
        goes_on = _goes_on(text, begun, end, language)
        goes_on = goes_on or (begun == start and _OF_LIST.fullmatch(text, begun, end))
        if not (goes_on or _divides(kept, end)):
            yield start, end
            start = end
    if start < end:
        yield start, end


def _goes_on(text: str, start: int, end: int, language: str) -> bool:
    """Whether the sentence that seems to end there ends with an abbreviation."""
    start = max(start, end - _LOOK_BACK)
    if language == "zh":
        initial = _INITIAL.search(text, start, end) and _NEXT_INITIAL.match(text, end)
        return bool(initial or _IN_CHINESE.search(text, start, end))
    if language != "en":
        return False
    if _GOES_ON.search(text, start, end):
        return True
    if _MOVE_NUMBER.search(text, start, end) and _MOVE.match(text, end):
        return True
    return bool(_HALF_DAY.search(text, start, end) and _ZONE.match(text, end))


def _lengths(text: str, language: str) -> Iterator[int]:
    """Lengths of the sentences, with their white space.

    Found a stretch at a time: sentencex takes time by the square of the length of what it is given.
    """
    start, size = 0, _STRETCH
    while start < len(text):
        found = [len(sentence) for sentence in segment(language, text[start : start + size])]
        if start + size < len(text):
            ends = list(accumulate(found))
            found = found[: bisect_left(ends, size // 2)]  # the others may go on, or stand in quotation marks
            if not found and size < _LONGEST_STRETCH:
                size *= 2
                continue
            found = found or ends[:1]
        yield from found
        start, size = start + sum(found), _STRETCH


def _divides(kept: Ranges, at: int) -> bool:
    """Whether a cut there would divide a range."""
    place = bisect_left(kept, (at,)) - 1
    return place >= 0 and at < kept[place][1]


def _within(kept: Ranges, start: int, end: int) -> Ranges:
    """The ranges of a piece of the text, counted from its beginning."""
    inside = kept[bisect_left(kept, (start,)) : bisect_left(kept, (end,))]
    return [(first - start, last - start) for first, last in inside if last <= end]


def seems_complete(text: str) -> bool:
    """Whether a text that has stopped growing for a moment ends like a sentence; "It costs $5." may go on."""
    words = text.rstrip()
    return "\n" in text[len(words) :] or _END.search(words) is not None


def ended(text: str) -> str:
    """`text` with a full stop where it doesn't end like a sentence; white space after it stays.

        ended("When it was over, ") == "When it was over. "

    A model that learnt whole sentences alone goes on babbling behind half of one.
    """
    words = text.rstrip()
    inner = words.rstrip(_CLOSERS)
    if not inner or inner[-1] in f".{_STOPS}":
        return text
    stopped = inner.rstrip(_PAUSES + " ") or inner
    return f"{stopped}.{words[len(inner) :]}{text[len(words) :]}"


def cut(text: str, most_characters: int, kept: Ranges = ()) -> int:
    """Where a text without a full stop is best cut, so that at most `most_characters` come before it.

    After the last pause of the later two thirds, else after the last space, else after a comma, else there.
    """
    head = text[: most_characters + 1]
    for boundary in (_PAUSE, _SPACE_IN_WORDS, _SPACE, _PAUSE_IN_WORDS):
        ends = [
            match.end()
            for match in boundary.finditer(head)
            if len(head[: match.end()].rstrip()) <= most_characters and not _divides(kept, match.end())
        ]
        if ends and ends[-1] >= most_characters // 3:
            return ends[-1]
    before = next((first for first, last in kept if first < most_characters < last), 0)
    return before or _before_number(text, most_characters)


def _pieces(sentence: str, most_characters: int, kept: Ranges) -> list[tuple[int, int]]:
    """A sentence cut into pieces that fit, without the space around them."""
    pieces, start = [], len(sentence) - len(sentence.lstrip())
    end = len(sentence.rstrip())
    while end - start > most_characters:
        at = start + cut(sentence[start:end], most_characters, _within(kept, start, end))
        pieces.append((start, len(sentence[:at].rstrip())))
        start = at + len(sentence[at:]) - len(sentence[at:].lstrip())
    return [piece for piece in (*pieces, (start, end)) if piece[0] < piece[1]]


def _before_number(sentence: str, at: int) -> int:
    """`at`, or less where that would be in the middle of a number that is not all there is."""
    start = at
    while start > 0 and _in_number(sentence[start - 1]) and _in_number(sentence[start]):
        start -= 1
    return start or at


def _in_number(character: str) -> bool:
    return character.isdecimal() or character in ".,:/-%$€£¥"
