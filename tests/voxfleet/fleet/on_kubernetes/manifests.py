"""Manifests as kubectl renders them, and what a pod's container is told."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import yaml

from tests.voxfleet.conftest import ROOT
from voxfleet.fleet.file import FleetFile
from voxfleet.fleet.kubernetes import render

DEPLOY = ROOT / "deploy" / "kubernetes"
OVERLAYS = sorted(path.name for path in (DEPLOY / "overlays").iterdir())
FIELDS = {"metadata.name": "voxfleet-worker-cpu-7d4-x2x", "status.podIP": "10.1.2.3"}
"""What Kubernetes fills in."""
GPU = {"model": "openbmb/VoxCPM2", "slots": 32, "audio_seconds_per_second": 300, "loading_seconds": 400}
CPU = {"model": "bundled", "audio_seconds_per_second": 6, "version": "2026-11"}
"""Kinds of workers, as fleet files have them."""
Document = dict[str, Any]


def kubectl() -> str:
    """The one of the extra `test`, else that of this machine."""
    found = shutil.which("kubectl", path=sysconfig.get_path("scripts")) or shutil.which("kubectl")
    assert found, "kubectl comes with the extra `test`"
    return found


def kustomized(folder: Path) -> list[Document]:
    """What `kubectl apply -k folder` would apply."""
    done = subprocess.run([kubectl(), "kustomize", str(folder)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@functools.cache
def overlay(name: str) -> list[Document]:
    """One of `deploy/kubernetes/overlays`."""
    return kustomized(DEPLOY / "overlays" / name)


@functools.cache
def everything() -> list[Document]:
    """The objects of all overlays."""
    return [document for name in OVERLAYS for document in overlay(name)]


def rendered(folder: Path, **fleet: Any) -> list[Document]:
    """What `voxfleet fleet render` makes of a fleet file, rendered by kubectl."""
    render(FleetFile.model_validate(fleet), folder)
    return kustomized(folder)


def of_kind(documents: list[Document], kind: str) -> list[Document]:
    return [document for document in documents if document["kind"] == kind]


def named(documents: list[Document], kind: str, name: str) -> Document:
    (found,) = [item for item in of_kind(documents, kind) if item["metadata"]["name"] == name]
    return found


def pods(documents: list[Document]) -> list[Document]:
    """The pod templates of all workloads."""
    return [
        document["spec"]["template"]
        for document in documents
        if document["kind"] in ("Deployment", "StatefulSet")
    ]


def container(pod: Document) -> Document:
    (only,) = pod["spec"]["containers"]
    return only


def variables(pod: Document, fields: dict[str, str]) -> dict[str, str]:
    """The environment as the kubelet makes it; `fields`: what the pod's own fields are, by path."""
    values: dict[str, str] = {}
    for entry in container(pod).get("env", []):
        if "valueFrom" in entry:
            values[entry["name"]] = fields[entry["valueFrom"]["fieldRef"]["fieldPath"]]
        else:
            # Only what stands above is known, and what is unknown stays as it is.
            values[entry["name"]] = re.sub(
                r"\$\((\w+)\)", lambda match: values.get(match[1], match[0]), entry["value"]
            )
    return values


def selects(selector: Document, labels: dict[str, str]) -> bool:
    return selector.get("matchLabels", {}).items() <= labels.items()
