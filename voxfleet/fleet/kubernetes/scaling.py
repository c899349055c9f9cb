"""How many workers of a kind KEDA runs: by load, by what was refused, by floors of the fleet file."""

from __future__ import annotations

import math
from typing import Any

from voxfleet.fleet.file import FleetFile, FloorSection
from voxfleet.fleet.file.kubernetes import KubernetesSection
from voxfleet.fleet.kubernetes.documents import patch

FREE_SLOTS_SHARE = 0.25
"""Share of each worker's slots that stays free for whoever comes next."""


def scaled_object_patch(fleet: FleetFile, kind: str) -> dict[str, Any]:
    """Bounds and triggers of KEDA for one kind of workers."""
    workers, section = fleet.workers[kind], fleet.kubernetes
    free = max(1, math.ceil(FREE_SLOTS_SHARE * workers.slots)) if workers.slots > 1 else 0
    load = (
        f'(sum(voxfleet_worker_slots_used{{worker=~"voxfleet-worker-{kind}-.+"}}) or vector(0))'
        " + (sum(voxfleet_queue_length) or vector(0))"
    )
    refused = 'sum(increase(voxfleet_requests_total{outcome="no_worker"}[2m]))'
    triggers = [
        _prometheus(section, load, threshold=str(workers.slots - free)),
        _prometheus(section, refused, threshold="1000000", activationThreshold="0"),
        *(_cron(floor) for floor in fleet.floors if floor.workers == kind),
    ]
    spec = {
        "minReplicaCount": workers.least,
        "maxReplicaCount": max(1, min(workers.most, fleet.budget.most_workers)),
        "fallback": {"failureThreshold": 12, "replicas": max(1, workers.least)},
        "cooldownPeriod": math.ceil(fleet.idle_seconds),
        "triggers": triggers,
    }
    settle = {"scaleDown": {"stabilizationWindowSeconds": min(3600, math.ceil(fleet.settle_seconds))}}
    spec["advanced"] = {"horizontalPodAutoscalerConfig": {"behavior": settle}}
    return patch("keda.sh/v1alpha1", "ScaledObject", "voxfleet-worker", spec)


def _prometheus(section: KubernetesSection, query: str, **metadata: str) -> dict[str, Any]:
    asked = {"serverAddress": section.prometheus, "query": query, "ignoreNullValues": "true", **metadata}
    return {"type": "prometheus", "metricType": "AverageValue", "metadata": asked}


def _cron(floor: FloorSection) -> dict[str, Any]:
    """A floor that ends on the next day ends one day of the week later."""
    overnight = int(floor.until <= floor.start)
    days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    until = [days[(days.index(day) + overnight) % 7] for day in floor.days]
    metadata = {
        "timezone": floor.timezone,
        "start": _schedule(floor.start, floor.days),
        "end": _schedule(floor.until, until),
        "desiredReplicas": str(floor.least),
    }
    return {"type": "cron", "metadata": metadata}


def _schedule(time: str, days: list[str] | tuple[str, ...]) -> str:
    hours, minutes = time.split(":")
    return f"{int(minutes)} {int(hours)} * * {','.join(days)}"
