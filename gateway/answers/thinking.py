"""What a model thinks before it answers is not read aloud: text without its `<think>` parts, as it comes."""

from __future__ import annotations

_BEGIN, _END = "<think>", "</think>"


class Aloud:
    """Leaves out what stands between the two marks, and the marks.

    thinking: the text begins behind the first of them.
    """

    def __init__(self, thinking: bool = False) -> None:
        self._held = ""
        """What may be the beginning of a mark."""
        self._thinking = thinking

    def add(self, text: str) -> str:
        """What is to be said of the text so far, and was not told before."""
        said, rest = "", self._held + text
        while True:
            mark = _END if self._thinking else _BEGIN
            before, found, after = rest.partition(mark)
            if not found:
                break
            said += "" if self._thinking else before
            self._thinking, rest = not self._thinking, after
        kept = _overlap(rest, mark)
        self._held = rest[len(rest) - kept :]
        return said if self._thinking else said + rest[: len(rest) - kept]

    def rest(self) -> str:
        """What was held back, at the end of the text."""
        held, self._held = self._held, ""
        return "" if self._thinking else held


def _overlap(text: str, mark: str) -> int:
    """The longest end of `text` that `mark` begins with, and is not all of."""
    longest = min(len(text), len(mark) - 1)
    return next((size for size in range(longest, 0, -1) if mark.startswith(text[-size:])), 0)
