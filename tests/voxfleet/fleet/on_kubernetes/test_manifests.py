"""The manifests in deploy/kubernetes: kubectl renders them, Kubernetes' schemas accept them, and they agree
with each other, with the settings and with the Dockerfile.

kubernetes-validate has the schemas of Kubernetes itself. Of ScaledObject, ServiceMonitor, PrometheusRule and
HTTPRoute, which operators bring, only what they refer to is checked here.
"""

from __future__ import annotations

import json
import re
from typing import Any

import kubernetes_validate
import pytest
import typer
import yaml
from dockerfile_parse import DockerfileParser

from gateway.settings import GatewaySettings
from tests.voxfleet.conftest import ROOT
from tests.voxfleet.fleet.on_kubernetes.manifests import (
    DEPLOY,
    FIELDS,
    OVERLAYS,
    Document,
    container,
    everything,
    named,
    of_kind,
    overlay,
    pods,
    selects,
    variables,
)
from voxfleet.cli import app
from worker.settings import WorkerSettings

KUBERNETES_VERSIONS = ("1.29", "1.31", "1.33", "1.35", "1.37")
OPERATORS_KINDS = {"ScaledObject", "ServiceMonitor", "PrometheusRule", "HTTPRoute"}
COMMANDS = typer.main.get_command(app).commands
SETTINGS = {
    "gateway": {f"VOXFLEET_{name}".upper() for name in GatewaySettings.model_fields},
    "worker": {f"VOXFLEET_WORKER_{name}".upper() for name in WorkerSettings.model_fields},
}


def ours() -> list[tuple[str, Document]]:
    """Gateways and workers, with their pods."""
    return [(container(pod)["name"], pod) for pod in pods(everything()) if container(pod)["name"] in SETTINGS]


def seconds_of(command: list[str]) -> float:
    """How long a preStop command takes at most."""
    return float(command[-1])


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_the_schemas_of_kubernetes_accept_every_object(version: str) -> None:
    seen = {json.dumps(document, sort_keys=True) for document in everything()}
    for text in seen:
        document = json.loads(text)
        if document["kind"] not in OPERATORS_KINDS:
            assert kubernetes_validate.validate(document, version, strict=True) == version


