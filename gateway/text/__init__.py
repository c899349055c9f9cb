"""Text as it is spoken: figures, signs and abbreviations in words, before a model sees them.

    normalise("It costs $5.20.").text       # "It costs five dollars and twenty cents."

normaliser.py  `normalise`: which language a sentence is in, and what is done in which order
language.py    `told_language`: which of several languages a text is in
spoken.py      `Spoken`: the result, with the way back to what was written
lexicon.py     `Lexicon`: words that are said otherwise than they are written
beginnings.py  which of many words a text begins with
ssml/          `parse_ssml`: text with pauses and words that are said otherwise
paragraphs.py  plain text with pauses where blank lines are
rules.py       what a rule is, and which of two rules has its way
needed.py      which rules may find something in a text: which characters they need
steps.py       work that is done a bit at a time
pace.py        which share of the time each character takes
marks.py       Markdown and emoji
tex.py         formulas of TeX
cards.py       playing cards
lines.py       where a line ends that no sign ends
printable.py   which characters a line of words may hold
lookalikes.py  which letters of other scripts look like Latin ones
addresses.py   URLs, e-mail addresses, file names
english/       rules for English
chinese/       rules for Chinese, before the grammars of wetext
"""

from gateway.text.lexicon import NO_LEXICON, Lexicon
from gateway.text.normaliser import LANGUAGES, has_rules, normalise, normalising
from gateway.text.spoken import Spoken

__all__ = ["LANGUAGES", "NO_LEXICON", "Lexicon", "Spoken", "has_rules", "normalise", "normalising"]
