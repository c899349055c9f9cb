"""What a process tells of itself with everything that it sends.

The exporters look up the resource of each span and each log event in a dictionary. Its hash in the SDK is
that of a text made anew each time, a fifth of what it takes to send one. Here it is made once.
"""

from __future__ import annotations

import uuid

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from telemetry.build import build

SCOPE = InstrumentationScope("voxfleet")
"""The scope of everything that is sent."""


class ProcessResource(Resource):
    """A resource whose attributes do not change."""

    def __init__(self, service: str) -> None:
        told = Resource.create(
            {
                "service.name": service,
                "service.namespace": "voxfleet",
                "service.version": build(),
                "service.instance.id": str(uuid.uuid4()),
            }
        )
        super().__init__(told.attributes, told.schema_url)
        self._hash = super().__hash__()

    def __hash__(self) -> int:
        return self._hash
