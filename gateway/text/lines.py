"""Lines that no sign ends, as of verses, addresses, headings, forms, logs, tables: models read on without a
breath. They get a comma, rows of a table a full stop. Lines of prose go on in the next, and get nothing.
"""

from __future__ import annotations

import re

from gateway.text.rules import Rule, rule

_SHORT, _LONG = 48, 160
"""Characters: of a verse, and of a field or an entry of a log."""
_SHORT_CHINESE, _FIELD_CHINESE = 14, 40
_HAN = re.compile("[\u3400-\u9fff]")
_FIELD = re.compile(r"[ \t]{0,8}[A-Z][\w./'’() -]{0,30}:[ \t]+\S")
""" "Name: Ann"."""
_ENTRY = re.compile(r"\[?(?:\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d\b)")
_CELLS = re.compile(r"[^\s\d],[^\s]|\d,[A-Za-z\"]")
_HEADING = re.compile(r"[ \t]{0,8}#{1,6}[ \t]")
_UNSEEN = re.compile(r"\s{0,9}(?:```|<|\[[^\]\n]{1,100}\]:)")
"""What is not said at all."""
_RUNS_ON = re.compile(
    r"\b(?:an?|the|of|to|in|on|at|for|with|and|or|but|nor|from|by|into|onto|as|than|that|which|who|if|when|where|while|"
    r"is|are|was|were|be|been|has|have|had|do|does|did|will|would|can|could|should|may|might|must|my|your|his|her|our|"
    r"their|its|this|these|those|not|no|very|so|mr|mrs|ms|dr|prof|st)\W{0,3}\Z",
    re.I,
)
"""Behind which no verse ends, most likely."""


def _line_before(text: str, at: int) -> str | None:
    """The line that ends at `at`; None where it is very long."""
    start = text.rfind("\n", max(0, at - _LONG - 1), at)
    if start < 0 and at > _LONG:
        return None
    return text[start + 1 : at]


def _begins_small(text: str, at: int) -> bool:
    return text[at : at + 8].lstrip(" \t\"“‘'")[:1].islower()


def _is_prose(text: str, line: str, start: int, end: int) -> bool:
    """Whether lines around go on from one to the next: there they begin with small letters."""
    before = _line_before(text, start - 1) if start else ""
    if before is None or _begins_small(line, 0) or _begins_small(before, 0):
        return True
    after = text.find("\n", end, end + _SHORT)
    return after >= 0 and _begins_small(text, after + 1)


def _ended(match: re.Match[str]) -> str | None:
    text, start, end = match.string, match.start("say"), match.end("say")
    line = _line_before(text, start)
    if line is None or not line.strip() or _UNSEEN.match(line):
        return None
    paused = f",{match['say']}"
    if (_FIELD.match(line) and _FIELD.match(text, end)) or _ENTRY.match(text, end) or _HEADING.match(line):
        return paused
    if len(line) > _SHORT or line.endswith(">") or _RUNS_ON.search(line):
        return None
    return None if _is_prose(text, line, start - len(line), end) else paused


def _cells(match: re.Match[str]) -> str | None:
    """The end of a row of values with commas between them, before another one."""
    text, end = match.string, match.end()
    line = _line_before(text, match.start("say"))
    if line is None or not _CELLS.search(line) or not _CELLS.search(text, end, end + _LONG):
        return None
    return "。\n" if "\u3400" <= line[-1] <= "\u9fff" else ".\n"


def _ended_chinese(match: re.Match[str]) -> str | None:
    text, line = match.string, _line_before(match.string, match.start("say"))
    if line is None or len(line.strip()) > (_FIELD_CHINESE if "：" in line[:8] else _SHORT_CHINESE):
        return None
    around = line + text[match.end() : match.end() + _SHORT_CHINESE]
    return f"，{match['say']}" if _HAN.search(around) else None


def _row(match: re.Match[str]) -> str:
    """The end of a row of a table, before another one."""
    return "。" if "\u3400" <= match[0][0] <= "\u9fff" else "."


LINES: tuple[Rule, ...] = (
    rule(r"[^\W_](?P<say>[ \t]{0,40}\|[ \t]{0,40})(?=\n[ \t]{0,40}\|)", _row),
    rule(r"(?<=[^\W_])(?P<say>\n)(?=[\w\"][^\n]{0,200},)", _cells),
    rule(
        r"(?<=[A-Za-z0-9)\]’”>%])(?P<say>[ \t]{0,40}\n)(?=[ \t]{0,8}(?:[A-Z0-9\"“‘'\[]|#{1,6}[ \t]))", _ended
    ),
    rule(
        r"(?<=[\u3400-\u9fffA-Za-z0-9%℃])(?P<say>[ \t]{0,40}\n)(?=[ \t]{0,8}[\u3400-\u9fff\d《“「（\[])",
        _ended_chinese,
    ),
)
