"""The grammars of wetext, and what they change in a clause."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache

import structlog

from gateway.text.chinese.counting import NUMBER
from gateway.text.chinese.numbers import number
from gateway.text.spoken import Edit, is_ideogram

logger = structlog.get_logger(__name__)
_lock = threading.Lock()
"""Long texts are normalised in threads, and grammars are loaded once."""


@cache
def _grammar() -> Callable[[str], str]:
    """Loaded when the first Chinese figure comes: 5 MB and a tenth of a second."""
    from wetext import Normalizer

    return Normalizer(lang="zh", operator="tn", remove_erhua=False).normalize


_ESCAPED = re.compile(r"\\([\"\\])")
"""What the grammars make of quotes and backslashes."""
_MOST_CHARACTERS = 200
"""Of a clause that is compared with what the grammars make of it."""
_MOST_PAIRS = 4000
"""Of one character in both: text has some 3000, and comparing takes the square of their number."""
_MOST_CLAUSES = 1024
"""That are remembered as they are said: a long chapter's."""
_CLAUSE = re.compile(r"[^，,。；;！!？?：:\n、]+(?:,(?=\d)[^，,。；;！!？?：:\n、]+)*")


def by_grammar(text: str, kept: Sequence[tuple[int, int]] = ()) -> Iterator[list[Edit]]:
    """The edits of each clause with a figure in it, by the grammars; ranges that are `kept` end a clause."""
    edges = [0, *(edge for place in kept for edge in place), len(text)]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        for match in _CLAUSE.finditer(text, start, end):
            if re.search(r"\d", match[0]):
                at = match.start()
                yield [Edit(at + each.start, at + each.end, each.spoken) for each in _clause(match[0])]


def _clause(clause: str) -> list[Edit]:
    said = _said(clause) if len(clause) <= _MOST_CHARACTERS else ""
    changes = _changes(clause, said) if said and _pairs(clause, said) <= _MOST_PAIRS else None
    if changes is None or any(character.isdecimal() for character in said):
        return [Edit(m.start(), m.end(), number(m[0])) for m in re.finditer(NUMBER, clause)]
    return changes


def _said(clause: str) -> str:
    """Empty where the grammars fail."""
    try:
        return said_of(clause)
    except (AssertionError, RuntimeError, ValueError) as error:
        logger.info("grammar failed", reason=type(error).__name__)
        return ""


@lru_cache(_MOST_CLAUSES)
def said_of(clause: str) -> str:
    """Remembered: the grammars take 60 µs for each character, and the same clause often comes again."""
    with _lock:
        return _ESCAPED.sub(r"\1", _grammar()(clause))


def _pairs(clause: str, said: str) -> int:
    """How many characters of the one are equal to how many of the other, each with each."""
    counts = Counter(said)
    return sum(counts[character] for character in clause)


def _changes(clause: str, said: str) -> list[Edit] | None:
    """What differs between the two; None when the grammars lost something that was no figure."""
    found = []
    for kind, start, end, first, last in SequenceMatcher(None, clause, said, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        before = clause[start:end]
        if kind == "delete" and not before.strip(" -,"):
            found.append(Edit(start, end, before if before == " " else ""))
            continue
        if any(is_ideogram(character) for character in before) and not re.search(r"\d", before):
            return None
        if (cut := _CUT_WORD.fullmatch(before)) and _LETTER.match(clause, end):
            found.append(Edit(start, start + cut.end(1), number(cut[1])))
            continue
        if kind == "delete" and any(character.isalnum() for character in before):
            return None
        found.append(_anchored(clause, start, end, said[first:last]))
    return found


_LETTER = re.compile("[A-Za-z]")
_CUT_WORD = re.compile(rf"({NUMBER})\s?[A-Za-z]{{1,3}}")
"""What the grammars take for a measure; where a letter follows it is the beginning of a word: 17mod5."""


def _anchored(clause: str, start: int, end: int, spoken: str) -> Edit:
    """An edit; what was put in between belongs to the character after it, or before it at the end."""
    if start < end:
        return Edit(start, end, spoken)
    if end < len(clause):
        return Edit(start, end + 1, spoken + clause[end])
    return Edit(start - 1, end, clause[start - 1] + spoken)
