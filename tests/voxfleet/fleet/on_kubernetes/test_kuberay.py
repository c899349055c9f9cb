"""deploy/kubernetes/kuberay: kubectl renders it, and it agrees with Kubernetes' schemas, with the fleet file
in it and with the program. The operator's schema of RayCluster is not here: what it refers to is.
"""

from __future__ import annotations

import functools
import shlex
from pathlib import Path

import kubernetes_validate
import typer
import yaml

from gateway.settings import GatewaySettings
from tests.voxfleet.conftest import ROOT
from tests.voxfleet.fleet.on_kubernetes.manifests import DEPLOY, Document, kustomized, named, of_kind
from voxfleet.cli import app
from voxfleet.fleet.file import FleetFile, read_fleet_file
from voxfleet.fleet.file.share import ShareSection

VERSIONS = ("1.29", "1.37")
FOLDER = DEPLOY / "kuberay"
RAY_SHARE_OF_MEMORY = 0.7
"""Of a pod's memory, what Ray gives to actors; the rest is its object store's."""


@functools.cache
def documents() -> list[Document]:
    return kustomized(FOLDER)


def cluster() -> Document:
    return named(documents(), "RayCluster", "voxfleet")["spec"]


def head() -> Document:
    return cluster()["headGroupSpec"]


def pods() -> list[Document]:
    return [group["template"] for group in (head(), *cluster()["workerGroupSpecs"])]


def fleet_file() -> FleetFile:
    return read_fleet_file(FOLDER / "fleet.yaml")


def as_job(pod: Document) -> Document:
    """An object that Kubernetes itself has, with the same pod."""
    spec = {**pod["spec"], "restartPolicy": "Never"}
    template = {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "pod"},
        "spec": {"template": template},
    }


def test_the_schemas_of_kubernetes_accept_every_object_and_every_pod() -> None:
    known = [one for one in documents() if one["kind"] != "RayCluster"]
    for version in VERSIONS:
        for document in [*known, *map(as_job, pods())]:
            assert kubernetes_validate.validate(document, version, strict=True) == version


def test_every_pod_meets_the_restricted_standard_with_a_read_only_root() -> None:
    for pod in pods():
        (only,) = pod["spec"]["containers"]
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert only["securityContext"]["readOnlyRootFilesystem"] is True
        assert only["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert pod["spec"]["enableServiceLinks"] is False
        assert {volume["mountPath"] for volume in only["volumeMounts"]} >= {"/data", "/tmp"}
    assert cluster()["authOptions"] == {"mode": "token"}


def test_the_fleet_file_in_it_finds_room_in_its_groups() -> None:
    file = fleet_file()
    assert file.place == "ray"
    groups = {group["groupName"]: group for group in cluster()["workerGroupSpecs"]}
    assert groups.keys() == file.workers.keys()
    for kind, section in file.workers.items():
        share = file.ray.workers.get(kind, ShareSection()).settled(section.device)
        limits = groups[kind]["template"]["spec"]["containers"][0]["resources"]["limits"]
        assert float(limits["cpu"]) >= share.cpus
        assert int(limits.get("nvidia.com/gpu", 0)) == share.gpus
        assert RAY_SHARE_OF_MEMORY * float(limits["memory"].removesuffix("Gi")) >= share.memory_gib
        assert groups[kind]["maxReplicas"] == section.most
    assert head()["rayStartParams"]["num-cpus"] == "0"


def test_the_head_runs_the_command_with_the_file_and_the_port_of_the_service() -> None:
    (only,) = head()["template"]["spec"]["containers"]
    script = only["args"][0]
    words = shlex.split(script[script.index("voxfleet fleet up") : script.index("; do")])
    up = typer.main.get_command(app).commands["fleet"].commands["up"]
    given = up.make_context("up", words[3:]).params
    mounts = {one["name"]: one["mountPath"] for one in only["volumeMounts"]}
    assert given["file"] == Path(mounts["fleet"]) / "fleet.yaml"
    assert only["lifecycle"]["preStop"]["exec"]["command"] == [
        "voxfleet",
        "fleet",
        "down",
        str(given["file"]),
    ]
    assert "$KUBERAY_GEN_RAY_START_CMD" in script
    assert head()["template"]["metadata"]["annotations"] == {"ray.io/overwrite-container-cmd": "true"}
    (config,) = of_kind(documents(), "ConfigMap")
    assert yaml.safe_load(config["data"]["fleet.yaml"])["place"] == "ray"
    service = named(documents(), "Service", "voxfleet-gateway")["spec"]
    assert service["selector"].items() <= head()["template"]["metadata"]["labels"].items()
    ports = {port["name"]: port["containerPort"] for port in only["ports"]}
    assert ports[service["ports"][0]["targetPort"]] == 8006
    assert str(ports["gcs-server"]) == fleet_file().ray.address.rpartition(":")[2]


def test_variables_are_settings_and_secrets_are_files_of_the_gateway_alone() -> None:
    gateway, *workers = pods()
    names = {one["name"] for one in gateway["spec"]["containers"][0]["env"]} - {
        "VOXFLEET_SECRETS_DIR",
        "HOME",
    }
    assert names <= {f"VOXFLEET_{name}".upper() for name in GatewaySettings.model_fields}
    (secret,) = [volume["secret"] for volume in gateway["spec"]["volumes"] if "secret" in volume]
    for item in secret["items"]:
        assert item["key"].removeprefix("voxfleet_") in GatewaySettings.model_fields
    assert not any("secret" in volume for pod in workers for volume in pod["spec"]["volumes"])


def test_the_version_of_ray_is_the_one_that_is_locked() -> None:
    assert f"ray=={cluster()['rayVersion']} " in (ROOT / "locks" / "ray.txt").read_text()
