"""S3, S25: gateway and workers listen on loopback unless told otherwise, on one port each."""

from __future__ import annotations

import re
from pathlib import Path

import psutil
import pytest
from pydantic import ValidationError

from gateway.settings import GatewaySettings
from tests.gateway.stages.processes import StartFleet
from voxfleet.settings import ServeSettings
from worker.settings import WorkerSettings

LOCKS = Path(__file__).resolve().parents[3] / "locks"


@pytest.mark.parametrize("settings", [GatewaySettings, ServeSettings, WorkerSettings])
def test_loopback_is_the_default(settings: type) -> None:
    assert settings().host == "127.0.0.1"


def test_a_worker_for_other_machines_needs_a_secret() -> None:
    for host in ("0.0.0.0", "::", "10.0.0.1"):
        with pytest.raises(ValidationError, match="needs a secret"):
            WorkerSettings(host=host)
        assert WorkerSettings(host=host, secret="a-secret-of-both-sides").host == host


def test_a_fleet_has_one_open_port_for_each_process(start: StartFleet) -> None:
    gateway, workers = start(2)
    for process in (gateway, *workers):
        ours = [psutil.Process(process.process.pid), *psutil.Process(process.process.pid).children(True)]
        open_ports = [
            connection.laddr
            for each in ours
            for connection in each.net_connections()
            if connection.status == psutil.CONN_LISTEN
        ]
        assert [(port.ip, port.port) for port in open_ports] == [("127.0.0.1", process.port)]


def test_nothing_is_installed_that_listens_or_unpickles_beside_them() -> None:
    """Brokers and cluster managers have ports of their own, and defects that came with them.

    Ray comes with its extra alone, for those who have such a cluster, and for our tests.
    """
    locked = {
        name.lower()
        for file in LOCKS.glob("*.txt")
        if file.stem not in ("ray", "test")
        for name in re.findall(r"^([A-Za-z0-9_.-]+)==", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {"fastapi", "uvicorn"} <= locked
    assert not locked & {"ray", "nats-py", "redis", "celery", "dask", "distributed", "pyzmq", "cloudpickle"}
