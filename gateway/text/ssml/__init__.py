"""A small part of SSML 1.1: text with pauses, other rates, and words that are said otherwise.

    script = parse_ssml('<speak>Hello <break time="500ms"/> <sub alias="W three C">W3C</sub></speak>')
    script.text                        # "Hello W3C"
    script.passages[1].pause           # 0.5, in seconds

reader.py  `parse_ssml`: elements and their attributes, and what is refused
values.py  how long a pause is, how fast a passage
writer.py  text and pauses in their order become passages
script.py  what a document says
say_as.py  text that is read as its author says

Known are speak, p, s, break, prosody, sub and say-as, each with some attributes; everything else is an error
that names it. The markup has no DTD, no entities but XML's own five, and no processing instructions.
"""

from gateway.text.ssml.reader import parse_ssml
from gateway.text.ssml.script import Passage, Script, SsmlError
from gateway.text.ssml.values import FASTEST_RATE, PARAGRAPH_SECONDS, SLOWEST_RATE
from gateway.text.ssml.writer import MOST_PAUSE_SECONDS

__all__ = [
    "FASTEST_RATE",
    "MOST_PAUSE_SECONDS",
    "PARAGRAPH_SECONDS",
    "SLOWEST_RATE",
    "Passage",
    "Script",
    "SsmlError",
    "parse_ssml",
]
