"""What all clients together may have in memory of what they are sending: bodies, or messages of sockets."""

from __future__ import annotations

from gateway.errors import ApiError

SMALL_BYTES = 1 << 16
"""What each connection may have there; the bound is for what is beyond it."""
MOST_LARGE_BYTES = 256 << 20


class LargeBytes:
    """What they have there together, beyond what each may have."""

    def __init__(self) -> None:
        self._left = MOST_LARGE_BYTES

    def change(self, held: int, before: int) -> int:
        """One of them has `held` bytes; what it has beyond `SMALL_BYTES`, where it was `before`.

        Raises ApiError 503 when there is no room for so many more.
        """
        large = max(0, held - SMALL_BYTES)
        if large - before > self._left:
            raise ApiError(503, "busy", "too many large requests are being read")
        self._left -= large - before
        return large

    def give_back(self, large: int) -> None:
        """They are not kept any more."""
        self._left += large
