"""The language of a text: by its script, else by its words, else by what is around it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.text import language, normalise
from gateway.text.language import is_loaded, told_language

EUROPEAN = ("en", "zh", "da", "de", "es", "fi", "fr", "it", "nl", "no", "pl", "pt", "ru", "sv", "tr", "vi")
CASES = Path(__file__).parent / "cases"
KNOWN = [
    ("en", "The train to York leaves at 3:30, platform two."),
    ("de", "Der Zug nach Hamburg fährt um 15:30 Uhr ab."),
    ("fr", "Cela coûte cinq euros et vingt centimes."),
    ("es", "El tren a Madrid sale a las 15:30."),
    ("it", "Buongiorno a tutti, il treno parte alle 15:30."),
    ("nl", "De trein naar Utrecht vertrekt om 15:30."),
    ("pl", "Wczoraj przeczytałem tę książkę."),
    ("pt", "A consulta é no dia 3 de maio de 2025."),
]


@pytest.mark.parametrize(
    ("text", "told"),
    [("你好", "zh"), ("今天 meeting 在3点", "zh"), ("こんにちは世界", "ja"), ("漢字かな交じり文です", "ja"),
     ("안녕", "ko"), ("Привет всем", "ru"), ("สวัสดี", "th"), ("Hello", "en"), ("The 北京 office", "en"),
     ("3:30", None), ("π≈3.14", None), ("https://example.com/abc user@example.com", None), ("", None)],
)  # fmt: skip
def test_a_script_tells(text: str, told: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "_load", lambda: pytest.fail("nothing has to be loaded for that"))
    assert told_language(text, ("en", "zh", "ru")) == told
    assert told_language(text, ("en", "zh", "ru"), "fr") == (told or "fr")
    assert is_loaded(("en", "zh", "ru", "en"))


@pytest.mark.parametrize(("told", "text"), KNOWN)
def test_words_tell_the_language(told: str, text: str) -> None:
    assert told_language(text, EUROPEAN) == told
    assert told_language(text, ("en", told)) == told


@pytest.mark.parametrize("text", ["OK.", "Dr. Who", "Ja, gern.", "Merci!"])
def test_what_is_too_short_is_like_the_text_around(text: str) -> None:
    assert (told_language(text, EUROPEAN), told_language(text, EUROPEAN, "de")) == (None, "de")


@pytest.mark.parametrize(
    "text",
    ["I have 5 dogs.", "It costs $5.20.", "See you at 3:30.", "It's 5°C.", "Only 3 left!", "They won 4-2.",
     "You owe $5.", "5 dogs", "3 big eggs", "2,000 people", "10 years old",
     "Buy 2, get 1 free.", "From 9 to 5.", "I'm 42.", "That was 1999."],
)  # fmt: skip
def test_a_few_english_words_tell(text: str) -> None:
    assert (told_language(text, EUROPEAN), told_language(text, EUROPEAN, "de")) == ("en", "de")
    assert told_language(text, ("de", "fr")) is None


@pytest.mark.parametrize(
    "text",
    ["Ich bin 5.", "Um 3.", "Es kostet 5 €.", "Will 5.", "Was? Um 9?", "Jeg har 5.", "At have 5.",
     "Vi vil have 5.", "Le 5 mai.", "C'est 5 €.", "Il 5 maggio.", "Are 5.", "Ik heb 5.", "Hij was 30.",
     "Of 5 of 6.", "To 5 zł.", "Do 9 ao 5.", "Has 5.", "On 5.", "Can 5.", "Page 12", "Dr. Who", "5 km",
     "3 Hunde", "5 chiens", "4 gatos", "5 oranges", "2 letters", "3 messages"],
)  # fmt: skip
def test_a_few_other_words_are_not_english(text: str) -> None:
    assert told_language(text, EUROPEAN) != "en"


def test_english_is_taken_for_nothing_else() -> None:
    for name in ("en", "en_held_out"):
        lines = (CASES / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
        lines += ["Angela Merkel met Emmanuel Macron in Paris.", "San Francisco, Los Angeles, El Paso"]
        assert {told_language(line.split("\t")[0], EUROPEAN) for line in lines} <= {"en", None}


def test_it_takes_less_time_than_putting_the_text_into_words() -> None:
    lines = [line.split("\t")[0] for line in (CASES / "en.tsv").read_text(encoding="utf-8").splitlines()[:60]]
    telling = _seconds(lambda: [told_language(line, EUROPEAN) for line in lines])
    assert telling < _seconds(lambda: [normalise(line, "en") for line in lines])


def _seconds(work: Callable[[], object]) -> float:
    found = []
    for _ in range(5):
        began = time.thread_time()
        work()
        found.append(time.thread_time() - began)
    return min(found)
