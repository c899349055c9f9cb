"""Chinese: playing cards and bids at bridge."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gateway.text.cards import card_rules
from gateway.text.chinese.numbers import cardinal

_SUITS = ("黑桃", "红桃", "方块", "梅花")
_BIDS = re.compile("叫|定约|无将|加倍|[1-7]NT")


def _rank(rank: str) -> str:
    return cardinal(int(rank)) if rank.isdecimal() else rank.replace("T", "十")


def _card(ranks: Sequence[str], suit: int) -> str:
    return f"{_SUITS[suit]}{'、'.join(map(_rank, ranks))}"


def _bid(ranks: Sequence[str], suit: int) -> str:
    return f"{_rank(ranks[0])}{_SUITS[suit]}"


RULES = card_rules(_SUITS, "、", _card, _bid, _BIDS)
