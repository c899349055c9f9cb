"""Workers that dial in: who is let in, what a registration is worth, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from prometheus_client import generate_latest

import gateway.workers.registration as registration_module
from gateway.app import create_app
from gateway.errors import ApiError
from gateway.requests import TtsRequest
from gateway.service import Gateway
from gateway.settings import load_settings
from gateway.slots.capacity.worker import Health
from gateway.synthesis.synthesis import Synthesis
from tests.gateway.stages.fleet import status
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import CLIP, PATIENT, SEED, TEXT, Ear
from tests.gateway.workers.health import until_health
from worker.protocol import REGISTRATION_PATH, Registration

SECRET = "a secret of both sides"


def registration(url: str = "http://127.0.0.1:9", *, leaving: bool = False, **said: object) -> Registration:
    return Registration(url=url, status=status(**said), leaving=leaving)


def registration_of(id: str, port: int) -> Registration:
    """Of a process with this id at a port where nothing answers."""
    hello = registration(f"http://127.0.0.1:{port}", boot_id=f"{id}-at-{port}")
    return hello.model_copy(update={"status": hello.status.model_copy(update={"worker_id": id})})


@asynccontextmanager
async def empty_gateway(**options: object) -> AsyncIterator[Gateway]:
    """A running gateway without a static list."""
    gateway = Gateway(load_settings(**{**PATIENT, "worker_secret": SECRET, **options}))
    async with gateway.running():
        yield gateway


async def until_forgotten(gateway: Gateway) -> None:
    """Until it knows no worker."""
    await until_known(gateway, set())


async def until_known(gateway: Gateway, ids: set[str]) -> None:
    """Until it knows these workers alone."""
    changed = asyncio.Event()
    gateway.pool.on_change.append(changed.set)
    async with asyncio.timeout(60):
        while set(gateway.pool.workers) != ids:
            await changed.wait()
            changed.clear()


def boot_of(worker: ScriptedWorker) -> str:
    return f"boot-{id(worker)}"


async def test_a_worker_that_dials_in_serves_and_is_gone_as_soon_as_it_leaves() -> None:
    async with ScriptedWorker([Act()]).running() as scripted, empty_gateway() as gateway:
        hello = registration(scripted.url, boot_id=boot_of(scripted))
        lease = gateway.registry.register(hello)
        worker = gateway.pool.workers[lease.worker_id]
        assert lease.worker_id == hello.status.worker_id
        await until_health(worker, gateway, Health.UP)
        await Synthesis(gateway, TtsRequest(text=TEXT, seed=SEED), "r1", ear := Ear()).run()
        assert ear.pcm == CLIP
        gateway.registry.register(hello.model_copy(update={"leaving": True}))
        assert worker.state == "DOWN"
        with pytest.raises(ApiError) as refused:
            await Synthesis(gateway, TtsRequest(text=TEXT), "r2", Ear()).run()
        assert refused.value.status_code == 503


async def test_an_address_that_answers_no_probe_is_never_routed_to() -> None:
    async with empty_gateway() as gateway:
        lease = gateway.registry.register(registration("http://127.0.0.1:9"))
        worker = gateway.pool.workers[lease.worker_id]
        await until_health(worker, gateway, Health.DOWN)
        gateway.registry.register(registration("http://127.0.0.1:9"))
        assert not worker.serving


async def test_a_registration_runs_out_and_a_later_one_brings_the_worker_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registration_module, "REGISTRATION_LEASE_SECONDS", 0.2)
    async with ScriptedWorker([Act()]).running() as scripted, empty_gateway() as gateway:
        hello = registration(scripted.url, boot_id=boot_of(scripted))
        worker = gateway.pool.workers[gateway.registry.register(hello).worker_id]
        await until_health(worker, gateway, Health.UP)
        await until_health(worker, gateway, Health.DOWN)
        assert worker.last_failure == "its registration ran out"
        gateway.registry.register(hello)
        await until_health(worker, gateway, Health.UP)


async def test_a_worker_that_is_gone_for_long_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration_module, "FORGET_SECONDS", 0.05)
    async with empty_gateway() as gateway:
        gateway.registry.register(registration())
        gateway.registry.register(registration(leaving=True))
        await until_forgotten(gateway)
        assert not gateway.clients


async def test_a_worker_that_fell_silent_is_told_of_until_it_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Alerts of workers that are down wait for minutes."""
    monkeypatch.setattr(registration_module, "REGISTRATION_LEASE_SECONDS", 0.05)
    monkeypatch.setattr(registration_module, "FORGET_SECONDS", 0.05)
    async with empty_gateway() as gateway:
        registry, workers = gateway.registry, gateway.pool.workers
        lost = workers[registry.register(registration_of("lost", 9)).worker_id]
        await until_health(lost, gateway, Health.DOWN)
        registry.register(elsewhere := registration_of("left", 10))
        registry.register(elsewhere.model_copy(update={"leaving": True}))
        await until_known(gateway, {"lost"})
        assert 'voxfleet_worker_up{worker="lost"} 0.0' in generate_latest(gateway.metrics.registry).decode()
        registry.register(registration_of("lost", 11))
        assert set(workers) == {"lost"} and workers["lost"] is not lost, "it came back elsewhere"


async def test_a_worker_that_fell_silent_is_forgotten_when_another_has_its_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registration_module, "REGISTRATION_LEASE_SECONDS", 0.2)
    async with ScriptedWorker([Act()]).running() as scripted, empty_gateway() as gateway:
        hello = registration(scripted.url, boot_id=boot_of(scripted))
        former = gateway.pool.workers[gateway.registry.register(hello).worker_id]
        await until_health(former, gateway, Health.UP)
        await until_health(former, gateway, Health.DOWN)
        gateway.registry.register(registration_of("another", int(scripted.url.rpartition(":")[2])))
        assert set(gateway.pool.workers) == {"another"}


