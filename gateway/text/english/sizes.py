"""How long something is by how wide: "60×45 cm", "1920×1080", "10ft x 12ft", "2x4s"."""

from __future__ import annotations

import re

from gateway.text.english.numbers import cardinal
from gateway.text.rules import Rule, rule


def _timber(match: re.Match[str]) -> str:
    """ "2x4s", "2x6s"."""
    wide = cardinal(int(match[2]))
    return f"{cardinal(int(match[1]))} by {wide}{'es' if wide.endswith('x') else 's'}"


_SIDE = r"\d{1,5}(?:\.\d{1,3})?"
_LONG = rf"{_SIDE}\s?(?:px|pixels?|[ckm]m|mi|m|in|inch(?:es)?|ft|feet|[\"”″])(?![A-Za-z²³])"
_MEASURED = r"(?:(?<=\d(?:ft|in|cm|mm))|(?<=\d\s(?:ft|in|cm|mm))|(?<=\dm)|(?<=\d m))"
RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w.])(\d)[x×](\d{1,2})s\b", _timber),
    rule(r"[Ø⌀]\s?(?=\d)", "diameter "),
    rule(rf"{_MEASURED}\s[x×]\s(?=\d)", " by "),
    rule(rf"(?<=\d)\s?×\s?(?={_SIDE}\s?×\s?{_LONG}|{_LONG})", " by "),
    rule(r"(?<=\d{3})\s?×\s?(?=\d{3,4}(?!\d|[.,]\d|\s?[=×]))", " by "),
)
