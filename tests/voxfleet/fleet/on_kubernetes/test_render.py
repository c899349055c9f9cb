"""`voxfleet fleet render`: what a fleet file becomes in a cluster, and what stays when rendered again."""

from __future__ import annotations

import base64
import re
import stat
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.voxfleet.conftest import ROOT
from tests.voxfleet.fleet.on_kubernetes.manifests import (
    CPU,
    GPU,
    Document,
    container,
    named,
    of_kind,
    pods,
    rendered,
    variables,
)
from voxfleet.fleet.file import FleetFile
from voxfleet.fleet.file.kubernetes import KubernetesSection
from voxfleet.fleet.kubernetes import RenderError, render

OPERATORS_KINDS = ("ScaledObject", "ServiceMonitor", "PrometheusRule")
FIELDS = {"metadata.name": "pod", "status.podIP": "10.1.2.3"}
FLEET: dict[str, Any] = {
    "workers": {"gpu": {**GPU, "least": 2, "most": 80}, "cpu": CPU},
    "objective": {"first_audio_seconds": 0.5, "attained": 0.98},
    "training": {"base": "bundled", "at_once": 2},
    "budget": {"most_workers": 10},
    "floors": [
        {"workers": "gpu", "least": 4, "from": "20:00", "until": "08:30", "days": ["mon", "sun"]},
        {"workers": "gpu", "least": 3, "from": "09:00", "until": "17:00", "timezone": "Europe/Berlin"},
    ],
    "kubernetes": {
        "namespace": "speech",
        "image": "registry.example.org:5000/team/voxfleet",
        "gateways": {"least": 3, "most": 9},
        "database": "postgres",
        "expose": "ingress",
        "host": "tts.example.com",
        "keda": True,
        "monitoring": True,
        "drain_seconds": 300,
        "workers": {"gpu": {"gpus": 2, "cpus": 6, "memory_gib": 24}},
    },
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Document]]:
    folder = tmp_path_factory.mktemp("whole") / "manifests"
    return folder, rendered(folder, **FLEET)


def worker(documents: list[Document], kind: str) -> Document:
    return named(documents, "Deployment", f"voxfleet-worker-{kind}")["spec"]["template"]


def test_kubernetes_accepts_what_is_rendered(whole: tuple[Path, list[Document]]) -> None:
    checked = [item for item in whole[1] if item["kind"] not in OPERATORS_KINDS]
    for document in checked:
        kubernetes_validate.validate(document, "1.37", strict=True)
    assert len(checked) > 15


def test_each_kind_of_workers_has_its_model_slots_and_resources(whole: tuple[Path, list[Document]]) -> None:
    gpu, cpu = worker(whole[1], "gpu"), worker(whole[1], "cpu")
    assert variables(gpu, FIELDS)["VOXFLEET_WORKER_MODEL"] == "openbmb/VoxCPM2"
    assert variables(gpu, FIELDS)["VOXFLEET_WORKER_SLOTS"] == "32"
    assert variables(gpu, FIELDS)["VOXFLEET_WORKER_DEVICE"] == "cuda"
    assert container(gpu)["resources"] == {
        "requests": {"cpu": "6000m", "memory": "24576Mi"},
        "limits": {"memory": "49152Mi", "nvidia.com/gpu": "2"},
    }
    assert variables(cpu, FIELDS)["VOXFLEET_WORKER_MODEL"] == "bundled"
    assert variables(cpu, FIELDS)["VOXFLEET_WORKER_DEVICE"] == "cpu"
    assert container(cpu)["resources"] == {
        "requests": {"cpu": "2000m", "memory": "2048Mi"},
        "limits": {"cpu": "2000m", "memory": "4096Mi"},
    }


def test_another_version_is_a_rollout(whole: tuple[Path, list[Document]]) -> None:
    assert worker(whole[1], "cpu")["metadata"]["annotations"] == {"voxfleet/version": "2026-11"}
    assert "annotations" not in worker(whole[1], "gpu")["metadata"]


def test_gateways_promise_what_the_fleet_file_says(whole: tuple[Path, list[Document]]) -> None:
    told = variables(named(whole[1], "Deployment", "voxfleet-gateway")["spec"]["template"], FIELDS)
    assert told["VOXFLEET_OBJECTIVE_FIRST_AUDIO_SECONDS"] == "0.5"
    assert told["VOXFLEET_OBJECTIVE_FIRST_AUDIO_BUDGET"] == "0.02"


