"""Which language a text is in, of those that come into question.

    told_language("Das kostet fünf Euro.", ("en", "de", "zh"))     # "de"
    told_language("3:30", ("en", "de", "zh"), "de")                # "de": nothing tells

Its script decides where one language alone is written in it, else py3langid, which is loaded when it is first
needed.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

_CODE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
LONGEST_CODE = 16
_SCRIPTS = {
    "ar": "ARABIC", "fa": "ARABIC", "ur": "ARABIC", "bn": "BENGALI", "el": "GREEK", "gu": "GUJARATI",
    "be": "CYRILLIC", "bg": "CYRILLIC", "kk": "CYRILLIC", "mk": "CYRILLIC", "mn": "CYRILLIC",
    "ru": "CYRILLIC", "sr": "CYRILLIC", "uk": "CYRILLIC", "he": "HEBREW", "hi": "DEVANAGARI",
    "mr": "DEVANAGARI", "ne": "DEVANAGARI", "hy": "ARMENIAN", "ja": "KANA", "ka": "GEORGIAN", "km": "KHMER",
    "ko": "HANGUL", "lo": "LAO", "ml": "MALAYALAM", "my": "MYANMAR", "ta": "TAMIL", "te": "TELUGU",
    "th": "THAI", "zh": "CJK",
}  # fmt: skip
"""Of languages that are not written in Latin letters."""
_LATIN = "LATIN"
_NAMES = {"HIRAGANA": "KANA", "KATAKANA": "KANA", "KATAKANA-HIRAGANA": "KANA"}
_WEIGHTS = {"CJK": 3, "KANA": 3, "HANGUL": 3}
"""Letters of other scripts that say as much."""
_KANA_SHARE = 0.1
"""Of Japanese text, the rest of which may be ideograms."""
_MOST_CHARACTERS = 1000
"""That are looked at."""
_LEAST_LETTERS = 12
"""For py3langid to tell."""
_LEAST_OTHER_LETTERS = 3
"""Of an alphabet; one Greek letter is mathematics."""
_LEAST_CONFIDENCE = 0.6
_ENGLISH = re.compile(
    r"\b(?:the|and|with|this|that|these|those|your?|they|them|their|it(?:['’]s)?|she|his|(?:i|we) have|"
    r"i['’]m|i['’]ve|we['’]re|would|could|should|what|when|where|which|why|there|here|from|about|only|just|"
    r"please|call|get|buy|see|paid|costs|one|two|three|today|tomorrow|yesterday)\b",
    re.I,
)
"""Words that hardly any other language has."""
_COUNTED = re.compile(
    r"\d[\d.,]{0,12}\s(?:[a-z]{2,12}\s)?(?:dogs|cats|birds|eggs|apples|cups|bowls|slices|teaspoons|tablespoons|hours|"
    r"days|weeks|months|years|feet|pounds|people|women|children|boys|girls|friends|students|players|books|songs|words|"
    r"houses|trees|flowers|shoes|things|steps)\b",
    re.I,
)
"""What there is so much of, in a text that may have no other words; in English alone it is written so."""
_ADDRESS = re.compile(r"[!-~]*[@/_\d][!-~]*")
"""And figures, codes and units."""
_loading = threading.Lock()


def is_language_code(text: str) -> bool:
    """Whether it is an ISO 639 code, maybe with a region."""
    return len(text) <= LONGEST_CODE and _CODE.fullmatch(text) is not None


def told_language(text: str, known: Sequence[str], otherwise: str | None = None) -> str | None:
    """ISO 639 code of the language of a text; `otherwise` where it doesn't tell.

    Ideograms alone are Japanese where `otherwise` is.
    known: codes of the languages that come into question. The first question about a script that several of
    them are written in takes a second, later ones a fraction of a millisecond: see `is_loaded`.
    """
    sample = _ADDRESS.sub(" ", text[:_MOST_CHARACTERS])
    script = _script(sample)
    if script is None:
        return otherwise
    if script == "CJK" and otherwise is not None and otherwise.partition("-")[0] == "ja":
        return otherwise
    written = [code for code in _SCRIPTS if _SCRIPTS[code] == script]
    if len(written) == 1:
        return written[0]
    found = {code for code in known if _SCRIPTS.get(code, _LATIN) == script}
    if len(found) < 2:
        return next(iter(found), otherwise)
    is_long = sum(map(str.isalpha, sample)) >= _LEAST_LETTERS
    return (is_long and _identified(sample, found)) or otherwise or _short_english(text, sample, found)


def is_loaded(known: Sequence[str]) -> bool:
    """Whether no question about `known` languages has to wait for py3langid."""
    scripts = Counter(_SCRIPTS.get(code, _LATIN) for code in set(known))
    return max(scripts.values(), default=0) < 2 or _load.cache_info().currsize > 0


def _script(text: str) -> str | None:
    """The one that most of the text is written in; None where there are no letters."""
    counts: Counter[str] = Counter()
    for character in text:
        if character.isalpha():
            name = unicodedata.name(character, "").partition(" ")[0]
            script = _NAMES.get(name, name)
            counts[script] += _WEIGHTS.get(script, 1)
    if counts["KANA"] > _KANA_SHARE * counts["CJK"]:
        counts["KANA"] += counts.pop("CJK", 0)
    (script, count), *_ = counts.most_common(1) or [("", 0)]
    is_alphabet = script != _LATIN and script not in _WEIGHTS
    return script if count >= (_LEAST_OTHER_LETTERS if is_alphabet else 1) else None


def _identified(text: str, known: set[str], least: float = _LEAST_CONFIDENCE) -> str | None:
    """The likeliest of `known`; None where it is not likely enough, as a share of all that are."""
    chances = {code: chance for code, chance in _identifier().rank(text) if code in known}
    code = max(chances, key=chances.__getitem__, default=None)
    return code if code and chances[code] >= least * sum(chances.values()) else None


def _short_english(text: str, sample: str, known: set[str]) -> str | None:
    """English, where a word of a short text is English alone and no other of `known` is likelier."""
    if "en" not in known:
        return None
    if _COUNTED.search(text, 0, _MOST_CHARACTERS):
        return "en"
    return "en" if _ENGLISH.search(sample) and _identified(sample, known, least=0.0) == "en" else None


@cache
def _load() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _identifier() -> Any:
    """Loaded once, whoever asks first."""
    with _loading:
        return _load()
