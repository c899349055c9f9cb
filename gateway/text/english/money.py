"""Money."""

from __future__ import annotations

import re

from gateway.text.english.measures.attributes import describes
from gateway.text.english.numbers import NEGATIVE, NUMBER, cardinal, number
from gateway.text.rules import rule

_SCALE = "thousand|million|billion|trillion|lakhs?|crores?"
_SCALED = rf"(?:\s?(?P<scale>{_SCALE}|MM|[kKmMbBtT]n?)\b)?"
_AMOUNT = (
    r"(?:\d{1,3}(?:\.\d{3}){1,4}|\d{1,15}),\d\d(?!\d|,\d)|"
    rf"\d{{1,2}}(?:,\d\d){{1,6}},\d{{3}}(?!\d)(?:\.\d+)?|{NUMBER}"
)
"""Of money, with a comma before the cents, or in lakhs, where that is the custom."""
_SCALES = {
    "k": "thousand", "m": "million", "mm": "million", "mn": "million", "mio": "million",
    "b": "billion", "bn": "billion", "t": "trillion", "tn": "trillion",
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
    "₫": ("dong", "dong", None, None),
    "₴": ("hryvnia", "hryvnias", None, None),
    "₱": ("peso", "pesos", "centavo", "centavos"),
    "₦": ("naira", "naira", "kobo", "kobo"),
    "₪": ("shekel", "shekels", None, None),
    "฿": ("baht", "baht", None, None),
}
_REAIS = ("real", "reais", "centavo", "centavos")
"""R$."""
_CODES = {
    "USD": ("US dollar", "US dollars"), "EUR": ("euro", "euros"), "GBP": ("pound", "pounds"),
    "JPY": ("yen", "yen"), "CNY": ("yuan", "yuan"), "RMB": ("yuan", "yuan"),
    "CHF": ("Swiss franc", "Swiss francs"), "CAD": ("Canadian dollar", "Canadian dollars"),
    "AUD": ("Australian dollar", "Australian dollars"), "INR": ("rupee", "rupees"),
    "NZD": ("New Zealand dollar", "New Zealand dollars"), "HKD": ("Hong Kong dollar", "Hong Kong dollars"),
    "SGD": ("Singapore dollar", "Singapore dollars"), "TWD": ("New Taiwan dollar", "New Taiwan dollars"),
    "KRW": ("won", "won"), "SEK": ("Swedish krona", "Swedish kronor"),
    "NOK": ("Norwegian krone", "Norwegian kroner"), "DKK": ("Danish krone", "Danish kroner"),
    "PLN": ("Polish zloty", "Polish zlotys"), "CZK": ("Czech koruna", "Czech korunas"),
    "HUF": ("forint", "forints"), "RUB": ("ruble", "rubles"), "UAH": ("hryvnia", "hryvnias"),
    "MXN": ("Mexican peso", "Mexican pesos"), "BRL": ("Brazilian real", "Brazilian reais"),
    "ZAR": ("rand", "rand"), "THB": ("baht", "baht"), "AED": ("dirham", "dirhams"),
    "MYR": ("ringgit", "ringgit"), "IDR": ("rupiah", "rupiah"), "VND": ("dong", "dong"),
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
    if _tells_of_noun(match):
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


def _tells_of_noun(match: re.Match[str]) -> bool:
    return describes(match.string, match.start(), match.end(), priced=True)


def _range(match: re.Match[str]) -> str | None:
    """The sign of "$5-10" stands for both."""
    first, last = (_as_english(match[name]) for name in ("first", "last"))
    if len(first) > 15 or len(last) > 15 or ("." in first + last and not match["scale"]):
        return None
    scale = f" {_SCALES.get(match['scale'].lower(), match['scale'])}" if match["scale"] else ""
    land = _LANDS.get(match["land"] or "", "")
    coin = _COINS[match["sign"]][0 if _tells_of_noun(match) else 1]
    return f"{number(first)} to {number(last)}{scale} {land}{coin}"


def _scaled_range(match: re.Match[str]) -> str:
    """ "$1.5M–2M"."""
    first, last = (
        f"{number(_as_english(match[amount]))} {_SCALES[match[scale].lower()]}"
        for amount, scale in (("first", "scale1"), ("last", "scale2"))
    )
    return f"{first} to {last} {_LANDS.get(match['land'] or '', '')}{_COINS[match['sign']][1]}"


def _as_english(amount: str) -> str:
    """An amount without separators of thousands, and with a point: "1.234,56" as "1234.56"."""
    if amount[-3:-2] == ",":
        amount = amount.replace(".", "").replace(",", ".")
    return re.sub(r"[,\s]", "", amount)


def _code_range(match: re.Match[str]) -> str:
    scale = f"{_SCALES.get(match['scale'].lower(), match['scale'])} " if match["scale"] else ""
    first, last = (number(_as_english(match[name])) for name in ("first", "last"))
    return f"{first} to {last} {scale}{_CODES[match['code']][1]}"


def _cents(match: re.Match[str]) -> str:
    return f"{number(match[1])} {'cent' if match[1] == '1' else 'cents'}"


def _code(match: re.Match[str]) -> str:
    one, many = _CODES[match["code"]]
    amount, scale = _as_english(match["amount"]).removesuffix(".00"), match["scale"]
    scale = f"{_SCALES.get(scale.lower(), scale)} " if scale else ""
    single = (amount == "1" and not scale) or _tells_of_noun(match)
    return f"{number(amount)} {scale}{one if single else many}"


def _rupees(match: re.Match[str]) -> str:
    scale = f" {match['scale']}" if match["scale"] else ""
    return f"{number(_as_english(match['amount']))}{scale} rupees"


_SIGN = f"[{''.join(_COINS)}]"
_CODE = rf"(?P<code>{'|'.join(_CODES)})"
_LAND = r"(?:\b(?P<land>US|HK|CA|AU|NZ|NT|C|A|S|R))?"
_FROM_TO = rf"(?P<first>{_AMOUNT})\s?[-–—]\s?(?P<last>{_AMOUNT})(?!\d|[-–—%]|/\d){_SCALED}"
RULES = (
    rule(rf"{_LAND}(?P<sign>[$€£]){_FROM_TO}", _range),
    rule(
        rf"{_LAND}(?P<sign>[$€£])(?P<first>{NUMBER})(?P<scale1>[kKmMbB]n?)\s?[-–—]\s?(?P<last>{NUMBER})(?P<scale2>[kKmMbB]n?)\b",
        _scaled_range,
    ),
    rule(rf"\b{_CODE}\s?{_FROM_TO}(?!\w)", _code_range),
    rule(
        rf"{NEGATIVE}{_LAND}(?P<sign>{_SIGN})\s?(?P<amount>{_AMOUNT}|\.\d\d?(?!\d)){_SCALED}",
        _money,
    ),
    rule(
        rf"(?P<say>(?<![\w.,^])(?P<amount>{_AMOUNT})\s?(?P<sign>[€₽$£])(?P<minus>)(?P<land>)(?P<scale>))(?!\s?\d|\.\d)",
        _money,
    ),
    rule(rf"(?P<sign>[$€£])(?P<minus>\()(?P<amount>{NUMBER})\)(?P<land>){_SCALED}", _money),
    rule(rf"(?<![\w.])({NUMBER})\s?[¢￠]", _cents),
    rule(
        rf"(?<![A-Z]/)\b{_CODE}\s?(?P<amount>{_AMOUNT})(?![\d]|[.,]\d){_SCALED}(?!\w)(?:\.[-–—](?!\w))?",
        _code,
    ),
    rule(rf"(?<![\w.,])(?P<amount>{_AMOUNT}){_SCALED}\s?{_CODE}\b(?!/[A-Z])", _code),
    rule(rf"\bRs\.?\s?(?P<amount>{_AMOUNT})(?!\w)(?:\s(?P<scale>{_SCALE})\b)?(?!\s?rupee)", _rupees),
)
