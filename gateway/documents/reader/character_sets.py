"""Which characters the bytes of a text are.

A mark says it, or their form: UTF-8. Of the others the writing tells: Japanese by its kana, Korean and
Chinese by the rows that are common, Latin because few letters have marks, Cyrillic by its common letters and
by where capitals stand. That is looked for in the first 256 KiB from where ASCII ends. The pages do the same
(`frontend/static/js/shared/files/character-sets.js`).
"""

from __future__ import annotations

import re
from collections import Counter

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"),
)  # fmt: skip
_CYRILLIC = ("cp1251", "koi8_u", "cp866", "iso8859_5")
LATIN = "cp1252"
GUESSES = ("gb18030", "cp932", "euc_jp", "cp949", "cp950", LATIN, *_CYRILLIC)
"""What nothing says, and the writing tells."""
_SAMPLE_BYTES = 1 << 18
_HIGH = re.compile(rb"[\x80-\xff]")
_LETTER = re.compile(rb"[A-Za-z]")
_LONG_RUN = re.compile(rb"[\x80-\xff]{3,}")
_PAIR = re.compile(rb"[\xa1-\xf7][\xa1-\xfe]")
_BIG5_RUN = re.compile(rb"(?:[\xa1-\xf9][\x40-\x7e\xa1-\xfe]){2,}")
_ALMOST, _NEARLY_ALL, _SOME = 0.9, 0.95, 0.2
_LEAST_KOREAN = 20
"""Characters. Fewer can be Chinese of few sounds by chance."""
_LEAST_CYRILLIC = 8
"""Characters beside Latin ones."""
_KANA = re.compile("[\u3041-\u30fe]")
_BEYOND_ASCII = re.compile("[\x80-\U0010ffff]")
_COMMON = re.compile("[оеаинтсрвлкмдпуіюяызьб]")
_CAPITAL_WITHIN = re.compile("(?<=[а-яѐ-џ])[А-ЯЀ-Џ]")
_LETTER_OF_CYRILLIC = re.compile("[\u0400-\u04ff]")
_SIGN = re.compile("[\xa0«»„“”‘’‚…–—•№©°§€]")
_CAPITAL = re.compile("[А-ЯЀ-Џ]")
_LEAST_SCORE = 0.7
"""Of Russian, Ukrainian, Bulgarian and Serbian 0.8 to 1; of Greek, Hebrew and Arabic up to 0.6."""


def encoding_of(content: bytes) -> str | None:
    """Its name in Python; None where it is a text of no writing that is known here."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    if _is(content, "utf-8"):
        return "utf-8"
    beyond = _HIGH.search(content)
    sample = content[beyond.start() :][:_SAMPLE_BYTES]
    if _is_almost_utf_8(sample):
        return "utf-8"
    return _of_many_characters(content, sample) or _of_few(content, sample)


def _is(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _is_almost_utf_8(sample: bytes) -> bool:
    """But for a few bytes that are damaged."""
    whole = sample.decode("utf-8", "ignore").encode()
    return len(_HIGH.findall(whole)) >= _ALMOST * len(_HIGH.findall(sample))


def _of_many_characters(content: bytes, sample: bytes) -> str | None:
    """An encoding that takes two bytes for most characters."""
    high = len(_HIGH.findall(sample))
    if _kana_share(sample, "cp932") >= _SOME and _is(content, "cp932"):
        return "cp932"
    rows = Counter(pair[0] for pair in _PAIR.findall(sample))
    if 2 * rows.total() >= _ALMOST * high:
        for encoding, tells in (("euc_jp", _is_japanese), ("cp949", _is_korean), ("gb18030", _is_chinese)):
            if tells(rows, sample) and _is(content, encoding):
                return encoding
    runs = b"".join(_BIG5_RUN.findall(sample))
    common = sum(lead <= 0xC6 for lead in runs[::2])
    if len(_HIGH.findall(runs)) >= _ALMOST * high and common >= _ALMOST * len(runs) / 2:
        return "cp950" if _is(content, "cp950") else None
    return None


def _kana_share(sample: bytes, encoding: str) -> float:
    """Of the characters beyond ASCII."""
    text = sample.decode(encoding, "replace")
    return len(_KANA.findall(text)) / len(_BEYOND_ASCII.findall(text))


def _between(rows: Counter[int], first: int, last: int) -> int:
    return sum(count for row, count in rows.items() if first <= row <= last)


def _is_japanese(rows: Counter[int], sample: bytes) -> bool:
    """Chinese has no kana; Japanese that is encoded as Chinese has kanji of all rows."""
    kanji = _between(rows, 0xB0, 0xFE)
    return rows[0xA4] + rows[0xA5] >= _SOME * rows.total() and (_between(rows, 0xB0, 0xCF) >= _ALMOST * kanji)


def _is_korean(rows: Counter[int], sample: bytes) -> bool:
    letters = _between(rows, 0xB0, 0xFE)
    return letters >= _LEAST_KOREAN and _between(rows, 0xB0, 0xC8) >= _NEARLY_ALL * letters


def _is_chinese(rows: Counter[int], sample: bytes) -> bool:
    """Unless its characters are rare and it could be Cyrillic whose words happen to have even lengths."""
    return 2 * _between(rows, 0xA1, 0xD7) >= rows.total() or _best_cyrillic(sample)[0] < _LEAST_SCORE


def _of_few(content: bytes, sample: bytes) -> str | None:
    """An encoding with a byte for each character; else that of Chinese, which few texts are by chance."""
    high, letters = len(_HIGH.findall(sample)), len(_LETTER.findall(sample))
    alone = 2 * sum(map(len, _LONG_RUN.findall(sample))) < high
    score, encoding = _best_cyrillic(sample)
    few = high < _LEAST_CYRILLIC
    if not alone and score >= _LEAST_SCORE and not (few and letters):
        return encoding
    if alone or few or letters >= high:
        return LATIN
    return "gb18030" if _is(content, "gb18030") else None


def _best_cyrillic(sample: bytes) -> tuple[float, str]:
    return max((_cyrillic_score(sample.decode(name, "replace")), name) for name in _CYRILLIC)


def _cyrillic_score(text: str) -> float:
    """Share of common letters; less for capitals, above all within words, and for other signs."""
    letters, signs = len(_LETTER_OF_CYRILLIC.findall(text)), len(_SIGN.findall(text))
    if not letters:
        return 0.0
    others = len(_BEYOND_ASCII.findall(text)) - letters - signs
    capitals = len(_CAPITAL.findall(text)) / 2 + 2 * len(_CAPITAL_WITHIN.findall(text))
    return (len(_COMMON.findall(text.lower())) - capitals - others) / letters
