"""`voxfleet fleet render FILE --to kubernetes FOLDER`: what `kubectl apply -k FOLDER` applies.

The folder gets a copy of `deploy/kubernetes`, a Kustomization that joins its parts as the fleet file says,
one for each kind of workers, and the secrets that nobody has made yet. Rendering again replaces all but the
secrets; changes of your own belong into an overlay that names the folder as a resource.
"""

from __future__ import annotations

import math
import os
import secrets
import shutil
from pathlib import Path
from typing import Any

import yaml

from voxfleet.fleet.file import FleetFile, FloorSection, WorkersSection
from voxfleet.fleet.file.kubernetes import KubernetesSection
from voxfleet.fleet.file.share import Share, ShareSection
from voxfleet.processes.devices import RANKS_VARIABLE

MANIFESTS = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
COPIED = ("base", "worker", "components")
LEAST_LOADING_SECONDS = 600.0
"""A start-up probe waits at least so long: the first worker downloads its model."""
LOADING_MARGIN = 3.0
GATEWAY_MEMORY_GIB = 2
"""That the base lets a gateway take."""
FREE_SLOTS_SHARE = 0.25
"""Of each worker, free for whoever comes next."""
SPARE_SECONDS = 20
"""Of a pod's grace period, on top of the time to drain."""
SHARED_MEMORY = "1Gi"
"""Of ranks: NCCL meets there, and 64 MiB, which containers have otherwise, can be too little for it."""
HEAD = "# Made by `voxfleet fleet render`, which replaces it.\n"
_SECRETS = (
    "voxfleet_worker_secret",
    "voxfleet_admin_token",
    "voxfleet_metrics_token",
    "voxfleet_resume_secret",
)
_DATABASE_URL = "voxfleet_database_url"
_PASSWORD = "postgres_password"


class RenderError(Exception):
    """The folder cannot be written, or parts of VoxFleet are not here."""


def render(fleet: FleetFile, folder: Path) -> list[Path]:
    """Fill `folder`; files that somebody has to write before it can be applied. Raises RenderError."""
    if fleet.training.base is not None and fleet.training.device != "cpu":
        raise RenderError("training.device: the pods of gateways have no GPU; train on cpu there")
    if not MANIFESTS.is_dir():
        raise RenderError(f"{MANIFESTS} is not there: render from a checkout or the image")
    try:
        _check_ours(folder)
        _write_whole(fleet, folder)  # first, so that a folder that is half written is known as ours
        for name in COPIED:
            shutil.rmtree(folder / name, ignore_errors=True)
            shutil.copytree(MANIFESTS / name, folder / name)
        shutil.rmtree(folder / "workers", ignore_errors=True)
        for kind in fleet.workers:
            _write_kind(fleet, kind, folder / "workers" / kind)
        return _write_secrets(folder / "secrets", fleet.kubernetes)
    except OSError as error:
        raise RenderError(f"{folder} cannot be written: {error}") from error


def _check_ours(folder: Path) -> None:
    """Folders are replaced below it. Raises RenderError when they are somebody else's."""
    if not folder.exists() or not any(folder.iterdir()):
        return
    whole = folder / "kustomization.yaml"
    if not whole.is_file() or not whole.read_text(encoding="utf-8").startswith(HEAD):
        raise RenderError(f"{folder} holds something else; give a new folder, or one that is rendered anew")


def _write_whole(fleet: FleetFile, folder: Path) -> None:
    section = fleet.kubernetes
    patches = _whole_patches(fleet, folder)
    whole = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": section.namespace,
        "resources": ["base", *(f"workers/{kind}" for kind in fleet.workers)],
        "components": [f"components/{name}" for name in _components(section)],
        "patches": [{"path": name} for name in patches],
        "images": [{"name": "voxfleet", "newName": section.image}],
        "secretGenerator": [
            {
                "name": "voxfleet-secrets",
                "files": [f"secrets/{name}" for name in _secret_names(section)],
                # The ServiceMonitor names it, and its name there would not follow.
                "options": {"disableNameSuffixHash": True},
            }
        ],
    }
    _dump(folder / "kustomization.yaml", whole)


