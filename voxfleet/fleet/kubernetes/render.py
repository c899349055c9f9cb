"""Filling the folder: a copy of `deploy/kubernetes`, and what the fleet file makes of it."""

from __future__ import annotations

import shutil
from pathlib import Path

from voxfleet.fleet.file import FleetFile
from voxfleet.fleet.file.kubernetes import KubernetesSection
from voxfleet.fleet.kubernetes.documents import HEAD, dump
from voxfleet.fleet.kubernetes.gateways import autoscaler_patch, gateway_patch, ingress_patch, route_patch
from voxfleet.fleet.kubernetes.secret_files import secret_names, write_secrets
from voxfleet.fleet.kubernetes.workers import write_kind

MANIFESTS = Path(__file__).resolve().parents[3] / "deploy" / "kubernetes"
COPIED = ("base", "worker", "components")


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
            write_kind(fleet, kind, folder / "workers" / kind)
        return write_secrets(folder / "secrets", fleet.kubernetes)
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
                "files": [f"secrets/{name}" for name in secret_names(section)],
                # The ServiceMonitor names it, and its name there would not follow.
                "options": {"disableNameSuffixHash": True},
            }
        ],
    }
    dump(folder / "kustomization.yaml", whole)


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
    patches = [dump(folder / "gateway.yaml", gateway_patch(fleet))]
    if section.gateways.most > 1:
        patches.append(dump(folder / "autoscaler.yaml", autoscaler_patch(section)))
    if section.expose == "ingress":
        patches.append(dump(folder / "ingress.yaml", ingress_patch(section.host)))
    if section.expose == "gateway-api":
        patches.append(dump(folder / "route.yaml", route_patch(section)))
    return patches
