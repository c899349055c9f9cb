"""Rules that need a character which a text does not have are not tried, and no others."""

from __future__ import annotations

import re

import pytest

from benchmarks.text import FILES, cases
from gateway.text import chinese, english
from gateway.text.marks import MARKS
from gateway.text.needed import Needed, needs_of
from gateway.text.rules import Rules

NEEDS = {
    "a(b|cd)?e{2}f*": {"a", "e"},
    r"[1-9]\d[^x]\w\s.": {"1-9", r"\d"},
    "(?:Mr|Mrs|Dr)\\.": {"MD", r"\."},
    "(?:at|by|)!": {"!"},
    "(?<=@)a(?=:)": {"@", "a", ":"},
    "(?<!@)a(?!:)^$": {"a"},
    "(?i:Q)z": {"z"},
    "(a)?(?(1)b|c)": set(),
    "[]^-]": {r"\]\^\-"},
}


@pytest.mark.parametrize("source", NEEDS)
def test_a_pattern_needs_what_is_in_all_that_it_matches(source: str) -> None:
    assert {need for need, _ in needs_of(re.compile(source))} == NEEDS[source]


def test_small_letters_do_where_a_pattern_does_not_tell_them_from_capitals() -> None:
    needed = Needed([re.compile("K", re.I), re.compile("K"), re.compile(r"\d", re.A)])
    assert list(needed.may_match("k٣")) == [0]
    assert list(needed.may_match("\u212a")) == [0]  # the sign of kelvins, to re a k
    assert list(needed.may_match("K3")) == [0, 1, 2]


@pytest.mark.parametrize("rules", [MARKS, english.RULES, english.SPELT, chinese.RULES])
def test_every_rule_that_finds_something_is_tried(rules: Rules) -> None:
    for text in (case.written for name in FILES for case in cases(name)):
        tried = set(rules.for_text(text))
        assert [each for each in rules if each.pattern.search(text) and each not in tried] == []


def test_few_rules_are_tried_for_a_sentence_with_a_figure() -> None:
    tried = list(english.RULES.for_text("He was 5 when they moved to the house by the river."))
    assert len(tried) < len(list(english.RULES)) / 5
