"""Numbers in English words."""

from __future__ import annotations

import re

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = ("", " thousand", " million", " billion", " trillion", " quadrillion")
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_MOST_DIGITS = 18
NUMBER = (
    r"\d{1,3}(?:,\d{3}){1,20}(?:\.\d+)?|\d{1,2}(?:,\d\d){1,4},\d{3}(?![\d,])(?:\.\d+)?|"
    r"\d{1,3}(?:[\u00a0\u202f\u2009]\d{3}| 000){1,6}(?![\w])(?:\.\d+)?|"
    r"\d+(?:\.\d+)?"
)
NEGATIVE = r"(?:(?<![\w)\]°%])(?P<minus>[-−]))?"
_SEPARATORS = re.compile(r"[,\s]")
"""Of thousands."""


def cardinal(number: int) -> str:
    """1205: "one thousand two hundred five". Numbers of more than 18 digits are read digit by digit."""
    if number < 0:
        return f"minus {cardinal(-number)}"
    if number >= 10**_MOST_DIGITS:
        return digits(str(number))
    if number < 1000:
        return _below_thousand(number)
    words = []
    for power in range(len(_SCALES) - 1, -1, -1):
        group = number // 1000**power % 1000
        if group:
            words.append(_below_thousand(group) + _SCALES[power])
    return " ".join(words)


def _below_thousand(number: int) -> str:
    if number < 20:
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
    hundreds, rest = divmod(number, 100)
    return f"{_ONES[hundreds]} hundred" + (f" {_below_thousand(rest)}" if rest else "")


def ordinal(number: int) -> str:
    """21: "twenty-first"."""
    words = cardinal(number)
    head, last = words[: _last(words)], words[_last(words) :]
    if last in _ORDINALS:
        return head + _ORDINALS[last]
    return head + (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")


def _last(words: str) -> int:
    return max(words.rfind(" "), words.rfind("-")) + 1


def digits(text: str) -> str:
    """The digits of a text one by one, "4-0": "four zero"."""
    return " ".join(_ONES[int(character)] for character in text if character.isdecimal())


def number(text: str) -> str:
    """A number as it is written, with commas and a fraction: "1,234.50", "-3", "007"."""
    sign = "minus " if text[0] in "-−" else ""
    whole, point, fraction = _SEPARATORS.sub("", text.lstrip("-−+")).partition(".")
    if len(whole) > _MOST_DIGITS or (len(whole) > 1 and whole.startswith("0")):
        words = digits(whole)
    else:
        words = cardinal(int(whole or "0"))
    return f"{sign}{words}" + (f" point {digits(fraction)}" if point else "")


def year(value: int) -> str:
    """1905: "nineteen oh five"; 2005: "two thousand five"; 2026: "twenty twenty-six"."""
    century, rest = divmod(value, 100)
    if value < 1000 or (century % 10 == 0 and rest < 10):
        return cardinal(value)
    if rest == 0:
        return f"{cardinal(century)} hundred"
    return f"{cardinal(century)} {pair(rest)}"


def pair(value: int) -> str:
    """Two digits as in a time or a year, 5: "oh five"."""
    return f"oh {_ONES[value]}" if value < 10 else cardinal(value)


def short_code(text: str) -> str:
    """A number that names something, as it is said: "404" "four oh four", "1549" "fifteen forty-nine"."""
    if text.startswith("0") or len(text) > 4:
        return digits(text)
    if len(text) == 4:
        return year(int(text)) if not text.endswith("000") else cardinal(int(text))
    if len(text) == 3 and text[1] == "0" and text[2] != "0":
        return f"{_ONES[int(text[0])]} oh {_ONES[int(text[2])]}"
    return cardinal(int(text))


def plural(word: str) -> str:
    """third: "thirds"; "half": "halves"."""
    return "halves" if word == "half" else f"{word}s"


def fraction(numerator: int, denominator: int) -> str:
    """3/4: "three quarters"."""
    part = {2: "half", 4: "quarter"}.get(denominator) or ordinal(denominator)
    return f"{cardinal(numerator)} {part if numerator == 1 else plural(part)}"


def roman(text: str) -> int | None:
    """XIV: 14; None for what is no Roman numeral in its usual form."""
    values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
    total = 0
    for this, following in zip(text, f"{text[1:]}I", strict=True):
        value = values.get(this, 0)
        total += -value if value < values.get(following, 0) else value
    return total if total and _to_roman(total) == text else None


def _to_roman(number: int) -> str:
    text = ""
    for value, letters in (
        (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
        (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
    ):  # fmt: skip
        count, number = divmod(number, value)
        text += letters * count
    return text
