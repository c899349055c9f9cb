"""What the pods run, as processes: commands, environment, probes, preStop and SIGTERM as the manifests say.

Different from a cluster are the addresses (this machine, free ports), and where the folders of a pod lie.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from dockerfile_parse import DockerfileParser
from websockets.asyncio.client import connect

from tests import forks
from tests.forks import PATIENCE_SECONDS, search_path
from tests.gateway.stages.processes import LONG_TEXT, Stream, pcm_of
from tests.voxfleet.conftest import ROOT, wait_until
from tests.voxfleet.fleet.on_kubernetes.manifests import (
    Document,
    container,
    named,
    of_kind,
    rendered,
    variables,
)
from voxfleet.processes.ports import any_free

FLEET = {
    "workers": {"tones": {"model": "synthetic", "slots": 2, "audio_seconds_per_second": 4}},
    "kubernetes": {"keda": True, "monitoring": True},
}


class Pod:
    """One pod of a Deployment: its folders below `folder`, its container as a process."""

    def __init__(self, template: Document, name: str, folder: Path, ports: dict[str, int]) -> None:
        """`ports`: where on this machine the ports of the manifests are."""
        self.container = container(template)
        self._ports, self._folders = ports, {}
        volumes = {volume["name"]: volume for volume in template["spec"]["volumes"]}
        for mount in self.container["volumeMounts"]:
            inside = folder / mount["name"]
            inside.mkdir(parents=True, exist_ok=True)
            self._folders[mount["mountPath"]] = inside
            if secret := volumes[mount["name"]].get("secret"):
                for item in secret["items"]:
                    source = folder.parent / "manifests" / "secrets" / item["key"]
                    (inside / item["path"]).write_bytes(source.read_bytes())
        fields = {"metadata.name": name, "status.podIP": "127.0.0.1"}
        image = DockerfileParser(path=str(ROOT / "Dockerfile")).envs
        of_image = {key: value for key, value in image.items() if value.startswith("/data")}
        given = {**of_image, **variables(template, fields)}
        self.environment = {
            **{key: self._here(value) for key, value in given.items()},
            **{key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ},
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": search_path(),
        }
        self.log = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = self.start(self.container["args"])

    def _here(self, value: str) -> str:
        """A value of the manifest with this machine's ports, addresses and folders."""
        value = value.replace("voxfleet-gateways:", "127.0.0.1:")
        for port, here in self._ports.items():
            value = re.sub(rf"\b{port}\b", str(here), value)
        for path, folder in self._folders.items():
            value = re.sub(rf"^{path}(?=/|$)", str(folder), value)
        return value

    def start(self, arguments: list[str]) -> forks.Process:
        """`voxfleet ARGUMENTS`, the entry point of the image."""
        return forks.start("voxfleet", [self._here(word) for word in arguments], self.environment, self.log)

    @property
    def url(self) -> str:
        (port,) = self.container["ports"]
        return f"http://127.0.0.1:{self._ports[str(port['containerPort'])]}"

    def probe(self, name: str) -> bool:
        """As the kubelet asks once."""
        probe = self.container[name]
        try:
            answer = httpx.get(self.url + probe["httpGet"]["path"], timeout=PATIENCE_SECONDS, trust_env=False)
        except httpx.TransportError:
            return False
        return 200 <= answer.status_code < 400

    def wait_for(self, probe: str) -> None:
        wait_until(lambda: self.probe(probe), f"{probe} succeeds; the log is:\n{self.read_log()}")

    def pre_stop(self) -> int:
        """Run it as the kubelet does before SIGTERM; its exit status."""
        program, *arguments = self.container["lifecycle"]["preStop"]["exec"]["command"]
        if program == "voxfleet":
            return self.start(arguments).wait(2 * PATIENCE_SECONDS)
        return subprocess.run([program, *arguments], check=False, env=self.environment).returncode

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(2 * PATIENCE_SECONDS)

    def read_log(self) -> str:
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def close(self) -> None:
        forks.end(self.process)
        self.log.close()


