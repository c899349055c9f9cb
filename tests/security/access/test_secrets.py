"""S1: secrets are hard to guess, and who guesses is slowed down and stands in the log."""

from __future__ import annotations

import httpx
import pytest

from gateway.settings import load_settings
from sockets.guesses import SECONDS_PER_TRY, TRIES, Guesses
from tests.gateway.callers.administration import ADMIN
from tests.gateway.stages.fleet import ManualClock
from tests.gateway.stages.processes import StartFleet, check_error
from tests.security.raw import NOWHERE
from tests.worker.harness import WorkerProcess
from worker.settings import SettingsError
from worker.settings import load_settings as load_worker_settings

SECRET = "a-secret-of-both-sides-0123"


@pytest.mark.parametrize(
    "weak", ["a", "password", "fifteen-letters", "aaaaaaaaaaaaaaaaaaaaaaaa", "abababababababab"]
)
def test_a_weak_secret_is_refused_by_name(weak: str) -> None:
    for field in ("admin_token", "worker_secret", "metrics_token", "resume_secret"):
        with pytest.raises(ValueError, match=f"{field}\n.*openssl rand -hex 32"):
            load_settings(worker_urls="http://127.0.0.1:9", **{field: weak})
    with pytest.raises(ValueError, match="api_keys"):
        load_settings(worker_urls="http://127.0.0.1:9", api_keys={"ann": {"key": weak}})
    with pytest.raises(SettingsError, match="openssl"):
        load_worker_settings(secret=weak)


def digest(number: int) -> bytes:
    return number.to_bytes(4, "big")


def test_an_address_has_so_many_tries_and_gets_them_back_one_by_one() -> None:
    clock = ManualClock()
    guesses = Guesses(clock)
    assert not guesses.compared("192.0.2.1", digest(1000), right=True)
    for number in range(TRIES):
        assert guesses.wait_seconds("192.0.2.1", digest(number)) == 0
        assert guesses.compared("192.0.2.1", digest(number), right=False)
    assert guesses.wait_seconds("192.0.2.1", digest(TRIES)) == SECONDS_PER_TRY
    assert guesses.wait_seconds("192.0.2.1", digest(1000)) == 0, "what worked from there goes on to"
    assert guesses.wait_seconds("192.0.2.1", digest(0)) == 0, "and a known wrong one is no guess"
    assert not guesses.compared("192.0.2.1", digest(0), right=False)
    assert guesses.wait_seconds("192.0.2.2", digest(1)) == 0, "others have tries of their own"
    clock.advance(SECONDS_PER_TRY)
    assert guesses.wait_seconds("192.0.2.1", digest(TRIES)) == 0
    assert guesses.compared("192.0.2.1", digest(TRIES), right=False)
    assert guesses.wait_seconds("192.0.2.1", digest(TRIES + 1)) > 0
    clock.advance(1000 * SECONDS_PER_TRY)
    assert sum(guesses.compared("192.0.2.1", digest(n), right=False) for n in range(50, 50 + TRIES)) == TRIES
    assert guesses.wait_seconds("192.0.2.1", digest(99)) > 0, "no more than that are saved up"


def test_addresses_without_end_are_not_remembered() -> None:
    guesses = Guesses(ManualClock())
    for number in range(30_000):
        guesses.compared(f"host-{number}", digest(number), right=False)
    assert len(guesses._blamed) == len(guesses._seen) == 10_000


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("/api/workers", "X-Admin-Token"),
        ("/api/sessions", "X-API-Key"),
        ("/api/registrations", "Authorization"),
    ],
)
def test_guessing_at_a_gateway_is_slowed_down_and_logged(start: StartFleet, path: str, header: str) -> None:
    keys = '{"me": {"key": "a-key-of-the-only-client"}}'
    gateway = start.gateway(NOWHERE, api_keys=keys, worker_secret=SECRET)
    assert httpx.get(f"{gateway.url}/api/workers", headers=ADMIN).status_code == 200
    codes = []
    with httpx.Client(base_url=gateway.url) as http:
        while 429 not in codes and len(codes) < 1000:
            guess = f"guess-{len(codes)}"
            guess = f"Bearer {guess}" if header == "Authorization" else guess
            if path == "/api/registrations":
                response = http.post(path, headers={header: guess}, content=b"{}")
            else:
                response = http.get(path, headers={header: guess})
            codes.append(response.status_code)
    assert codes[:-1] == [401] * (len(codes) - 1)
    assert len(codes) > TRIES
    assert check_error(response, 429)["code"] == "too_many_guesses"
    assert httpx.get(f"{gateway.url}/api/workers", headers=ADMIN).status_code == 200
    gateway.terminate()
    lines = [line for line in gateway.log if "wrong secret" in line]
    assert len(lines) == codes.count(401)
    assert all("127.0.0.1" in line and path in line for line in lines)
    assert "guess-" not in "".join(gateway.log)


def test_a_worker_tells_strangers_its_state_alone_and_does_not_compare_without_end() -> None:
    worker = WorkerProcess(environment={"VOXFLEET_WORKER_SECRET": SECRET})
    try:
        worker.wait_until_ready()
        assert worker.request("GET", "/health").json() == {"state": "IDLE"}
        wrong = {"Authorization": "Bearer a-wrong-secret-of-a-stranger"}
        assert worker.request("GET", "/health", headers=wrong).json() == {"state": "IDLE"}
        for number in range(4 * TRIES):
            headers = {"Authorization": f"Bearer guess-{number}"}
            assert worker.request("POST", "/drain", headers=headers).status_code == 401
        assert worker.health().state == "IDLE", "who has the secret keeps the right to more"
        assert worker.request("GET", "/metrics").status_code == 401
        logged = [line for line in worker.log if "wrong secret" in line]
        assert TRIES <= len(logged) < 4 * TRIES
        assert "guess-" not in "".join(worker.log)
    finally:
        worker.kill()
