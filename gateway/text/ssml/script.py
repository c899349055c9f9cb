"""What a document says: passages of text, with pauses between them."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.text.spoken import Edit


class SsmlError(ValueError):
    """What is wrong with the markup."""


@dataclass(frozen=True)
class Passage:
    """Text without a pause in it."""

    text: str
    fixed: tuple[Edit, ...] = ()
    """What of it is said otherwise, whatever stands elsewhere."""
    pause: float = 0.0
    """Seconds of silence before it."""
    rate: float = 1.0
    """How fast it is said, against the rest."""


@dataclass(frozen=True)
class Script:
    """What a document says."""

    passages: tuple[Passage, ...]
    pause_after: float = 0.0
    """Seconds of silence at the end."""
    language: str | None = None
    """That `speak` names."""

    @property
    def text(self) -> str:
        """The words without markup."""
        return " ".join(passage.text for passage in self.passages)
