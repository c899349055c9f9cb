"""The manifests of one kind of workers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from voxfleet.fleet.file import FleetFile, WorkersSection
from voxfleet.fleet.file.kubernetes import KubernetesSection
from voxfleet.fleet.file.share import Share, ShareSection
from voxfleet.fleet.kubernetes.documents import SPARE_SECONDS, dump, environment, mebibytes, pod_patch
from voxfleet.fleet.kubernetes.scaling import scaled_object_patch
from voxfleet.processes.devices import RANKS_VARIABLE

LEAST_LOADING_SECONDS = 600.0
"""A start-up probe waits at least so long: the first worker downloads its model."""
LOADING_MARGIN = 3.0
SHARED_MEMORY = "1Gi"
"""For ranks: NCCL meets in shared memory, and the 64 MiB of a container can be too little for it."""


def write_kind(fleet: FleetFile, kind: str, folder: Path) -> None:
    """Fill the folder of one kind of workers."""
    section, workers = fleet.kubernetes, fleet.workers[kind]
    pod = section.workers.get(kind, ShareSection()).settled(workers.device, workers.tensor_parallel_size)
    components = ["nvidia"] if pod.gpus else []
    patches = [dump(folder / "deployment.yaml", _worker_patch(section, workers, pod))]
    if section.keda:
        components.append("keda")
        patches.append(dump(folder / "scaled-object.yaml", scaled_object_patch(fleet, kind)))
    whole: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["../../worker"],
        "components": [f"../../components/{name}" for name in components],
        "nameSuffix": f"-{kind}",
        "labels": [{"pairs": {"voxfleet/kind": kind}, "includeSelectors": True}],
        "patches": [{"path": name} for name in patches],
    }
    if not section.keda:
        whole["replicas"] = [{"name": "voxfleet-worker", "count": max(1, workers.least)}]
    dump(folder / "kustomization.yaml", whole)


def _worker_patch(section: KubernetesSection, workers: WorkersSection, pod: Share) -> dict[str, Any]:
    requests = {"cpu": f"{round(1000 * pod.cpus)}m", "memory": mebibytes(pod.memory_gib)}
    # A limit tells an engine on the CPU how many threads to take; one on a GPU computes nothing there.
    own = {"nvidia.com/gpu": str(pod.gpus)} if pod.gpus else {"cpu": requests["cpu"]}
    limits = {"memory": mebibytes(2 * pod.memory_gib), **own}
    loading = max(LEAST_LOADING_SECONDS, LOADING_MARGIN * workers.loading_seconds)
    variables: dict[str, object] = {
        "VOXFLEET_WORKER_MODEL": workers.model,
        "VOXFLEET_WORKER_SLOTS": workers.slots,
    }
    if workers.tensor_parallel_size > 1:
        variables[RANKS_VARIABLE] = workers.tensor_parallel_size
    container = {
        "name": "worker",
        "env": environment(**variables),
        "resources": {"requests": requests, "limits": limits},
        "startupProbe": {"periodSeconds": 2, "failureThreshold": math.ceil(loading / 2)},
        "lifecycle": {
            "preStop": {
                "exec": {"command": ["voxfleet", "drain", "--wait-seconds", str(section.drain_seconds)]}
            }
        },
    }
    patch = pod_patch("voxfleet-worker", section.drain_seconds + SPARE_SECONDS, container)
    if workers.tensor_parallel_size > 1:
        container["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
        shared = {"medium": "Memory", "sizeLimit": SHARED_MEMORY}
        patch["spec"]["template"]["spec"]["volumes"] = [{"name": "shm", "emptyDir": shared}]
    if workers.version:  # another one is a rollout
        patch["spec"]["template"]["metadata"] = {"annotations": {"voxfleet/version": workers.version}}
    return patch
