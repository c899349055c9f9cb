"""Money."""

from __future__ import annotations

import re

from gateway.text.english.numbers import NEGATIVE, NUMBER, cardinal, number
from gateway.text.rules import rule

_SCALE = "thousand|million|billion|trillion"
_AMOUNT = (
    r"(?:\d{1,3}(?:\.\d{3}){1,4}|\d{1,15}),\d\d(?![\d,])|"
    rf"\d{{1,2}}(?:,\d\d){{1,6}},\d{{3}}(?!\d)(?:\.\d+)?|{NUMBER}"
)
"""Of money, with a comma before the cents, or in lakhs, where that is the custom."""
_SCALES = {
    "k": "thousand", "m": "million", "mn": "million", "mio": "million", "b": "billion", "bn": "billion",
    "t": "trillion", "tn": "trillion",
}  # fmt: skip
_COINS = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "€": ("euro", "euros", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "¥": ("yen", "yen", None, None),
    "￥": ("yen", "yen", None, None),
    "₹": ("rupee", "rupees", "paisa", "paise"),
    "₩": ("won", "won", None, None),
    "₽": ("ruble", "rubles", "kopeck", "kopecks"),
    "₺": ("lira", "lira", None, None),
    "₿": ("bitcoin", "bitcoins", None, None),
}
_REAIS = ("real", "reais", "centavo", "centavos")
"""R$."""
_CODES = {
    "USD": "US dollars", "EUR": "euros", "GBP": "pounds", "JPY": "yen", "CNY": "yuan", "RMB": "yuan",
    "CHF": "Swiss francs", "CAD": "Canadian dollars", "AUD": "Australian dollars", "INR": "rupees",
    "HKD": "Hong Kong dollars", "SGD": "Singapore dollars", "KRW": "won", "SEK": "Swedish kronor",
}  # fmt: skip
_LANDS = {
    "US": "US ", "HK": "Hong Kong ", "C": "Canadian ", "CA": "Canadian ", "A": "Australian ",
    "AU": "Australian ", "NZ": "New Zealand ", "NT": "New Taiwan ", "S": "Singapore ", "R": "",
}  # fmt: skip


def _money(match: re.Match[str]) -> str | None:
    one, many, coin, coins = _COINS[match["sign"]] if match["land"] != "R" else _REAIS
    land = _LANDS.get(match["land"] or "", "")
    sign = "minus " if match["minus"] else ""
    amount = _as_english(match["amount"])
    whole, _, part = amount.partition(".")
    scale = match["scale"]
    if len(whole) > 15:
        return None
    if _ARTICLE.search(match.string, max(0, match.start() - 4), match.start()):
        many, coins = one, coins if match["sign"] == "£" else coin
    if scale:
        return f"{sign}{number(amount)} {_SCALES.get(scale.lower(), scale)} {land}{many}"
    whole = whole or "0"
    units = f"{cardinal(int(whole))} {land}{one if int(whole) == 1 else many}"
    if not any(map(int, part)):
        return sign + units
    if coin is None or len(part) != 2:
        return f"{sign}{number(amount)} {land}{many}"
    rest = f"{cardinal(int(part))} {coin if int(part) == 1 else coins}"
    return sign + (f"{units} and {rest}" if int(whole) else rest)


def _range(match: re.Match[str]) -> str | None:
    """The sign of "$5-10" stands for both."""
    first, last = (_as_english(match[name]) for name in ("first", "last"))
    if len(first) > 15 or len(last) > 15 or ("." in first + last and not match["scale"]):
        return None
    scale = f" {_SCALES.get(match['scale'].lower(), match['scale'])}" if match["scale"] else ""
    land = _LANDS.get(match["land"] or "", "")
    return f"{number(first)} to {number(last)}{scale} {land}{_COINS[match['sign']][1]}"


def _as_english(amount: str) -> str:
    """An amount without separators of thousands, and with a point: "1.234,56" as "1234.56"."""
    if amount[-3:-2] == ",":
        amount = amount.replace(".", "").replace(",", ".")
    return re.sub(r"[,\s]", "", amount)


def _cents(match: re.Match[str]) -> str:
    return f"{number(match[1])} {'cent' if match[1] == '1' else 'cents'}"


def _code(match: re.Match[str]) -> str:
    scale = f"{match['scale']} " if match["scale"] else ""
    return f"{number(_as_english(match['amount']).removesuffix('.00'))} {scale}{_CODES[match['code']]}"


def _rupees(match: re.Match[str]) -> str:
    scale = f" {match['scale']}" if match["scale"] else ""
    return f"{number(_as_english(match['amount']))}{scale} rupees"


_ARTICLE = re.compile(r"\b[Aa]n?\s\Z")
"""Before a sum that something has: "a five dollar bill"."""
RULES = (
    rule(
        rf"(?:\b(?P<land>US|HK|CA|AU|NZ|NT|C|A|S|R))?(?P<sign>[$€£])(?P<first>{_AMOUNT})\s?[-–—]\s?(?P<last>{_AMOUNT})"
        rf"(?!\d|[-–—%]|/\d)(?:\s?(?P<scale>{_SCALE}|[kKmMbBtT]n?)\b)?",
        _range,
    ),
    rule(
        rf"{NEGATIVE}(?:\b(?P<land>US|HK|CA|AU|NZ|NT|C|A|S|R))?(?P<sign>[$€£¥￥₹₩₽₺₿])\s?"
        rf"(?P<amount>{_AMOUNT}|\.\d\d?(?!\d))(?:\s?(?P<scale>{_SCALE}|[kKmMbBtT]n?)\b)?",
        _money,
    ),
    rule(
        rf"(?P<say>(?<![\w.,])(?P<amount>{_AMOUNT})\s?(?P<sign>[€₽$£])(?P<minus>)(?P<land>)(?P<scale>))(?!\s?\d|\.\d)",
        _money,
    ),
    rule(rf"(?<![\w.])({NUMBER})\s?[¢￠]", _cents),
    rule(rf"\b(?P<code>{'|'.join(_CODES)})\s?(?P<amount>{_AMOUNT})\b(?:\s(?P<scale>{_SCALE})\b)?", _code),
    rule(
        rf"(?<![\w.,])(?P<amount>{_AMOUNT})(?:\s(?P<scale>{_SCALE}))?\s?(?P<code>{'|'.join(_CODES)})\b", _code
    ),
    rule(
        rf"\bRs\.?\s?(?P<amount>{_AMOUNT})(?!\w)(?:\s(?P<scale>{_SCALE}|lakhs?|crores?)\b)?(?!\s?rupee)",
        _rupees,
    ),
)
