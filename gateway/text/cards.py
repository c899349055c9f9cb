"""Playing cards, "A♠", "♥10", "♠AKQ72", bids such as "1♠", and all four suits. Other suits are ornaments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gateway.text.rules import Rule, rule

_SIGNS = "♠♥♦♣♤♡♢♧"
_SUITS = len(_SIGNS) // 2
_HEART = 1
_SUIT = rf"[{_SIGNS}]\ufe0f?"
_RANK = "(?:10|[2-9TAKQJ])"
_CARD = rf"(?<![A-Za-z0-9.,])(?P<rank>1(?!0)|{_RANK})(?P<suit>{_SUIT})(?=(?P<more>\s?{_RANK}{_SUIT})?)"
_HAND = (
    rf"(?P<suit>{_SUIT})(?P<gap>\s?)(?P<ranks>{_RANK}{{1,13}})(?![\w%{_SIGNS}]|[.,]\d)"
    rf"(?=(?P<more>\s{_SUIT})?)"
)
_ALL = rf"{_SUIT}(?:(?:[\s,，、/]{{1,2}}(?:and\s)?)?{_SUIT}){{3}}"
_NEAR = 60
"""Characters in which another suit tells that cards are meant."""
_LEAST_RANKS = 2
"""Behind a suit and a space; what is shorter is a word or an amount."""
Card = Callable[[Sequence[str], int], str]
"""Of ranks and the number of their suit."""


def _suit(sign: str) -> int:
    """0: spades, 1: hearts, 2: diamonds, 3: clubs."""
    return _SIGNS.index(sign[0]) % _SUITS


def _bare(match: re.Match[str]) -> str:
    return match[0].replace("\ufe0f", "")


def _among_others(match: re.Match[str]) -> bool:
    around = match.string[max(0, match.start() - _NEAR) : match.end() + _NEAR]
    return len({_suit(sign) for sign in around if sign in _SIGNS}) > 1


def _card(match: re.Match[str]) -> str | None:
    """Not the heart of "I miss you 2♥"."""
    return _bare(match) if _suit(match["suit"]) != _HEART or _among_others(match) else None


def _hand(match: re.Match[str]) -> str | None:
    """Not of a list in which "♦ 5 days" is an entry."""
    ranks = match["ranks"]
    is_hand = not match["gap"] or (len(ranks) >= _LEAST_RANKS and not ranks.isdecimal())
    return _bare(match) if is_hand and _among_others(match) else None


def _before(more: str | None, comma: str) -> str:
    """What parts a card from the next one."""
    return "" if not more else comma.rstrip() if more[0].isspace() else comma


def _all_suits(match: re.Match[str]) -> str | None:
    return _bare(match) if len({_suit(sign) for sign in match[0] if sign in _SIGNS}) == _SUITS else None


CARDS = (rule(_CARD, _card), rule(_HAND, _hand), rule(_ALL, _all_suits))
"""Of all these signs, those that are said; they stay in the text for the rules of its language."""


def card_rules(
    suits: Sequence[str], comma: str, card: Card, bid: Card, bids: re.Pattern[str]
) -> tuple[Rule, ...]:
    """`suits`: their names. `card`, `bid`: what ranks of a suit are called. `bids`: words near a bid."""

    def say_card(match: re.Match[str]) -> str:
        around = match.string[max(0, match.start() - _NEAR) : match.end() + _NEAR]
        is_bid = match["rank"] == "1" or (match["rank"] in "234567" and bids.search(around))
        said = (bid if is_bid else card)([match["rank"]], _suit(match["suit"]))
        return said + _before(match["more"], comma)

    def say_hand(match: re.Match[str]) -> str:
        said = card(re.findall(_RANK, match["ranks"]), _suit(match["suit"]))
        return said + _before(match["more"], comma)

    def say_all(match: re.Match[str]) -> str:
        return comma.join(suits[_suit(sign)] for sign in match[0] if sign in _SIGNS)

    return rule(_CARD, say_card), rule(_HAND, say_hand), rule(_ALL, say_all)
