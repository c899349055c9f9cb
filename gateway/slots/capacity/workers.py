"""The workers of a pool, and which models they offer."""

from __future__ import annotations

from typing import Literal

from gateway.slots.capacity.worker import Worker
from gateway.slots.requirement import Requirement
from worker.protocol import AnyModel


class Workers(dict[str, Worker]):
    """The workers, by id."""

    def models(self, kind: Literal["speech", "text"]) -> dict[str, AnyModel]:
        """The models of a kind that workers serve, or served before they were restarted, by name."""
        found = (worker.model for worker in self.values() if worker.model is not None)
        return {model.name: model for model in found if model.kind == kind}

    def models_for(self, requirement: Requirement) -> list[AnyModel]:
        """The models that meet it, as far as workers told what they serve."""
        return [worker.model for worker in self.values() if worker.offers(requirement)]
