"""English: what a reader says for figures, signs and abbreviations.

numbers.py        numbers, years, ordinals, fractions and Roman numerals in words
money.py          sums of money
measures/         how much, how long, how far, how often
subjects/         what readers of one subject say: music, laws, chemistry
calendar.py       dates
times.py          times of the day
years.py          years, decades
identifiers.py    phone numbers, versions, codes, hashes
abbreviations.py  "Dr.", "St.", "No." and their like; Roman numerals after a word
alphabet.py       letters and signs that such models have no token for
letters.py        the names of letters, for models that cannot spell
fractions.py      fractions, and so much of so much
signs.py          ranges, scores, mathematics, and every number that is left
"""

from gateway.text.addresses import address_rules
from gateway.text.english import (
    abbreviations,
    alphabet,
    calendar,
    fractions,
    identifiers,
    letters,
    money,
    signs,
    times,
    years,
)
from gateway.text.english.measures import lasting, quantities, rates, sizes
from gateway.text.english.numbers import cardinal, digits
from gateway.text.english.subjects import (
    cards,
    citations,
    doses,
    formulas,
    notation,
    offices,
    programs,
    ratios,
    verses,
    weather,
)
from gateway.text.rules import Rules

__all__ = ["RULES", "SPELT", "letters"]

_SIGNS = {
    ".": "dot", "/": "slash", "-": "dash", "_": "underscore", "?": "question mark", "=": "equals", "&": "and",
    ":": "colon", "@": "at", "#": "hash", "%": "percent", "+": "plus", "~": "tilde", ",": "comma",
    "*": "star", "\\": "backslash",
    "(": "", ")": "", "[": "", "]": "", "!": "", "'": "", "$": "dollar", ";": "",
}  # fmt: skip


def _address_number(text: str) -> str:
    return digits(text) if len(text) > 2 or text.startswith("0") else cardinal(int(text))


RULES = Rules(
    *address_rules(_SIGNS, _address_number),
    *cards.RULES,
    *weather.RULES,
    *offices.RULES,
    *verses.RULES,
    *citations.RULES,
    *doses.RULES,
    *notation.RULES,
    *ratios.RULES,
    *calendar.RULES,
    *lasting.RULES,
    *times.RULES,
    *programs.RULES,
    *years.RULES,
    *formulas.RULES,
    *identifiers.RULES,
    *money.RULES,
    *sizes.RULES,
    *quantities.RULES,
    *rates.RULES,
    *abbreviations.RULES,
    *fractions.RULES,
    *signs.RULES,
)
"""In the order of their rank: where two want the same characters, the first has them."""
SPELT = Rules(*letters.RULES, *alphabet.RULES)
"""Then, for models that cannot spell."""