def _components(section: KubernetesSection) -> list[str]:
    databases = {"sqlite": [], "postgres": ["postgres"], "url": ["database-url"]}
    return [
        *(["several-gateways"] if section.gateways.most > 1 else []),
        *databases[section.database],
        *(["monitoring"] if section.monitoring else []),
        *([section.expose] if section.expose != "none" else []),
    ]


def _whole_patches(fleet: FleetFile, folder: Path) -> list[str]:
    section = fleet.kubernetes
    patches = [_dump(folder / "gateway.yaml", _gateway_patch(fleet))]
    if section.gateways.most > 1:
        patches.append(_dump(folder / "autoscaler.yaml", _autoscaler_patch(section)))
    if section.expose == "ingress":
        patches.append(_dump(folder / "ingress.yaml", _ingress_patch(section.host)))
    if section.expose == "gateway-api":
        patches.append(_dump(folder / "route.yaml", _route_patch(section)))
    return patches


def _write_kind(fleet: FleetFile, kind: str, folder: Path) -> None:
    section, workers = fleet.kubernetes, fleet.workers[kind]
    pod = section.workers.get(kind, ShareSection()).settled(workers.device, workers.tensor_parallel_size)
    components = ["nvidia"] if pod.gpus else []
    patches = [_dump(folder / "deployment.yaml", _worker_patch(section, workers, pod))]
    if section.keda:
        components.append("keda")
        patches.append(_dump(folder / "scaled-object.yaml", _scaled_object_patch(fleet, kind)))
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
    _dump(folder / "kustomization.yaml", whole)


