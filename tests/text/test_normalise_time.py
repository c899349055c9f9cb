"""Rules take time that grows with a text, and not with its square."""

from __future__ import annotations

import gc
import re
import time
from difflib import SequenceMatcher
from types import ModuleType, SimpleNamespace
from typing import SupportsIndex

import pytest

from gateway.text import chinese, english, normalise
from gateway.text.chinese.subjects import sport
from gateway.text.english import times
from gateway.text.marks import MARKS
from gateway.text.rules import Rule


@pytest.mark.parametrize(
    "piece",
    ["[", "| ", "a.", "1", "1,", "1/", "_a", "a@", " ", "第1", "1:", "A ", "A. ", "AB ", "!"],
)
def test_time_grows_with_the_text_and_not_with_its_square(piece: str) -> None:
    def seconds(count: int) -> float:
        text = (piece * count)[:count] + "x"
        began = time.thread_time()
        normalise(text, "en", spell=True)
        return time.thread_time() - began

    gc.disable()  # a collection goes through all that other tests have left
    try:
        short = min(seconds(1_000) for _ in range(3))
        assert min(seconds(8_000) for _ in range(4)) < 24 * short + 0.1
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "piece", ["-", "+1", ",011", "1,11", "a | ", "__a ", "_a ", "A. ", "1", "\U0001d7cf"]
)
def test_no_rule_tries_every_cut_of_a_run(piece: str) -> None:
    def seconds(each: Rule, count: int) -> float:
        text = piece * (count // len(piece)) + "x"
        began = time.thread_time()
        list(each.pattern.finditer(text))
        return time.thread_time() - began

    for each in (*MARKS, *english.RULES, *english.letters.RULES, *chinese.RULES):
        short = min(seconds(each, 1_000) for _ in range(3))
        assert min(seconds(each, 8_000) for _ in range(3)) < 24 * short + 0.01, each.pattern.pattern


@pytest.mark.parametrize(("subject", "piece"), [(times, "3', "), (sport, "今天3-1今天")])
def test_whether_a_sentence_is_about_a_game_is_asked_once(
    subject: ModuleType, piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of 100,000 characters took a minute of a processor."""
    pattern, asked = subject._GAME, []

    def search(sentence: str, *within: int) -> re.Match[str] | None:
        asked.append(sentence)
        return pattern.search(sentence, *within)

    monkeypatch.setattr(subject, "_GAME", SimpleNamespace(search=search))
    normalise(piece * 100)
    assert len(asked) == 1


class _Counted(str):
    """Knows how many characters were cut out of it."""

    cut = 0

    def __getitem__(self, place: SupportsIndex | slice) -> str:
        found = super().__getitem__(place)
        self.cut += len(found)
        return found


@pytest.mark.parametrize(
    "piece",
    [
        "01:02:03 ",
        "Ab St. ",
        "vs. ",
        "a.m. ",
        "a / b ",
        "@ ",
        "Mr. A ",
        "1/2 < 3 ",
        '5"屏',
        "5 c. 6 c. of it ",
    ],
)
def test_no_rule_copies_all_the_text_for_each_place(piece: str) -> None:
    for each in (*MARKS, *english.RULES, *english.SPELT, *chinese.RULES):
        text = _Counted(piece * 1000)
        edits = list(each.edits(text))
        assert text.cut <= 200 * len(edits), each.pattern.pattern


def test_a_clause_of_one_character_over_and_over_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what the grammars make of it, which took four times as long as making it."""
    compared: list[str] = []

    def compare(junk: None, clause: str, said: str, autojunk: bool) -> SequenceMatcher[str]:
        compared.append(clause)
        return SequenceMatcher(junk, clause, said, autojunk)

    monkeypatch.setattr("gateway.text.chinese.grammar.SequenceMatcher", compare)
    clause, latin = "今天来了3个人", f"他说{'the old house by the river ' * 6}3号"
    assert normalise(f"{clause}，{'1一' * 90}，{latin}。", "zh").text.startswith("今天来了三个人，一一一一")
    assert compared == [clause, latin]


def test_a_clause_that_comes_again_is_not_given_to_the_grammars(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take more than all else does together."""
    given: list[str] = []
    grammar = chinese.grammar._grammar()

    def say(clause: str) -> str:
        given.append(clause)
        return grammar(clause)

    monkeypatch.setattr("gateway.text.chinese.grammar._grammar", lambda: say)
    chinese.grammar.said_of.cache_clear()
    text = "他买了3个苹果，又买了4个梨。后来他买了3个苹果。"
    assert normalise(text, "zh") == normalise(text, "zh")
    assert sorted(given) == sorted(["他买了3个苹果", "又买了4个梨", "后来他买了3个苹果"])


def test_a_grammar_that_failed_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(clause: str) -> str:
        raise RuntimeError(clause)

    chinese.grammar.said_of.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr("gateway.text.chinese.grammar._grammar", lambda: fail)
        assert normalise("他买了2个苹果。", "zh").text == "他买了二个苹果。"
    assert normalise("他买了2个苹果。", "zh").text == "他买了两个苹果。"
