"""What a request needs of a worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from worker.protocol import ADAPTERS, INSTRUCTIONS, AnyModel

DUPLEX_ACTIVE, DUPLEX_PAUSED = "DUPLEX_ACTIVE", "DUPLEX_PAUSED"
"""What a live session uses its slot for."""


@dataclass(frozen=True)
class Requirement:
    """What a worker must offer: a kind of model, which one, a voice, and for what was begun the very same
    weights.
    """

    model: str | None = None
    voice: str = "default"
    """A voice that the worker announces; "default" for a voice that comes with the request."""
    revision: str | None = None
    features: frozenset[str] = frozenset()
    """One of these is enough; empty: none is needed."""
    kind: Literal["speech", "text"] = "speech"
    adapters: bool = False
    """The worker takes adapters."""
    instructions: bool = False
    """The model can be told how to speak."""
    affinity: str | None = field(default=None, compare=False)
    """A voice, an adapter, or the beginning of a conversation, that a worker serves faster when it served it
    recently: a wish, and no condition.
    """

    def met_by(self, model: AnyModel) -> bool:
        """Whether a worker with that model could serve it."""
        return (
            self.kind == model.kind
            and self.model in (None, model.name)
            and self.revision in (None, model.revision)
            and (self.voice == "default" or self.voice in model.voices)
            and (not self.features or not self.features.isdisjoint(model.features))
            and (not self.adapters or ADAPTERS in model.features)
            and (not self.instructions or INSTRUCTIONS in model.features)
        )
