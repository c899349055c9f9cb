"""Which characters the bytes of a text are.

A mark says it, or their form: UTF-8, and ISO-2022-JP by its escapes. Of the others the writing tells. The
bytes are read in every encoding, and for each language that has it is reckoned how unlikely they are: by
how seldom its letters are (`plain/writings.py`), and by what no text has, such as capitals within words and
letters of two scripts side by side. The least unlikely is taken. Letters of ASCII count, too, as they tell
Croatian from Italian, but no more than `_ASCII_SHARE` times as many as there are others. The pages do the
same (`frontend/static/js/shared/files/character-sets.js`).
"""

from __future__ import annotations

import math
import re
from collections import Counter

from plain.writings import CHARACTERS, ENCODINGS, LATIN, LETTERS

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"),
)  # fmt: skip
WESTERN = "cp1252"
JAPANESE_OF_MAIL = "iso2022_jp_ext"
GUESSES = (*ENCODINGS, JAPANESE_OF_MAIL)
"""What nothing says, and the writing tells."""
_ESCAPE = re.compile(rb"\x1b(?:\$[@B]|\([JI])")
_BEFORE_BYTES, _SAMPLE_BYTES = 512, 1 << 16
"""Looked at, from before the first byte that is no ASCII."""
_HIGH = re.compile(rb"[\x80-\xff]")
_LETTER = re.compile(rb"[A-Za-z]")
_ALMOST = 0.9
_DECAY = 4.0
_ASCII_SHARE = 20
_ASCII, _UNKNOWN_ASCII, _UNKNOWN, _SIGN = 3.3, 7.0, 9.0, 5.0
"""How unlikely something is, as a logarithm: letters of ASCII in other scripts, of other languages, signs."""
_FAULT, _MIXED, _LONE, _BESIDE = 4.0, 6.0, 2.5, 2.0
"""What is wrong in a word, two scripts in one, a letter by itself, characters of Chinese beside letters."""
_FREQUENT, _SELDOM, _FREQUENT_HANGUL, _HANGUL, _HIRAGANA, _KATAKANA = 5.6, 8.3, 5.0, 8.0, 4.3, 5.0
_STOP, _WIDE, _STRANGE = 4.5, 7.0, 13.0
_RELUCTANCE = {WESTERN: 0.0, "cp1251": 1.0, "gb18030": 1.0, "iso8859_2": 3.2, "iso8859_7": 3.2}
_USUAL_RELUCTANCE = 2.5
_MOST = 7.5
"""Of a byte beyond ASCII: what is less likely is no text that is known here."""
_SIGNS = "\xa0«»„“”‘’‚…–—•№©°§€¿¡£·‹›×™®½¼¾²³"
_MARKS_OF_DIRECTION = "\u200c\u200d\u200e\u200f\xad،؛؟־״׳"
_STOPS = "。，、：；？！「」『』“”‘’（）《》…—·\u3000・ー～"
_SMALL, _CAPITAL = (
    "".join(filter(case, map(chr, range(0x80, 0x530)))) for case in (str.islower, str.isupper)
)
_POINTS = "\u0e31-\u0e4e\u0591-\u05c2\u064b-\u0652"
_FAULTS = re.compile(
    f"(?<=[a-z{_SMALL}])[A-Z{_CAPITAL}]"
    rf"|(?<=[^\W\d_])[{_SIGNS.replace('’', '')}](?=[^\W\d_])"
    r"|[ςםןךףץةى](?=[^\W\d_])|(?<=[^\W\d_])[σמנכפצ](?![^\W\d_]|[\u05b0-\u05c2'\"׳״])"
)
_FAULTS_OF = {
    "cp874": re.compile("(?<![ก-๎])[ัิีึืุู็่้๊๋์ำะ]|[เแโใไ](?![ก-ฮ])|[ัิีึืุูเแโใไ็ำะ][ัิีึืุู็ำะๅ]"),
    "cp1258": re.compile("(?<=[a-zăâêôơư])đ"),
}
_TWO_SCRIPTS = re.compile(r"(?<=[A-Za-z])[^\W\d_A-Za-z]|[^\W\d_A-Za-z](?=[A-Za-z])")
_ALONE = re.compile(rf"(?<![^\W\d_])(?<![{_POINTS}])[^\x00-\x7f\W\d_](?![^\W\d_]|[{_POINTS}])")
_WIDE_LETTER = "[\u3041-\u9fff\uac00-\ud7a3]"
_BESIDE_ASCII = re.compile(f"(?<=[A-Za-z]){_WIDE_LETTER}|{_WIDE_LETTER}(?=[A-Za-z])")


