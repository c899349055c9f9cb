"""What attributes say: how long a pause is, how fast a passage."""

from __future__ import annotations

import re

from gateway.text.ssml.script import SsmlError

LONGEST_PAUSE_SECONDS = 20.0
_STRENGTHS = {"none": 0.0, "x-weak": 0.1, "weak": 0.2, "medium": 0.4, "strong": 0.7, "x-strong": 1.0}
"""Seconds; the names are SSML's, which leaves their length to the service."""
SENTENCE_SECONDS, PARAGRAPH_SECONDS = _STRENGTHS["weak"], _STRENGTHS["strong"]
SLOWEST_RATE, FASTEST_RATE = 0.25, 4.0
_RATES = {"x-slow": 0.5, "slow": 0.75, "medium": 1.0, "default": 1.0, "fast": 1.25, "x-fast": 1.5}
"""Against ordinary speech; SSML leaves that to the service, too."""
_PERCENT = re.compile(r"([+-]?)(\d{1,3}(?:\.\d{1,3})?)%")
_TIME = re.compile(r"\+?(\d{1,6}(?:\.\d{1,6})?|\.\d{1,6})(ms|s)")


def rate_of(said: str) -> float:
    """A keyword, a percentage of ordinary speech ("80%"), or how much more or less than that ("-20%")."""
    if (rate := _RATES.get(said)) is not None:
        return rate
    if (found := _PERCENT.fullmatch(said)) is None:
        raise SsmlError(f"<prosody>: rate is one of {', '.join(_RATES)}, or like 80%, +20% or -20%")
    share = float(found[2]) / 100
    rate = {"": share, "+": 1 + share, "-": 1 - share}[found[1]]
    if not SLOWEST_RATE <= rate <= FASTEST_RATE:
        raise SsmlError(f"<prosody>: rate is from {SLOWEST_RATE:.0%} to {FASTEST_RATE:.0%}")
    return rate


def seconds_of(attributes: dict[str, str]) -> float:
    """The length of a break; its time goes before its strength."""
    if (time := attributes.get("time")) is not None:
        if (found := _TIME.fullmatch(time.strip())) is None:
            raise SsmlError("<break>: time is like 500ms or 1.5s")
        seconds = float(found[1]) / (1000 if found[2] == "ms" else 1)
        if seconds > LONGEST_PAUSE_SECONDS:
            raise SsmlError(f"<break>: a pause lasts at most {LONGEST_PAUSE_SECONDS:g} s")
        return seconds
    strength = attributes.get("strength", "medium")
    if strength not in _STRENGTHS:
        raise SsmlError(f"<break>: strength is one of {', '.join(_STRENGTHS)}")
    return _STRENGTHS[strength]
