"""The numbers before the items of HTML's and Markdown's lists, which nobody has written there.

lists = Lists()
lists.begin(Count(start=3))
lists.item()                   # "3. "
"""

from __future__ import annotations

from dataclasses import dataclass

_LETTERS = 26


def counted(number: int, kind: str) -> str:
    """A number as it is said: a letter where the list has letters ("a", "A"), else figures."""
    if kind in ("a", "A") and 1 <= number <= _LETTERS:
        return chr(ord(kind) + number - 1)
    return str(number)


@dataclass
class Count:
    """What a list counts: from `start`, by `step`."""

    start: int = 1
    kind: str = "1"
    step: int = 1
    sign: str = "."


class Lists:
    """The lists that are open, one in the other."""

    def __init__(self) -> None:
        self._open: list[Count | None] = []
        self._marker = ""

    def begin(self, count: Count | None) -> None:
        """None: its items have no numbers."""
        self._open.append(count)

    def end(self) -> None:
        """The list that was begun last is over."""
        if self._open:
            self._open.pop()

    def item(self, number: int | None = None, shown: bool = True) -> None:
        """An item begins; `number`: what it says that it counts."""
        count = self._open[-1] if self._open else None
        if count is None:
            return
        number = count.start if number is None else number
        count.start = number + count.step
        if shown:
            self._marker += f"{counted(number, count.kind)}{count.sign} "

    def item_ends(self) -> None:
        """A number that stood before nothing is not said."""
        self._marker = ""

    def marked(self, words: str) -> str:
        """The next words of the item, the first of them with its number."""
        if words.strip():
            words, self._marker = self._marker + words.lstrip(), ""
        return words
