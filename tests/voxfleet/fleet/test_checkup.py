"""`voxfleet doctor --fleet`: what is wrong is found, and a bundle holds nobody's secrets."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.operations.fleet_messages import FleetReport, KindReport
from gateway.settings import GatewaySettings
from gateway.slots.capacity.worker import LEFT
from telemetry.build import VERSION, build
from tests.e2e.processes import gateway, worker
from tests.gateway.callers.administration import ADMIN_TOKEN
from voxfleet.commands.doctor import Verdict
from voxfleet.fleet.checkup import PATHS, Look, judge, look
from voxfleet.fleet.desk import DeskError
from voxfleet.fleet.support import Veil, write_bundle

TEXT = "Nobody else reads this sentence."
KEY = "shop-secret-0123456789"


def told(**changes: Any) -> Look:
    """A service in which all is well, but for `changes` of its worker or its answers."""
    well = {
        "id": "w0", "build": build(), "health": "up", "state": "IDLE", "slots_total": 2, "slots_used": 0,
        "rtf_p50": 0.3, "model_info": {"name": "m", "revision": "1"}, "error": None, "last_failure": None,
    }  # fmt: skip
    seen = Look("http://gateway")
    storage = {"free_bytes": changes.pop("free_bytes", 100 << 30), "limits": {"min_free_disk_gb": 1.0}}
    seen.clock_ahead_seconds = changes.pop("clock", 0.0)
    seen.answers = {
        "version": {"version": VERSION, "build": changes.pop("version", build())},
        "queue": {"queue": changes.pop("queue", []), "running": []},
        "storage": storage,
        "fleet": {"fleet": changes.pop("fleet", None)},
        "log": {"events": []},
        "workers": {
            "gateways": changes.pop("gateways", [{"build": build(), "gateways": 2}]),
            "workers": [{**well, **changes}, *changes.pop("others", [])],
        },
    }
    return seen


def fleet_of(**kind: Any) -> dict[str, Any]:
    """What the controller reports."""
    told = KindReport(**{"kind": "gpu", "model": "m", "least": 1, "most": 2, **kind})
    return FleetReport(place="local", objective_seconds=1.0, kinds=[told]).model_dump(mode="json")


@pytest.mark.parametrize(
    ("changes", "subject", "verdict"),
    [
        ({"state": "ERROR", "error": "out of memory"}, "Workers", Verdict.FAIL),
        ({"state": "ERROR", "error": "out of memory"}, "Worker w0", Verdict.WARN),
        ({"state": "LOADING"}, "Workers", Verdict.WARN),
        ({"health": "down", "last_failure": "unreachable"}, "Worker w0", Verdict.WARN),
        ({"rtf_p50": 1.4}, "Worker w0", Verdict.WARN),
        ({"queue": [{}], "slots_used": 2}, "Slots", Verdict.WARN),
        ({"free_bytes": 1 << 30}, "Disk", Verdict.WARN),
        ({"clock": -40.0}, "Clock", Verdict.WARN),
        ({"version": "0.0.1"}, "Gateway", Verdict.WARN),
        ({"build": "0.1.0+0123456"}, "Builds", Verdict.WARN),
        ({"build": ""}, "Builds", Verdict.WARN),
        (
            {"gateways": [{"build": build(), "gateways": 2}, {"build": "", "gateways": 1}]},
            "Builds of gateways",
            Verdict.WARN,
        ),
        ({"fleet": fleet_of(serving=1, failed_starts=3)}, "Workers gpu", Verdict.FAIL),
        ({"fleet": fleet_of(serving=1, loading=1, unplaced=1)}, "Workers gpu", Verdict.WARN),
        ({"fleet": fleet_of(serving=0)}, "Workers gpu", Verdict.WARN),
        ({"fleet": fleet_of(serving=1, scaled=2)}, "Workers gpu", Verdict.WARN),
    ],
)
def test_what_is_wrong_is_found(changes: dict[str, Any], subject: str, verdict: Verdict) -> None:
    assert all(finding.verdict is Verdict.OK for finding in judge(told()))
    wrong = {
        finding.subject: finding for finding in judge(told(**changes)) if finding.verdict is not Verdict.OK
    }
    assert wrong[subject].verdict is verdict
    if reason := changes.get("error"):
        assert reason in wrong["Worker w0"].detail


def test_a_fleet_in_which_nobody_asks_may_have_no_worker() -> None:
    for kind, verdict in (
        ({}, Verdict.OK),
        ({"failed_starts": 3}, Verdict.FAIL),
        ({"scaled": 0}, Verdict.FAIL),
    ):
        seen = told(fleet=fleet_of(least=0, **kind))
        seen.answers["workers"]["workers"].clear()
        assert {one.subject: one.verdict for one in judge(seen)}["Workers"] is verdict


def test_a_worker_that_was_drained_is_missed_by_nobody() -> None:
    """It is shown for a minute after it left."""
    gone = {"health": "down", "state": "DOWN", "last_failure": LEFT}
    findings = {one.subject: one for one in judge(told(fleet=fleet_of(least=0), **gone))}
    assert findings["Workers"].verdict is Verdict.OK and "Worker w0" not in findings
    alone = {one.subject: one for one in judge(told(**gone))}
    assert alone["Workers"].verdict is Verdict.FAIL


def test_a_worker_that_fell_silent_is_missed_though_a_fleet_starts_another() -> None:
    lost = {"health": "down", "state": "DOWN", "last_failure": "its registration ran out"}
    findings = {one.subject: one.verdict for one in judge(told(fleet=fleet_of(least=0), **lost))}
    assert (findings["Workers"], findings["Worker w0"]) == (Verdict.OK, Verdict.WARN)


def test_two_revisions_of_a_model_are_told() -> None:
    seen = told()
    other = {**seen.workers[0], "id": "w1", "model_info": {"name": "m", "revision": "2"}}
    seen.answers["workers"]["workers"].append(other)
    assert "2 revisions of m" in " ".join(finding.detail for finding in judge(seen))


def test_while_the_database_fails_the_rest_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, long_ago = told().answers, {"Date": "Sun, 29 Nov 2020 00:00:00 GMT"}

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        if path == "/metrics":
            return httpx.Response(200, text="voxfleet_tasks 3")
        (name,) = [name for name, known in PATHS.items() if known == path]
        if name == "storage":
            return httpx.Response(503, json={"error": {"message": "what is kept cannot be reached"}})
        return httpx.Response(200, json=answers[name], headers=long_ago)

    made, transport = httpx.Client, httpx.MockTransport(answer)
    monkeypatch.setattr(httpx, "Client", lambda **options: made(**options, transport=transport))
    findings = {one.subject: one for one in judge(look("http://gateway", ADMIN_TOKEN))}
    assert findings["Database"].verdict is Verdict.FAIL
    assert findings["Database"].detail.startswith("what is kept cannot be reached")
    assert findings["Workers"].verdict is Verdict.OK and "Disk" not in findings
    assert findings["Clock"].verdict is Verdict.OK, "an answer that waited for the database has an old date"


def test_the_same_address_is_the_same_number() -> None:
    veil = Veil()
    lines = ["fe80::1:2:3 at 12:30:45", "10.0.0.7"]
    told = veil.over({"a": "10.0.0.7:80 and ::1", "b": lines, "owner": "key:shop"})
    assert told["a"] == "address 1:80 and address 2" and told["b"][1] == "address 1"
    assert "10.0.0.7" not in str(told) and "shop" not in str(told) and "fe80" not in str(told)
    assert "12:30:45" in told["b"][0]


def test_a_bundle_of_a_running_service_holds_no_secret_no_text_and_no_address(tmp_path: Path) -> None:
    secrets = {"VOXFLEET_API_KEYS": json.dumps({"shop": {"key": KEY}})}
    settings = GatewaySettings(admin_token=ADMIN_TOKEN, api_keys={"shop": {"key": KEY}})
    with worker(step_ms=5) as one, gateway([one.url], **secrets) as edge:
        answer = httpx.post(
            f"{edge.url}/tts", json={"text": TEXT, "record": True}, headers={"X-API-Key": KEY}, timeout=60
        )
        answer.raise_for_status()
        seen = look(edge.url, ADMIN_TOKEN)
        findings = list(judge(seen))
        write_bundle(tmp_path / "support.zip", seen, findings, settings)
        with pytest.raises(DeskError, match="refuses"):
            look(edge.url, "a-token-that-is-wrong-0123")
    assert {finding.verdict for finding in findings} == {Verdict.OK}
    with zipfile.ZipFile(tmp_path / "support.zip") as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert {"workers.json", "metrics.txt", "log.json", "settings.json", "findings.txt"} <= set(parts)
    assert "voxfleet_requests_total" in parts["metrics.txt"] and '"IDLE"' in parts["workers.json"]
    for secret in (KEY, ADMIN_TOKEN, TEXT, "127.0.0.1", "key:shop"):
        assert [name for name, text in parts.items() if secret in text] == []
    with pytest.raises(FileExistsError):
        write_bundle(tmp_path / "support.zip", seen, findings, settings)
