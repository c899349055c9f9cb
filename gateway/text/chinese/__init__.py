"""Chinese: our own rules first, then the grammars of wetext for every figure that is left.

The grammars know measure words ("2个" is 两个), dates, times and units.

numbers.py  numbers in words
rules.py    what the grammars get wrong
units.py    units, and their names
counting.py  of it, what is about counting
two.py      of that, 二 and 两
notation.py  of it, mathematics and music
subjects/   of it, what readers of one subject say: sport, medicine
money.py    of it, sums of money
names.py    of it, what names something: plates, service numbers, verses
days.py     of it, days with a point, and decimals like them
traditional.py  characters of Taiwan and Hong Kong
grammar.py  the grammars, which are loaded with the first figure
"""

from collections.abc import Sequence
from dataclasses import replace

from gateway.text.chinese import rules
from gateway.text.chinese.grammar import by_grammar
from gateway.text.chinese.traditional import simplified, traditional
from gateway.text.rules import Rules, apply
from gateway.text.spoken import Edit, Spoken
from gateway.text.steps import Steps

__all__ = ["RULES", "normalising"]

RULES = Rules(*rules.RULES)


def normalising(sentence: str, kept: Sequence[tuple[int, int]] = ()) -> Steps[Spoken]:
    """A Chinese sentence as it is spoken; nothing changes the ranges that are `kept`."""
    simple = simplified(sentence)
    is_traditional = simple != sentence == traditional(sentence)
    first = Spoken.of(sentence).edited(_written(apply(RULES, simple, kept), is_traditional))
    edits: list[Edit] = []
    for found in by_grammar(simplified(first.text), [first.spoken_range(*place) for place in kept]):
        edits += _written(found, is_traditional)
        yield
    return first.edited(edits)


def _written(edits: list[Edit], is_traditional: bool) -> list[Edit]:
    """With the characters of the text around them."""
    return [replace(edit, spoken=traditional(edit.spoken)) for edit in edits] if is_traditional else edits
