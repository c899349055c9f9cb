"""Playing cards and bids at bridge."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gateway.text.cards import card_rules
from gateway.text.english.numbers import cardinal

_SUITS = ("spades", "hearts", "diamonds", "clubs")
_RANKS = {"A": "ace", "K": "king", "Q": "queen", "J": "jack", "T": "ten"}
_BIDS = re.compile(
    r"\b(?:bids?|opens?|opened|opening|overcall\w*|raise[sd]?|partner|contract|doubled?|[1-7]NT)\b"
)


def _card(ranks: Sequence[str], suit: int) -> str:
    return f"{', '.join(_RANKS.get(rank) or cardinal(int(rank)) for rank in ranks)} of {_SUITS[suit]}"


def _bid(ranks: Sequence[str], suit: int) -> str:
    return f"{cardinal(int(ranks[0]))} {_SUITS[suit].removesuffix('s' if ranks[0] == '1' else '')}"


RULES = card_rules(_SUITS, ", ", _card, _bid, _BIDS)