def _worker_patch(section: KubernetesSection, workers: WorkersSection, pod: Share) -> dict[str, Any]:
    requests = {"cpu": f"{round(1000 * pod.cpus)}m", "memory": _mebibytes(pod.memory_gib)}
    # A limit tells an engine on the CPU how many threads to take; one on a GPU computes nothing there.
    own = {"nvidia.com/gpu": str(pod.gpus)} if pod.gpus else {"cpu": requests["cpu"]}
    limits = {"memory": _mebibytes(2 * pod.memory_gib), **own}
    loading = max(LEAST_LOADING_SECONDS, LOADING_MARGIN * workers.loading_seconds)
    variables: dict[str, object] = {
        "VOXFLEET_WORKER_MODEL": workers.model,
        "VOXFLEET_WORKER_SLOTS": workers.slots,
    }
    if workers.tensor_parallel_size > 1:
        variables[RANKS_VARIABLE] = workers.tensor_parallel_size
    container = {
        "name": "worker",
        "env": _variables(**variables),
        "resources": {"requests": requests, "limits": limits},
        "startupProbe": {"periodSeconds": 2, "failureThreshold": math.ceil(loading / 2)},
        "lifecycle": {
            "preStop": {
                "exec": {"command": ["voxfleet", "drain", "--wait-seconds", str(section.drain_seconds)]}
            }
        },
    }
    patch = _pod_patch("voxfleet-worker", section.drain_seconds + SPARE_SECONDS, container)
    if workers.tensor_parallel_size > 1:
        container["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
        shared = {"medium": "Memory", "sizeLimit": SHARED_MEMORY}
        patch["spec"]["template"]["spec"]["volumes"] = [{"name": "shm", "emptyDir": shared}]
    if workers.version:  # another one is a rollout
        patch["spec"]["template"]["metadata"] = {"annotations": {"voxfleet/version": workers.version}}
    return patch


def _gateway_patch(fleet: FleetFile) -> dict[str, Any]:
    section = fleet.kubernetes
    variables = {
        "VOXFLEET_SHUTDOWN_SECONDS": section.drain_seconds,
        **fleet.gateway_variables(),
    }
    if section.keda and all(workers.least == 0 for workers in fleet.workers.values()):
        variables["VOXFLEET_FLEET_MAY_BE_EMPTY"] = "true"
    if section.host:
        variables |= {
            "VOXFLEET_ALLOWED_HOSTS": f"{section.host},*.svc,*.svc.cluster.local",
            "VOXFLEET_TRUSTED_PROXIES": section.trusted_proxies,
        }
    container: dict[str, Any] = {"name": "gateway", "env": _variables(**variables)}
    if fleet.training.base is not None:  # the processes that train are in the gateway's pod
        memory = _mebibytes(GATEWAY_MEMORY_GIB + fleet.training.at_once * section.training_memory_gib)
        container["resources"] = {"limits": {"memory": memory}}
    return _pod_patch("voxfleet-gateway", section.drain_seconds + SPARE_SECONDS, container)


def _pod_patch(name: str, grace_seconds: int, container: dict[str, Any]) -> dict[str, Any]:
    pod = {"terminationGracePeriodSeconds": grace_seconds, "containers": [container]}
    return _patch("apps/v1", "Deployment", name, {"template": {"spec": pod}})


def _autoscaler_patch(section: KubernetesSection) -> dict[str, Any]:
    bounds = {"minReplicas": section.gateways.least, "maxReplicas": section.gateways.most}
    return _patch("autoscaling/v2", "HorizontalPodAutoscaler", "voxfleet-gateway", bounds)


def _ingress_patch(host: str) -> dict[str, Any]:
    backend = {"service": {"name": "voxfleet-gateway", "port": {"name": "http"}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    spec = {
        "tls": [{"hosts": [host], "secretName": "voxfleet-tls"}],
        "rules": [{"host": host, "http": {"paths": [path]}}],
    }
    return _patch("networking.k8s.io/v1", "Ingress", "voxfleet", spec)


def _route_patch(section: KubernetesSection) -> dict[str, Any]:
    namespace, name = section.gateway_api.split("/")
    spec = {"parentRefs": [{"name": name, "namespace": namespace}], "hostnames": [section.host]}
    return _patch("gateway.networking.k8s.io/v1", "HTTPRoute", "voxfleet", spec)


def _scaled_object_patch(fleet: FleetFile, kind: str) -> dict[str, Any]:
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
    return _patch("keda.sh/v1alpha1", "ScaledObject", "voxfleet-worker", spec)


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


def _patch(api_version: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _variables(**values: object) -> list[dict[str, str]]:
    return [{"name": name, "value": str(value)} for name, value in values.items()]


def _mebibytes(gibibytes: float) -> str:
    return f"{round(1024 * gibibytes)}Mi"


def _dump(path: Path, document: dict[str, Any]) -> str:
    """Its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + yaml.safe_dump(document, sort_keys=False, width=110), encoding="utf-8")
    return path.name


def _secret_names(section: KubernetesSection) -> list[str]:
    database = {"sqlite": [], "url": [_DATABASE_URL], "postgres": [_DATABASE_URL, _PASSWORD]}
    return [*_SECRETS, *database[section.database]]


def _write_secrets(folder: Path, section: KubernetesSection) -> list[Path]:
    """Make those that are not there. Those that only somebody else can know are returned."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    for name in _SECRETS:
        _keep(folder / name, secrets.token_urlsafe(32))
    if section.database == "postgres":
        password = _keep(folder / _PASSWORD, secrets.token_urlsafe(32))
        _keep(folder / _DATABASE_URL, f"postgresql://voxfleet:{password}@voxfleet-postgres/voxfleet")
    return [path for name in _secret_names(section) if not (path := folder / name).exists()]


def _keep(path: Path, secret: str) -> str:
    """What the file holds; `secret`, for its owner's eyes only, when there is no file yet."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secret)
    return secret
