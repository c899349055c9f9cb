"""Words that a text begins with: all of them, for the same few looks however many begin alike."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.text.beginnings import Beginnings

few_letters = st.text("ab", max_size=8)


@given(st.sets(st.text("ab", min_size=1, max_size=6), max_size=20), few_letters)
def test_all_words_are_found_that_a_text_begins_with(words: set[str], text: str) -> None:
    lengths = Beginnings(words).lengths(text)
    assert lengths == sum(1 << len(word) for word in words if text.startswith(word))


class Looked(str):
    """A text that counts how often somebody looks at its beginning."""

    looks = 0

    def startswith(self, *arguments: object) -> bool:
        self.looks += 1
        return super().startswith(*arguments)

    def __getitem__(self, place: object) -> str:
        self.looks += 1
        return super().__getitem__(place)


def test_words_that_begin_alike_take_no_more_looks_than_others() -> None:
    words = Beginnings(["a" * length + end for length in range(1, 64) for end in ("", "c")])
    for text in (Looked("a" * 60 + "b"), Looked("a" * 64), Looked("a" * 5 + "b")):
        assert words.lengths(text).bit_count() == min(len(text.rstrip("b")), 63)
        assert text.looks <= 7