def test_the_schemas_would_refuse_a_field_that_there_is_not() -> None:
    wrong = json.loads(json.dumps(named(overlay("cpu"), "Deployment", "voxfleet-gateway")))
    container(wrong["spec"]["template"])["readynessProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, KUBERNETES_VERSIONS[-1], strict=True)


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_has_a_gateway_workers_and_all_in_one_namespace(name: str) -> None:
    documents = overlay(name)
    components = [pod["metadata"]["labels"]["app.kubernetes.io/component"] for pod in pods(documents)]
    assert {"gateway", "worker"} <= set(components)
    namespaces = {document["metadata"].get("namespace") for document in documents}
    (namespace,) = of_kind(documents, "Namespace")
    assert namespaces == {namespace["metadata"]["name"], None}


def test_every_component_is_part_of_what_is_checked() -> None:
    used = {
        reference.rsplit("/", 1)[-1]
        for path in DEPLOY.rglob("kustomization.yaml")
        for reference in yaml.safe_load(path.read_text()).get("components", [])
    }
    assert used == {path.name for path in (DEPLOY / "components").iterdir()}


def test_every_pod_meets_the_restricted_standard_with_a_read_only_root() -> None:
    """S19: pods run without privileges, on a read-only disk."""
    for pod in pods(everything()):
        spec, only = pod["spec"], container(pod)
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert only["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert spec["automountServiceAccountToken"] is False
        assert "memory" in only["resources"]["limits"]


def test_no_pod_gets_variables_of_services_that_look_like_settings() -> None:
    """A Service called `voxfleet` would set VOXFLEET_PORT=tcp://..."""
    assert all(pod["spec"]["enableServiceLinks"] is False for pod in pods(everything()))


def test_every_variable_is_a_setting_and_no_secret() -> None:
    for name, pod in ours():
        given = set(variables(pod, FIELDS)) - {"POD_IP", "VOXFLEET_SECRETS_DIR"}
        assert given <= SETTINGS[name]
        assert not {variable for variable in given if re.search("SECRET|TOKEN|DATABASE_URL|KEY", variable)}


def test_the_settings_are_valid_together() -> None:
    for name, pod in ours():
        model, prefix = (
            (WorkerSettings, "VOXFLEET_WORKER_") if name == "worker" else (GatewaySettings, "VOXFLEET_")
        )
        values: dict[str, Any] = {
            variable.removeprefix(prefix).lower(): value
            for variable, value in variables(pod, FIELDS).items()
            if variable not in ("POD_IP", "VOXFLEET_SECRETS_DIR")
        }
        key = "secret" if name == "worker" else "worker_secret"
        model(**values, **{key: "0123456789-a-secret"})


def test_files_of_secrets_are_called_like_settings_and_workers_get_theirs_alone() -> None:
    for name, pod in ours():
        (secret,) = [volume["secret"] for volume in pod["spec"]["volumes"] if "secret" in volume]
        files = {item["path"] for item in secret["items"]}
        assert {file.upper() for file in files} <= SETTINGS["gateway"] | SETTINGS["worker"]
        if name == "worker":
            assert files == {"voxfleet_worker_secret"}
        (mount,) = [item for item in container(pod)["volumeMounts"] if item["name"] == "secrets"]
        assert mount["mountPath"] == variables(pod, FIELDS)["VOXFLEET_SECRETS_DIR"]
        assert mount["readOnly"] is True
        assert secret["defaultMode"] & 0o007 == 0


def test_the_image_has_the_user_the_paths_and_the_entry_point() -> None:
    parsed = DockerfileParser(path=str(ROOT / "Dockerfile"))
    text = parsed.content
    (uid,) = re.findall(r"useradd --system --uid (\d+)", text)
    assert json.loads(re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)[-1]) == ["voxfleet"]
    for _, pod in ours():
        assert pod["spec"]["securityContext"]["runAsUser"] == int(uid)
        assert "command" not in container(pod), "the entry point is the image's"
        mounts = {mount["mountPath"] for mount in container(pod)["volumeMounts"]}
        for variable in ("VOXFLEET_DATA_DIR", "HF_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"):
            assert any(parsed.envs[variable].startswith(mount) for mount in mounts), variable
        assert "/tmp" in mounts


def test_every_command_and_its_options_exist() -> None:
    for _, pod in ours():
        name, *options = container(pod)["args"]
        COMMANDS[name].make_context(name, options)
        program, *arguments = container(pod)["lifecycle"]["preStop"]["exec"]["command"]
        if program == "voxfleet":
            COMMANDS[arguments[0]].make_context(arguments[0], arguments[1:])


def test_a_pod_has_time_for_pre_stop_and_for_what_runs() -> None:
    for name, pod in ours():
        setting = "VOXFLEET_WORKER_SHUTDOWN_SECONDS" if name == "worker" else "VOXFLEET_SHUTDOWN_SECONDS"
        taken = seconds_of(container(pod)["lifecycle"]["preStop"]["exec"]["command"])
        taken += float(variables(pod, FIELDS)[setting])
        assert taken + 5 <= pod["spec"]["terminationGracePeriodSeconds"], name
        assert taken >= 60, f"{name}: too short for a clip"


def test_probes_ask_the_port_that_is_listened_on() -> None:
    for name, pod in ours():
        (port,) = container(pod)["ports"]
        assert str(port["containerPort"]) in [*container(pod)["args"], *variables(pod, FIELDS).values()], name
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert container(pod)[probe]["httpGet"]["port"] == port["name"]


def test_a_worker_has_ten_minutes_to_load() -> None:
    probes = [container(pod)["startupProbe"] for name, pod in ours() if name == "worker"]
    assert all(probe["periodSeconds"] * probe["failureThreshold"] >= 600 for probe in probes)
    assert all(probe["httpGet"]["path"] == "/ready" for probe in probes)


def test_workers_on_gpus_ask_for_one_and_for_the_cuda_image() -> None:
    (pod,) = [pod for pod in pods(overlay("nvidia")) if container(pod)["name"] == "worker"]
    assert container(pod)["resources"]["limits"].keys() == {"nvidia.com/gpu", "memory"}
    assert container(pod)["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert container(pod)["image"].endswith(":cuda")
    assert variables(pod, FIELDS)["VOXFLEET_WORKER_DEVICE"] == "cuda"


def test_several_gateways_share_what_they_have_and_are_kept_apart() -> None:
    documents = overlay("fleet")
    gateway = named(documents, "Deployment", "voxfleet-gateway")["spec"]
    assert "replicas" not in gateway, "the autoscaler decides"
    pod = gateway["template"]
    topologies = {rule["topologyKey"] for rule in pod["spec"]["topologySpreadConstraints"]}
    assert topologies == {"topology.kubernetes.io/zone", "kubernetes.io/hostname"}
    for rule in pod["spec"]["topologySpreadConstraints"]:
        assert selects(rule["labelSelector"], pod["metadata"]["labels"])
    (secret,) = [volume["secret"] for volume in pod["spec"]["volumes"] if "secret" in volume]
    shared = {item["path"] for item in secret["items"]}
    assert {"voxfleet_database_url", "voxfleet_resume_secret", "voxfleet_admin_token"} <= shared
    (claim,) = of_kind(documents, "PersistentVolumeClaim")
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    autoscaler = named(documents, "HorizontalPodAutoscaler", "voxfleet-gateway")["spec"]
    assert autoscaler["scaleTargetRef"]["name"] == "voxfleet-gateway"
    assert autoscaler["minReplicas"] >= 2
    budgets = of_kind(documents, "PodDisruptionBudget")
    for workload in of_kind(documents, "Deployment"):
        labels = workload["spec"]["template"]["metadata"]["labels"]
        assert sum(selects(budget["spec"]["selector"], labels) for budget in budgets) == 1


def test_keda_scales_a_deployment_that_there_is() -> None:
    """That there are the metrics which it asks for: test_processes.py."""
    (scaled,) = of_kind(overlay("fleet"), "ScaledObject")
    target = named(overlay("fleet"), "Deployment", scaled["spec"]["scaleTargetRef"]["name"])
    assert "replicas" not in target["spec"], "KEDA decides"