def test_gateways_train_what_the_fleet_file_says_and_have_memory_for_it(
    whole: tuple[Path, list[Document]], tmp_path: Path
) -> None:
    gateway = named(whole[1], "Deployment", "voxfleet-gateway")["spec"]["template"]
    told = variables(gateway, FIELDS)
    assert (told["VOXFLEET_TRAINING_BASE"], told["VOXFLEET_TRAININGS_AT_ONCE"]) == ("bundled", "2")
    assert container(gateway)["resources"]["limits"]["memory"] == "10240Mi"
    fleet = FleetFile(**{**FLEET, "training": {"base": "bundled", "device": "cuda"}})
    with pytest.raises(RenderError, match=r"training\.device: the pods of gateways have no GPU"):
        render(fleet, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_start_may_take_three_times_the_loading_time(whole: tuple[Path, list[Document]]) -> None:
    probe = container(worker(whole[1], "gpu"))["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 1200
    assert probe["httpGet"]["path"] == "/ready"


def test_images_come_from_the_repository_that_is_named(whole: tuple[Path, list[Document]]) -> None:
    images = {container(pod)["name"]: container(pod)["image"] for pod in pods(whole[1])}
    assert images["gateway"] == "registry.example.org:5000/team/voxfleet:cpu"
    assert container(worker(whole[1], "gpu"))["image"] == "registry.example.org:5000/team/voxfleet:cuda"
    assert images["postgres"].startswith("postgres:")


def test_everything_is_in_the_namespace(whole: tuple[Path, list[Document]]) -> None:
    spaces = {item["metadata"].get("namespace") for item in whole[1] if item["kind"] != "Namespace"}
    assert spaces == {"speech"}
    assert of_kind(whole[1], "Namespace")[0]["metadata"]["name"] == "speech"


def test_gateways_have_their_bounds_host_and_time_to_end(whole: tuple[Path, list[Document]]) -> None:
    (autoscaler,) = of_kind(whole[1], "HorizontalPodAutoscaler")
    assert (autoscaler["spec"]["minReplicas"], autoscaler["spec"]["maxReplicas"]) == (3, 9)
    pod = named(whole[1], "Deployment", "voxfleet-gateway")["spec"]["template"]
    given = variables(pod, FIELDS)
    assert given["VOXFLEET_ALLOWED_HOSTS"].split(",")[0] == "tts.example.com"
    assert given["VOXFLEET_SHUTDOWN_SECONDS"] == "300"
    (ingress,) = of_kind(whole[1], "Ingress")
    assert [rule["host"] for rule in ingress["spec"]["rules"]] == ["tts.example.com"]
    assert [tls["hosts"] for tls in ingress["spec"]["tls"]] == [["tts.example.com"]]
    for item in (pod, worker(whole[1], "gpu"), worker(whole[1], "cpu")):
        assert item["spec"]["terminationGracePeriodSeconds"] > 300 + 5


def test_keda_gets_bounds_and_floors(whole: tuple[Path, list[Document]]) -> None:
    scaled = named(whole[1], "ScaledObject", "voxfleet-worker-gpu")["spec"]
    assert scaled["scaleTargetRef"]["name"] == "voxfleet-worker-gpu"
    assert (scaled["minReplicaCount"], scaled["maxReplicaCount"]) == (2, 10), "the budget bounds it"
    load, refused, night, day = [trigger["metadata"] for trigger in scaled["triggers"]]
    assert load["threshold"] == "24"
    assert 'worker=~"voxfleet-worker-gpu-.+"' in load["query"]
    assert refused["activationThreshold"] == "0"
    assert (night["start"], night["end"]) == ("0 20 * * mon,sun", "30 8 * * tue,mon")
    assert (night["timezone"], night["desiredReplicas"]) == ("UTC", "4")
    assert (day["start"], day["end"]) == (
        "0 9 * * mon,tue,wed,thu,fri,sat,sun",
        "0 17 * * mon,tue,wed,thu,fri,sat,sun",
    )
    other = named(whole[1], "ScaledObject", "voxfleet-worker-cpu")["spec"]
    assert [trigger["type"] for trigger in other["triggers"]] == ["prometheus", "prometheus"]
    assert other["minReplicaCount"] == 0


@pytest.mark.parametrize(
    ("least", "keda", "told"), [(0, True, "true"), (1, True, "false"), (0, False, "false")]
)
def test_gateways_know_whether_keda_may_leave_no_worker(
    least: int, keda: bool, told: str, tmp_path: Path
) -> None:
    kinds = {"gpu": {**GPU, "least": 0}, "cpu": {**CPU, "least": least}}
    documents = rendered(tmp_path / "manifests", workers=kinds, kubernetes={"keda": keda})
    pod = named(documents, "Deployment", "voxfleet-gateway")["spec"]["template"]
    assert variables(pod, FIELDS)["VOXFLEET_FLEET_MAY_BE_EMPTY"] == told


def test_secrets_are_made_once_for_their_owner_alone(whole: tuple[Path, list[Document]]) -> None:
    folder = whole[0]
    secrets = folder / "secrets"
    files = {path.name: path for path in secrets.iterdir() if path.name != ".gitignore"}
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in files.values()} == {0o600}
    assert (secrets / ".gitignore").read_text() == "*\n"
    kept = {name: path.read_text() for name, path in files.items()}
    assert len(set(kept.values())) == len(kept)
    (secret,) = of_kind(whole[1], "Secret")
    assert {name: base64.b64decode(value).decode() for name, value in secret["data"].items()} == kept
    mounted = {
        item["key"]
        for pod in pods(whole[1])
        for volume in pod["spec"]["volumes"]
        if "secret" in volume
        for item in volume["secret"]["items"]
    }
    assert mounted == set(kept)
    assert kept["postgres_password"] in kept["voxfleet_database_url"]
    again = rendered(folder, **FLEET)
    assert {name: path.read_text() for name, path in files.items()} == kept
    assert again == whole[1]


def test_rendering_again_leaves_nothing_of_a_kind_that_is_gone(tmp_path: Path) -> None:
    rendered(tmp_path, workers={"old": CPU, "new": CPU})
    documents = rendered(tmp_path, workers={"new": CPU})
    names = {item["metadata"]["name"] for item in of_kind(documents, "Deployment")}
    assert names == {"voxfleet-gateway", "voxfleet-worker-new"}


def test_the_shortest_fleet_file_is_one_gateway_and_the_least_workers(tmp_path: Path) -> None:
    documents = rendered(tmp_path, workers={"idle": CPU, "three": {**CPU, "least": 3}})
    deployments = of_kind(documents, "Deployment")
    replicas = {item["metadata"]["name"]: item["spec"]["replicas"] for item in deployments}
    assert replicas == {"voxfleet-gateway": 1, "voxfleet-worker-idle": 1, "voxfleet-worker-three": 3}
    kinds = {item["kind"] for item in documents}
    assert not kinds & {"ScaledObject", "ServiceMonitor", "Ingress", "HTTPRoute", "StatefulSet"}


def test_a_kind_on_cuda_has_one_gpu_unless_another_number_is_given(tmp_path: Path) -> None:
    kinds = {"one": {**GPU, "device": "cuda"}, "none": {**CPU, "device": "auto"}}
    documents = rendered(tmp_path, workers=kinds)
    limits = {kind: container(worker(documents, kind))["resources"]["limits"] for kind in kinds}
    assert limits["one"]["nvidia.com/gpu"] == "1"
    assert "nvidia.com/gpu" not in limits["none"]
    assert container(worker(documents, "one"))["image"] == "voxfleet:cuda"


def test_a_worker_over_several_gpus_asks_for_them_and_is_told(tmp_path: Path) -> None:
    kinds = {"two": {**GPU, "tensor_parallel_size": 2}, "one": {**GPU, "device": "cuda"}}
    pods = {kind: worker(rendered(tmp_path, workers=kinds), kind) for kind in kinds}
    limits = {kind: container(pod)["resources"]["limits"]["nvidia.com/gpu"] for kind, pod in pods.items()}
    assert limits == {"two": "2", "one": "1"}
    told = [variables(pods[kind], FIELDS).get("VOXFLEET_WORKER_TENSOR_PARALLEL_SIZE") for kind in kinds]
    assert told == ["2", None]
    mounts = {kind: [one["mountPath"] for one in container(pods[kind])["volumeMounts"]] for kind in kinds}
    assert ("/dev/shm" in mounts["two"], "/dev/shm" in mounts["one"]) == (True, False)
    assert {"/data", "/tmp"} < set(mounts["two"])
    for document in of_kind(rendered(tmp_path, workers=kinds), "Deployment"):
        kubernetes_validate.validate(document, "1.37", strict=True)


def test_a_gateway_of_the_gateway_api_is_named(tmp_path: Path) -> None:
    section = {"expose": "gateway-api", "host": "tts.example.com", "gateway_api": "edge/shared"}
    (route,) = of_kind(rendered(tmp_path, workers={"cpu": CPU}, kubernetes=section), "HTTPRoute")
    assert route["spec"]["parentRefs"] == [{"namespace": "edge", "name": "shared"}]
    assert route["spec"]["hostnames"] == ["tts.example.com"]


def test_the_documentation_shows_the_defaults() -> None:
    text = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(kubernetes:.*?)```", text, re.DOTALL)
    shown = yaml.safe_load(block)["kubernetes"]
    assert KubernetesSection(**shown) == KubernetesSection()
    assert set(shown) == set(KubernetesSection.model_fields)