async def test_workers_that_fell_silent_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration_module, "REGISTRATION_LEASE_SECONDS", 0.05)
    monkeypatch.setattr(registration_module, "MAX_REGISTERED", 1)
    async with empty_gateway() as gateway:
        first = gateway.pool.workers[gateway.registry.register(registration_of("first", 9)).worker_id]
        other = registration_of("second", 10)
        with pytest.raises(ApiError, match="1 workers have dialled in"):
            gateway.registry.register(other)
        await until_health(first, gateway, Health.DOWN)
        gateway.registry.register(other)
        assert set(gateway.pool.workers) == {"second"}


async def test_one_that_left_makes_room_before_one_that_fell_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators may not have heard of the silent one yet."""
    monkeypatch.setattr(registration_module, "REGISTRATION_LEASE_SECONDS", 0.05)
    monkeypatch.setattr(registration_module, "MAX_REGISTERED", 2)
    async with empty_gateway() as gateway:
        silent = gateway.pool.workers[gateway.registry.register(registration_of("silent", 9)).worker_id]
        await until_health(silent, gateway, Health.DOWN)
        leaving = registration_of("left", 10)
        for said in (leaving, leaving.model_copy(update={"leaving": True}), registration_of("third", 11)):
            gateway.registry.register(said)
        assert set(gateway.pool.workers) == {"silent", "third"}


async def test_a_goodbye_of_a_worker_that_nobody_knows_makes_none_known() -> None:
    """As after a restart of the gateway, in the last second of the worker."""
    async with empty_gateway() as gateway:
        gateway.registry.register(registration(leaving=True))
        assert not gateway.pool.workers
        with pytest.raises(ApiError) as refused:
            await Synthesis(gateway, TtsRequest(text=TEXT), "r1", Ear()).run()
        assert refused.value.code == "no_worker"


async def test_two_workers_of_one_name_are_two_and_a_moved_one_keeps_its_name() -> None:
    async with empty_gateway() as gateway:
        first = gateway.registry.register(registration("http://a:1", boot_id="one"))
        second = gateway.registry.register(registration("http://b:1", boot_id="two"))
        assert first.worker_id == "worker" != second.worker_id
        gateway.registry.register(registration("http://a:1", boot_id="one", leaving=True))
        moved = gateway.registry.register(registration("http://c:1", boot_id="three"))
        assert moved.worker_id == "worker"
        assert {worker.url for worker in gateway.pool.workers.values()} == {"http://b:1", "http://c:1"}


async def test_a_worker_of_the_static_list_that_dials_in_stays_one_worker() -> None:
    async with ScriptedWorker([Act()]).running() as scripted:
        async with empty_gateway(worker_urls=scripted.url) as gateway:
            worker = gateway.pool.workers["w0"]
            await until_health(worker, gateway, Health.UP)
            by_another_address = registration("http://localhost:1", boot_id=boot_of(scripted))
            for said in (registration(scripted.url), by_another_address):
                assert gateway.registry.register(said).worker_id == "w0"
            assert list(gateway.pool.workers) == ["w0"]


@pytest.mark.parametrize(
    ("secret", "sent", "peer", "url", "expected"),
    [
        (SECRET, SECRET, "10.0.0.9", "http://10.0.0.9:1", 200),
        (SECRET, "wrong", "127.0.0.1", "http://127.0.0.1:1", 401),
        (SECRET, None, "127.0.0.1", "http://127.0.0.1:1", 401),
        (None, None, "127.0.0.1", "http://127.0.0.1:1", 200),
        (None, None, "10.0.0.9", "http://127.0.0.1:1", 403),
        (None, None, "127.0.0.1", "http://10.0.0.9:1", 403),
        (SECRET, SECRET, "127.0.0.1", "ftp://127.0.0.1:1", 422),
        (SECRET, SECRET, "127.0.0.1", "http://127.0.0.1:1/path", 422),
        (SECRET, SECRET, "127.0.0.1", "http://127.0.0.1:99999", 422),
    ],
)
async def test_who_may_dial_in(
    secret: str | None, sent: str | None, peer: str, url: str, expected: int
) -> None:
    app = create_app(load_settings(worker_urls="http://127.0.0.1:9", worker_secret=secret))
    body = registration().model_dump(mode="json") | {"url": url}
    headers = {"Authorization": f"Bearer {sent}"} if sent else {}
    transport = httpx.ASGITransport(app, client=(peer, 50000))
    async with app.router.lifespan_context(app):
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8006") as client:
            response = await client.post(REGISTRATION_PATH, json=body, headers=headers)
    assert response.status_code == expected, response.text
    if expected != 200:
        assert set(response.json()["error"]) == {"message", "type", "param", "code"}


async def test_metrics_know_a_worker_for_as_long_as_the_gateway_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration_module, "FORGET_SECONDS", 0.05)
    async with ScriptedWorker([Act(1, "cut"), Act()]).running() as scripted, empty_gateway() as gateway:
        hello = registration(scripted.url, boot_id=boot_of(scripted))
        worker = gateway.pool.workers[gateway.registry.register(hello).worker_id]
        await until_health(worker, gateway, Health.UP)
        await Synthesis(gateway, TtsRequest(text=TEXT, seed=SEED), "r1", Ear()).run()
        failure = f'voxfleet_worker_failures_total{{reason="closed",worker="{worker.id}"}} 1.0'
        assert failure in generate_latest(gateway.metrics.registry).decode()
        gateway.registry.register(hello.model_copy(update={"leaving": True}))
        await until_forgotten(gateway)
        assert f'worker="{worker.id}"' not in generate_latest(gateway.metrics.registry).decode()
