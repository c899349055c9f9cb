"""What a request needs of a worker."""

from __future__ import annotations

from dataclasses import dataclass, field

from worker.protocol import ModelDescription

DUPLEX_ACTIVE, DUPLEX_PAUSED = "DUPLEX_ACTIVE", "DUPLEX_PAUSED"
"""What a live session uses its slot for."""


@dataclass(frozen=True)
class Requirement:
    """What a worker must offer: a model, a voice, and for a clip that was begun the very same weights."""

    model: str | None = None
    voice: str = "default"
    """A voice that the worker announces; "default" for a voice that comes with the request."""
    revision: str | None = None
    features: frozenset[str] = frozenset()
    """One of these is enough; empty: none is needed."""
    affinity: str | None = field(default=None, compare=False)
    """A voice that a worker serves faster when it served it recently: a wish, and no condition."""

    def met_by(self, model: ModelDescription) -> bool:
        """Whether a worker with that model could serve it."""
        return (
            self.model in (None, model.name)
            and self.revision in (None, model.revision)
            and (self.voice == "default" or self.voice in model.voices)
            and (not self.features or not self.features.isdisjoint(model.features))
        )
