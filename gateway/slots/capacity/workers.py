"""The workers of a pool, and which models they offer."""

from __future__ import annotations

from typing import Literal

from gateway.errors import ApiError
from gateway.slots.capacity.worker import Worker
from gateway.slots.requirement import Requirement
from worker.protocol import AnyModel


class Workers(dict[str, Worker]):
    """The workers, by id."""

    def steady(self, worker_id: str) -> Worker:
        """The worker that an operator wants something of. Raises ApiError: 404, 409 while it restarts."""
        worker = self.get(worker_id)
        if worker is None:
            raise ApiError(404, "unknown_worker", f"there is no worker {worker_id!r}", param="id")
        if worker.restarting:
            raise ApiError(409, "already_restarting", f"worker {worker_id} is being restarted")
        return worker

    def models(self, kind: Literal["speech", "text"]) -> dict[str, AnyModel]:
        """The models of a kind that workers serve, or served before they were restarted, by name."""
        found = (worker.model for worker in self.values() if worker.model is not None)
        return {model.name: model for model in found if model.kind == kind}

    def models_for(self, requirement: Requirement) -> list[AnyModel]:
        """The models that meet it, as far as workers told what they serve."""
        return [worker.model for worker in self.values() if worker.offers(requirement)]