class Cluster:
    """The rendered manifests, and pods of them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.documents = rendered(folder / "manifests", **FLEET)
        self._folder, self._stack = folder, stack
        self._gateway_port = any_free("127.0.0.1")

    def pod(self, deployment: str) -> Pod:
        template = named(self.documents, "Deployment", deployment)["spec"]["template"]
        ports = {"8006": self._gateway_port, "22400": any_free("127.0.0.1")}
        pod = Pod(template, f"{deployment}-7d4f9-x2x7q", self._folder / deployment, ports)
        self._stack.callback(pod.close)
        return pod

    def secret(self, name: str) -> str:
        return (self._folder / "manifests" / "secrets" / name).read_text()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(tmp_path_factory.mktemp("cluster"), stack)


def in_thread(call: Callable[[], int]) -> tuple[threading.Thread, list[int]]:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    return thread, found


@pytest.mark.timeout(600)
async def test_pods_come_up_speak_and_end_without_cutting_a_clip(cluster: Cluster) -> None:
    gateway = cluster.pod("voxfleet-gateway")
    await asyncio.to_thread(gateway.wait_for, "startupProbe")
    async with httpx.AsyncClient(base_url=gateway.url, timeout=PATIENCE_SECONDS, trust_env=False) as http:
        refused = await http.post("/tts", json={"text": "Hello."})
    assert refused.json()["error"]["code"] == "no_worker"
    assert gateway.probe("readinessProbe"), "without a worker it says so itself"

    worker = cluster.pod("voxfleet-worker-tones")
    await asyncio.to_thread(worker.wait_for, "startupProbe")
    assert worker.probe("readinessProbe")
    assert worker.probe("livenessProbe")
    await asyncio.to_thread(wait_until, lambda: answers(gateway, "/ready"), "the worker has dialled in")

    check_metrics(cluster, gateway)
    await empty(worker, gateway)
    another = cluster.pod("voxfleet-worker-tones")
    await asyncio.to_thread(another.wait_for, "startupProbe")
    await asyncio.to_thread(wait_until, lambda: answers(gateway, "/ready"), "another has dialled in")
    await end(gateway)
    assert another.pre_stop() == 0
    assert another.terminate() == 0


def answers(pod: Pod, path: str) -> bool:
    return httpx.get(pod.url + path, timeout=PATIENCE_SECONDS, trust_env=False).status_code == 200


def check_metrics(cluster: Cluster, gateway: Pod) -> None:
    """What Prometheus is told to show opens them, and what KEDA asks for is there."""
    (monitor,) = of_kind(cluster.documents, "ServiceMonitor")
    (endpoint,) = monitor["spec"]["endpoints"]
    token = cluster.secret(endpoint["authorization"]["credentials"]["key"])
    url = gateway.url + endpoint["path"]
    assert httpx.get(url, timeout=PATIENCE_SECONDS, trust_env=False).status_code == 401
    shown = httpx.get(
        url, timeout=PATIENCE_SECONDS, trust_env=False, headers={"Authorization": f"Bearer {token}"}
    )
    samples = [line for line in shown.text.splitlines() if not line.startswith("#")]
    (scaled,) = of_kind(cluster.documents, "ScaledObject")
    queries = [item["metadata"]["query"] for item in scaled["spec"]["triggers"]]
    selectors = [found for query in queries for found in re.findall(r"(voxfleet_\w+)(?:\{(.*?)\})?", query)]
    assert len(selectors) == 3
    for name, matcher in selectors:
        label, value = re.fullmatch(r'(\w+)=~?"(.*)"', matcher).groups() if matcher else ("", "")
        wanted = rf'{name}(\{{.*\b{label}="{value}".*\}})? ' if matcher else rf"{name} "
        assert any(re.match(wanted, sample) for sample in samples), (name, matcher)


async def empty(worker: Pod, gateway: Pod) -> None:
    """preStop waits for the clip that runs, and SIGTERM finds nothing open."""
    async with connect(socket_url(gateway), proxy=None, max_size=None) as socket:
        stream = Stream(socket)
        await socket.send(request(seed=5))
        await stream.receive_audio()
        thread, status = in_thread(worker.pre_stop)
        await asyncio.to_thread(wait_until, lambda: not worker.probe("readinessProbe"), "the worker drains")
        assert worker.probe("livenessProbe")
        assert await stream.receive_rest() == 1000
    await asyncio.to_thread(thread.join, 2 * PATIENCE_SECONDS)
    assert status == [0]
    assert stream.pcm == pcm_of(LONG_TEXT, 5)
    assert stream.messages[-1]["migrations"] == 0
    assert worker.terminate() == 0


async def end(gateway: Pod) -> None:
    """A gateway serves while preStop runs, and lets the last clip finish after SIGTERM."""
    assert await asyncio.to_thread(gateway.pre_stop) == 0
    async with connect(socket_url(gateway), proxy=None, max_size=None) as socket:
        stream = Stream(socket)
        await socket.send(request(seed=6))
        await stream.receive_audio()
        thread, status = in_thread(gateway.terminate)
        assert await stream.receive_rest() in (1000, 1012)
    await asyncio.to_thread(thread.join, 2 * PATIENCE_SECONDS)
    assert status == [0]
    assert stream.pcm == pcm_of(LONG_TEXT, 6)


def socket_url(gateway: Pod) -> str:
    return gateway.url.replace("http:", "ws:") + "/ws/tts"


def request(seed: int) -> str:
    return f'{{"text": "{LONG_TEXT}", "seed": {seed}}}'
