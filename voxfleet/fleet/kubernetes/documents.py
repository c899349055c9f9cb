"""YAML that Kubernetes reads, and patches of what `deploy/kubernetes` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

HEAD = "# Made by `voxfleet fleet render`, which replaces it.\n"
SPARE_SECONDS = 20
"""What a pod's grace period has on top of the time to drain."""


def dump(path: Path, document: dict[str, Any]) -> str:
    """Write a document; the name of its file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + yaml.safe_dump(document, sort_keys=False, width=110), encoding="utf-8")
    return path.name


def patch(api_version: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A patch of one object."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def pod_patch(name: str, grace_seconds: int, container: dict[str, Any]) -> dict[str, Any]:
    """A patch of a deployment's pods."""
    pod = {"terminationGracePeriodSeconds": grace_seconds, "containers": [container]}
    return patch("apps/v1", "Deployment", name, {"template": {"spec": pod}})


def environment(**values: object) -> list[dict[str, str]]:
    """Variables of a container."""
    return [{"name": name, "value": str(value)} for name, value in values.items()]


def mebibytes(gibibytes: float) -> str:
    """An amount of memory as Kubernetes writes it."""
    return f"{round(1024 * gibibytes)}Mi"
