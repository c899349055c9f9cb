"""How a reader says why it does not take a file."""

from __future__ import annotations


class Refusal(Exception):
    """Why: a code that the parent puts into words. `found`: its name of what is in the file instead."""

    def __init__(self, code: str, found: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.found = found