def encoding_of(content: bytes) -> str | None:
    """Its name in Python; None where it is a text of no writing that is known here."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    first = _HIGH.search(content)
    if first is None:
        return JAPANESE_OF_MAIL if _ESCAPE.search(content) else "utf-8"
    sample = content[max(0, first.start() - _BEFORE_BYTES) :][:_SAMPLE_BYTES]
    return "utf-8" if _is_utf_8(content) or _is_almost_utf_8(sample) else _guessed(sample)


def _is_utf_8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_almost_utf_8(sample: bytes) -> bool:
    """But for a few bytes that are damaged."""
    whole = sample.decode("utf-8", "ignore").encode()
    return len(_HIGH.findall(whole)) >= _ALMOST * len(_HIGH.findall(sample))


def _guessed(sample: bytes) -> str | None:
    high, ascii_letters = len(_HIGH.findall(sample)), len(_LETTER.findall(sample))
    weight = min(1.0, _ASCII_SHARE * high / max(ascii_letters, 1))
    costs = {encoding: _cost(sample, encoding, weight) for encoding in ENCODINGS}
    best = min(costs, key=lambda encoding: costs[encoding])
    return None if costs[best] > _MOST * high and high >= ascii_letters else best


def _cost(sample: bytes, encoding: str, weight: float) -> float:
    """How unlikely it is that the sample is in this encoding."""
    text = sample.decode(encoding, "replace")
    counts = Counter(text)
    costs = [
        sum(_unlikeliness(one, encoding, language, weight) * count for one, count in counts.items())
        for language in ENCODINGS[encoding]
    ]
    return min(costs) + _faults(text, encoding) + _RELUCTANCE.get(encoding, _USUAL_RELUCTANCE)


def _unlikeliness(one: str, encoding: str, language: str, weight: float) -> float:
    """How unlikely one character is."""
    if one < "\x80":
        likely = _COSTS[language].get(one.lower(), _UNKNOWN_ASCII) if encoding in LATIN else _ASCII
        return weight * likely if one.isalpha() else 0.0
    if language in CHARACTERS:
        return _of_many(one, language)
    costs = _COSTS[language]
    return costs.get(one.lower()[0]) or (_SIGN if one in _SIGNS or one in _MARKS_OF_DIRECTION else _UNKNOWN)


def _of_many(one: str, language: str) -> float:
    """How unlikely one character of Chinese, Japanese or Korean is."""
    if one in _CHARACTERS[language]:
        return _FREQUENT_HANGUL if language == "ko" else _FREQUENT
    if language == "ja" and "\u3041" <= one <= "\u30fe":
        return _HIRAGANA if one <= "\u3096" else _KATAKANA
    if language == "ko" and "\uac00" <= one <= "\ud7a3":
        return _HANGUL
    if language != "ko" and "\u4e00" <= one <= "\u9fff":
        return _SELDOM
    if one in _STOPS:
        return _STOP
    if "\uff01" <= one <= "\uff5e":
        return _WIDE
    return _UNKNOWN if one in _SIGNS else _STRANGE


def _faults(text: str, encoding: str) -> float:
    """The cost of what no text has, such as undefined bytes."""
    cost = _FAULT * len(_FAULTS.findall(text))
    if encoding in _FAULTS_OF:
        cost += _FAULT * len(_FAULTS_OF[encoding].findall(text))
    if ENCODINGS[encoding][0] in CHARACTERS:
        cost += _BESIDE * len(_BESIDE_ASCII.findall(text))
    elif encoding not in LATIN:
        cost += _MIXED * len(_TWO_SCRIPTS.findall(text)) + _LONE * len(_ALONE.findall(text))
    return cost


def _by_rank(letters: str) -> dict[str, float]:
    """How unlikely each letter is, of those that are in the order of how frequent they are."""
    steps = [_DECAY * rank / len(letters) for rank in range(len(letters))]
    whole = math.log(sum(math.exp(-step) for step in steps))
    return {letter: whole + step for letter, step in zip(letters, steps, strict=True)}


_COSTS = {language: _by_rank(letters) for language, letters in LETTERS.items()}
_CHARACTERS = {language: frozenset(characters) for language, characters in CHARACTERS.items()}
