"""Real SDKs and plugins against a real gateway.

A case is a function of a script in `tests/clients/scripts/`, which runs in the environment that `install.py`
makes. At the first run that takes a minute, and needs the indexes of Python and npm packages; without them
the cases fail, unless `TEST_CLIENTS=off` says that they are not to be tried.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.clients.install import LIMIT_SECONDS, install
from tests.gateway.audio.files import encoded, speech
from tests.gateway.edge.certificates import make_certificate
from tests.gateway.protocols.wyoming.assistant import port_of
from tests.gateway.stages.processes import started_fleets
from tests.text_models import telling_model

SCRIPTS = Path(__file__).parent / "scripts"
KEY = "a key that is long enough"
CASE = re.compile(r"^ *(?:async |def |async def )(case_\w+)\(", re.MULTILINE)

pytestmark = [
    pytest.mark.skipif(os.environ.get("TEST_CLIENTS") == "off", reason="TEST_CLIENTS=off"),
    pytest.mark.timeout(LIMIT_SECONDS + 300),  # the first test waits until they are installed
]


def cases() -> list[tuple[str, str]]:
    scripts = sorted(path for path in SCRIPTS.iterdir() if path.suffix in (".py", ".mjs"))
    return [
        (path.name, name.removeprefix("case_")) for path in scripts for name in CASE.findall(path.read_text())
    ]


def command(folder: Path, script: str) -> list[str]:
    """JavaScript finds its modules beside itself alone, so its script is run from there."""
    if script.endswith(".py"):
        return [f"{folder}/bin/python", str(SCRIPTS / script)]
    return [f"{folder}/bin/node", shutil.copy(SCRIPTS / script, folder)]


@pytest.fixture(scope="module")
def clients() -> Path:
    """Where they are installed."""
    return install()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Where the clients find gateways: one has a text model, too, one speaks TLS, one Wyoming."""
    folder = tmp_path_factory.mktemp("clients")
    sample = folder / "sample.wav"
    sample.write_bytes(encoded("wav", speech(6.0)))
    certificate, key = make_certificate(folder)
    with started_fleets() as start:
        keys = json.dumps({"alice": {"key": KEY, "priority": "interactive"}})
        settings = {"data_dir": folder / "data", "api_keys": keys, "anonymous": "false"}
        workers = [start.worker(slots=8, step_ms=5)]
        writer = start.worker(model=str(telling_model(folder / "teller")), device="cpu")
        plain = start.gateway([*workers, writer], **settings).wait_until_serving(2)
        secure = start.gateway(workers, **settings, tls_certificate=certificate, tls_key=key)
        open_settings = {"data_dir": folder / "open", "wyoming_port": 0}  # Wyoming knows no keys
        wyoming = start.gateway(workers, **open_settings)
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        yield {
            **kept,
            "URL": plain.url,
            "SECURE_URL": f"https://localhost:{secure.port}",
            "SSL_CERT_FILE": str(certificate),
            "NODE_EXTRA_CA_CERTS": str(certificate),
            "KEY": KEY,
            "SAMPLE": str(sample),
            "WYOMING_PORT": str(port_of(wyoming)),
        }
        for gateway in (plain, secure, wyoming):
            log = "".join(gateway.log)
            assert "Traceback" not in log and "unhandled" not in log, log


@pytest.fixture(scope="module")
def results(clients: Path, environment: dict[str, str]) -> object:
    @cache
    def results_of(script: str) -> dict[str, str | None]:
        line = command(clients, script)
        ran = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout.splitlines()[-1])

    return results_of


@pytest.mark.parametrize(("script", "case"), cases())
def test_a_client_of_others_works(results: object, script: str, case: str) -> None:
    problem = results(script)[case]
    assert problem is None, problem
