"""What a fleet file says of gateways: their pods, how many there are, how clients reach them."""

from __future__ import annotations

from typing import Any

from voxfleet.fleet.file import FleetFile
from voxfleet.fleet.file.kubernetes import KubernetesSection
from voxfleet.fleet.kubernetes.documents import SPARE_SECONDS, environment, mebibytes, patch, pod_patch

GATEWAY_MEMORY_GIB = 2
"""The memory that the base lets a gateway take."""


def gateway_patch(fleet: FleetFile) -> dict[str, Any]:
    """Pods of gateways: their settings, and memory for trainings."""
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
    container: dict[str, Any] = {"name": "gateway", "env": environment(**variables)}
    if fleet.training.base is not None:  # the processes that train are in the gateway's pod
        memory = mebibytes(GATEWAY_MEMORY_GIB + fleet.training.at_once * section.training_memory_gib)
        container["resources"] = {"limits": {"memory": memory}}
    return pod_patch("voxfleet-gateway", section.drain_seconds + SPARE_SECONDS, container)


def autoscaler_patch(section: KubernetesSection) -> dict[str, Any]:
    """How many gateways there are."""
    bounds = {"minReplicas": section.gateways.least, "maxReplicas": section.gateways.most}
    return patch("autoscaling/v2", "HorizontalPodAutoscaler", "voxfleet-gateway", bounds)


def ingress_patch(host: str) -> dict[str, Any]:
    """The host name of an Ingress."""
    backend = {"service": {"name": "voxfleet-gateway", "port": {"name": "http"}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    spec = {
        "tls": [{"hosts": [host], "secretName": "voxfleet-tls"}],
        "rules": [{"host": host, "http": {"paths": [path]}}],
    }
    return patch("networking.k8s.io/v1", "Ingress", "voxfleet", spec)


def route_patch(section: KubernetesSection) -> dict[str, Any]:
    """The host name of an HTTPRoute, and the Gateway that it hangs on."""
    namespace, name = section.gateway_api.split("/")
    spec = {"parentRefs": [{"name": name, "namespace": namespace}], "hostnames": [section.host]}
    return patch("gateway.networking.k8s.io/v1", "HTTPRoute", "voxfleet", spec)
