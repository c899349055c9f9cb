"""`normalise(text, language, lexicon)`: figures, signs and abbreviations in words, with the way back."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from pathlib import Path

import structlog

from gateway.text import chinese, english
from gateway.text.lexicon import NO_LEXICON, Lexicon
from gateway.text.marks import MARKS, RAISED
from gateway.text.rules import apply
from gateway.text.spoken import Edit, Spoken, is_ideogram, ranges_within
from gateway.text.steps import Steps, finished
from models.sentences import has_words

logger = structlog.get_logger(__name__)
_SENTENCE = re.compile(rf".+?(?:[。！？\n]+[{RAISED}]*|(?<![!?])[!?]+(?=\s(?![=×])|$)|$)|.+", re.DOTALL)
_LATIN_WORD = re.compile(
    r"(?:(?<=[\s(\"“\u3400-\u9fff，。：])|^)[A-Za-z][A-Za-z'’-]+(?=[.,!?;:)\"”]*(?:[\s\u3400-\u9fff，。]|$))"
)
"""Not one that is part of an address."""
_TELLING = re.compile(r"[^\sA-Za-z\u3400-\u9fff,!?;，。！？；、“”'’-]|[A-Z]{2}|[a-z] [IVX]\b|\bw/")
"""A sentence without any of these is spoken as it is written."""
_OTHER_SCRIPT = re.compile(
    "[\u3040-\u30ff\uac00-\ud7af\u0400-\u06ff\u0900-\u0eff\u1000-\u10ff\u1200-\u137f\u1780-\u17ff]"
    "|[\u0370-\u03ff\u1f00-\u1fff]{3}"
)
"""A Greek letter or two are mathematics."""
_IDEOGRAM_AND_FIGURE = re.compile("[\u3400-\u9fff]\\d|\\d[\u3400-\u9fff]")
"""What a Chinese reader says, among names of products, too."""
_CHINESE_PAUSE = re.compile("[，、；：（]")
_ENGLISH_WORDS = 3
"""So many are hardly names."""
_FEW_WORDS = 5
LANGUAGES = ("en", "zh")
"""What can be normalised."""


def has_rules(language: str | None) -> bool:
    """Whether figures of a text can be put into words; they can where its language is not known."""
    return language is None or language.partition("-")[0].lower() in LANGUAGES


def normalise(
    text: str,
    language: str | None = None,
    lexicon: Lexicon = NO_LEXICON,
    fixed: Sequence[Edit] = (),
    spell: bool = False,
) -> Spoken:
    """`text` as it is spoken. The same text gives the same result everywhere.

    language: ISO 639 code of the text where it is known. It decides for a text of figures alone; otherwise
    each sentence is read in the language whose script it is in. Text of other languages stays as it is.
    lexicon: what it says of a word is said first, and nothing changes it afterwards; so is what `fixed` says
    of places in the text. spell: give the names of letters that are spelt in English, "eff bee eye".
    """
    return finished(normalising(text, language, lexicon, fixed, spell))


def normalising(
    text: str,
    language: str | None,
    lexicon: Lexicon,
    fixed: Sequence[Edit],
    spell: bool,
    foreign: Sequence[tuple[int, int]] = (),
) -> Steps[Spoken]:
    """`normalise` in small steps. `foreign`: ranges of the text, in order, that stay as they are."""
    respelt, kept = lexicon.respell(text, fixed)
    if not has_rules(language):
        return respelt
    kept = _together([*kept, *(respelt.spoken_range(*place) for place in foreign)])
    marked = Spoken.of(respelt.text)
    unmarked = marked.edited(apply(MARKS, marked.text, kept))
    kept = [(start, end) for start, end in (unmarked.spoken_range(*place) for place in kept) if start < end]
    sentences = []
    for match in _SENTENCE.finditer(unmarked.text):
        within = ranges_within(kept, *match.span())
        sentences.append((yield from _sentence(match[0], language, within, spell)))
    spoken = unmarked.then(Spoken.joined(sentences))
    return respelt.then(spoken) if has_words(spoken.text) else respelt


def _together(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order; those that overlap as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        elif start < end:
            found.append((start, end))
    return found


def _sentence(sentence: str, language: str | None, kept: list[tuple[int, int]], spell: bool) -> Steps[Spoken]:
    """As it is written where a rule fails, so that it is spoken all the same."""
    try:
        return (yield from _in_words(sentence, language, kept, spell))
    except Exception as error:
        # its message and its trace may hold what somebody has said
        place = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{Path(place.filename).name}:{place.lineno}"
        logger.error("a sentence was not put into words", error=type(error).__name__, at=at)
        return Spoken.of(sentence)


def _in_words(sentence: str, language: str | None, kept: list[tuple[int, int]], spell: bool) -> Steps[Spoken]:
    yield
    said = Spoken.of(sentence)
    if _OTHER_SCRIPT.search(sentence):
        return said
    telling = _TELLING.search(sentence) is not None
    if (telling or spell) and _is_chinese(sentence, language):
        return (yield from chinese.normalising(sentence, kept)) if telling else said
    if telling:
        said = said.edited(apply(english.RULES, sentence, kept))
    return said.then(_spelt(said, kept)) if spell else said


def _spelt(said: Spoken, kept: list[tuple[int, int]]) -> Spoken:
    places = [said.spoken_range(*place) for place in kept]
    return Spoken.of(said.text).edited(apply(english.SPELT, said.text, places))


def _is_chinese(sentence: str, language: str | None) -> bool:
    """By the script of most words; a sentence of figures alone is in the language of the text."""
    ideograms = sum(map(is_ideogram, sentence))
    in_chinese = language is not None and language.startswith("zh")
    words = sum(not (in_chinese and word.isupper()) for word in _LATIN_WORD.findall(sentence))
    paused = in_chinese and _CHINESE_PAUSE.search(sentence) is not None
    if not ideograms:
        return in_chinese and (not words or (words < _ENGLISH_WORDS and paused))
    least = 0.5 if words <= _FEW_WORDS and (paused or _IDEOGRAM_AND_FIGURE.search(sentence)) else 1.5
    return words < _ENGLISH_WORDS or ideograms >= words * least
