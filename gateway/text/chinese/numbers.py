"""Numbers in Chinese words."""

from __future__ import annotations

from decimal import Decimal

_DIGITS = "零一二三四五六七八九"
_PHONE_DIGITS = "零幺二三四五六七八九"
_MOST_DIGITS = 16


def digits(text: str) -> str:
    """2026: "二零二六"."""
    return "".join(_DIGITS[int(character)] for character in text if character.isdecimal())


def phone(text: str) -> str:
    """The figures of a phone number, in which one is 幺."""
    return "".join(_PHONE_DIGITS[int(character)] for character in text if character.isdecimal())


def number(text: str) -> str:
    """A number as it is written, "1,234.50": "一千二百三十四点五零"."""
    whole, point, fraction = text.replace(",", "").partition(".")
    if len(whole) > _MOST_DIGITS or (len(whole) > 1 and whole.startswith("0")):
        words = digits(whole)
    else:
        words = cardinal(int(whole or "0"))
    return words + (f"点{digits(fraction)}" if point else "")


def cardinal(value: int) -> str:
    """10086: "一万零八十六". Numbers of more than 16 digits are read digit by digit."""
    if value >= 10**_MOST_DIGITS:
        return digits(str(value))
    words, zero = "", False
    for scale, name in ((10**12, "万亿"), (10**8, "亿"), (10**4, "万"), (1, "")):
        group, value = divmod(value, scale)
        if not group:
            zero = bool(words)
            continue
        words += ("零" if words and (zero or group < 1000) else "") + _below_ten_thousand(group) + name
        zero = False
    words = words or "零"
    return words[1:] if words.startswith("一十") else words


def _below_ten_thousand(value: int) -> str:
    words, zero = "", False
    for scale, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, value = divmod(value, scale)
        if digit:
            words += ("零" if zero and words else "") + _DIGITS[digit] + name
            zero = False
        else:
            zero = True
    return words


def large(value: Decimal) -> str:
    """30000: "三万"; 2100000: "二百一十万"."""
    for size, name in ((10**8, "亿"), (10**4, "万")):
        if value >= size:
            return number(_plain(value / size)) + name
    return number(_plain(value))


def _plain(value: Decimal) -> str:
    """Without an exponent, however large."""
    return f"{value:.10f}".rstrip("0").rstrip(".")
