"""What a rule of normalisation is, and how rules are applied: the first one that wants a place has it."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from gateway.text.needed import Needed
from gateway.text.spoken import Edit

_KEPT = "kept"
Say = Callable[[re.Match[str]], "str | None"]


@dataclass(frozen=True)
class Rule:
    """Group `say` of the pattern, or all of it, is spoken as `say` answers; None leaves it alone."""

    pattern: re.Pattern[str]
    say: Say

    def edits(self, text: str) -> Iterable[Edit]:
        """What the rule makes of a text."""
        named = "say" in self.pattern.groupindex
        for match in self.pattern.finditer(text):
            group = "say" if named and match["say"] is not None else 0
            spoken = self.say(match)
            if spoken is not None:
                yield Edit(match.start(group), match.end(group), spoken)


def rule(pattern: str, say: Say | str, flags: int = 0) -> Rule:
    """A rule from the source of its pattern; a string is said as it is."""
    answer = say if callable(say) else lambda match: say
    return Rule(re.compile(pattern, flags), answer)


class Rules:
    """Rules in the order of their rank."""

    def __init__(self, *rules: Rule) -> None:
        self._rules = rules
        self._needed = Needed(each.pattern for each in self._rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def for_text(self, text: str) -> Iterator[Rule]:
        """Those that may find something, of which there are few."""
        return map(self._rules.__getitem__, self._needed.may_match(text))


def apply(rules: Rules, text: str, kept: Sequence[tuple[int, int]] = ()) -> list[Edit]:
    """The edits of all rules in the order of the text. Where two overlap, the earlier rule has its way.

    kept: ranges of the text, in order, that no rule may change.
    """
    taken: list[tuple[int, int, str]] = [(start, end, _KEPT) for start, end in kept]
    for each in rules.for_text(text):
        for edit in each.edits(text):
            place = bisect_left(taken, (edit.start, edit.end, ""))
            before = taken[place - 1] if place else (0, 0, "")
            after = taken[place] if place < len(taken) else (len(text) + 1, 0, "")
            if before[1] <= edit.start and edit.end <= after[0]:
                insort(taken, (edit.start, edit.end, edit.spoken))
    return [Edit(*edit) for edit in taken if edit[2] is not _KEPT]
