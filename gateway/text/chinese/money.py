"""Chinese: sums of money, before or behind whose sign the amount stands."""

from __future__ import annotations

import re
from decimal import Decimal

from gateway.text.chinese.counting import NUMBER
from gateway.text.chinese.numbers import large, number
from gateway.text.rules import Rule, rule

_COINS = {
    "$": "美元", "€": "欧元", "£": "英镑", "¥": "元", "￥": "元", "₹": "卢比", "₩": "韩元", "₽": "卢布",
    "HK$": "港元", "US$": "美元", "NT$": "新台币", "A$": "澳元", "C$": "加元", "S$": "新加坡元",
}  # fmt: skip
_CODES = {
    "USD": "美元", "EUR": "欧元", "GBP": "英镑", "JPY": "日元", "CNY": "元人民币", "RMB": "元人民币",
    "HKD": "港元", "TWD": "新台币", "KRW": "韩元", "CHF": "瑞士法郎", "CAD": "加元", "AUD": "澳元",
    "SGD": "新加坡元",
}  # fmt: skip
_SCALES = {"k": 1_000, "K": 1_000, "m": 1_000_000, "M": 1_000_000, "b": 10**9, "B": 10**9, "bn": 10**9}


def _money(match: re.Match[str]) -> str:
    coin = _COINS[match["sign"]]
    amount, scale = match["amount"], match["scale"]
    minus = "负" if match["minus"] else ""
    if scale in _SCALES:
        value = Decimal(amount.replace(",", "")) * _SCALES[scale]
        return f"{minus}{large(value)}{coin}"
    if "." in amount and not scale:
        amount = amount.rstrip("0").rstrip(".")
    return f"{minus}{number(amount)}{scale or ''}{coin}"


def _code(match: re.Match[str]) -> str:
    return f"{number(match['amount'])}{match['scale'] or ''}{_CODES[match['code']]}"


RULES: tuple[Rule, ...] = (
    rule(
        r"(?:(?<![\w)\]%])(?P<minus>[-−]))?(?P<sign>(?:HK|US|NT|A|C|S)\$|[$€£¥￥₹₩₽])\s?"
        rf"(?P<amount>{NUMBER})(?P<scale>百万|千万|万亿|万|亿|千|bn|[kKmMbB](?![A-Za-z]))?元?",
        _money,
    ),
    rule(
        rf"(?<![A-Za-z\d.,])(?P<amount>{NUMBER})\s?(?P<scale>百万|千万|万亿|万|亿)?\s?(?P<code>{'|'.join(_CODES)})"
        r"(?![A-Za-z0-9])",
        _code,
    ),
    rule(
        rf"(?<![A-Za-z0-9])(?P<code>{'|'.join(_CODES)})\s?(?P<amount>{NUMBER})(?P<scale>百万|千万|万亿|万|亿)?元?(?![A-Za-z0-9])",
        _code,
    ),
)
