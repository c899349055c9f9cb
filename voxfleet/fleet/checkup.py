"""`voxfleet doctor --fleet`: what a running service has and what it lacks, asked of its gateway.

`look` fetches what a gateway tells its operators, `judge` makes findings of it. Nothing is changed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from gateway.operations.fleet_messages import FAILING_STARTS, KindReport
from gateway.slots.capacity.worker import LEFT
from sockets.authorities import authorities
from telemetry.build import build
from voxfleet.commands.doctor import Finding, Verdict, judge_disk
from voxfleet.fleet.desk import admin_headers, checked, message_of, unanswered

PATHS = {
    "version": "/version",
    "workers": "/api/workers",
    "queue": "/api/queue",
    "storage": "/api/sessions/storage",
    "fleet": "/api/fleet",
    "log": "/api/log?limit=200",
}
_FROM_DATABASE = frozenset({"storage"})
"""Those that are no answers while the database fails."""
_ANSWER_SECONDS = 30.0
"""A database that is silent is waited for meanwhile."""
_CLOCK_SECONDS = 5.0
_SERVING = ("IDLE", "BUSY")


@dataclass
class Look:
    """What a gateway told: the answers by name of `PATHS`, its metrics, and how far its clock is ahead."""

    url: str
    answers: dict[str, Any] = field(default_factory=dict)
    database_problem: str = ""
    """What was answered instead of what is `_FROM_DATABASE`."""
    metrics: str = ""
    clock_ahead_seconds: float = 0.0

    @property
    def workers(self) -> list[dict[str, Any]]:
        """Without those that left, as one does that a fleet has drained: it is shown for a minute."""
        known = self.answers["workers"]["workers"]
        return [worker for worker in known if worker.get("last_failure") != LEFT]

    @property
    def kinds(self) -> list[KindReport]:
        """The kinds of workers of the fleet; none where no fleet reports."""
        fleet = self.answers["fleet"]["fleet"]
        return [] if fleet is None else [KindReport.model_validate(kind) for kind in fleet["kinds"]]


def look(url: str, token: str) -> Look:
    """Ask the gateway at `url`. Raises DeskError."""
    seen = Look(url)
    try:
        with httpx.Client(
            base_url=url,
            headers=admin_headers(token),
            timeout=_ANSWER_SECONDS,
            trust_env=False,
            verify=authorities(),
        ) as client:
            for name, path in PATHS.items():
                answer = client.get(path)
                if answer.status_code == 503 and name in _FROM_DATABASE:
                    seen.database_problem = message_of(answer)
                else:
                    seen.answers[name] = checked(answer).json()
            answer = checked(client.get("/metrics"))  # which waits for nothing: its date is of now
            seen.metrics = answer.text
    except httpx.HTTPError as error:
        raise unanswered(url, error) from error
    if told := answer.headers.get("date"):
        seen.clock_ahead_seconds = parsedate_to_datetime(told).timestamp() - time.time()
    return seen


def judge(seen: Look) -> Iterator[Finding]:
    """What is to be said of it, the most important first."""
    yield _of_gateway(seen)
    yield from _of_builds(seen)
    kinds = seen.kinds
    yield _of_workers(seen.workers, may_start=any(map(_may_start, kinds)))
    yield from _of_each(seen.workers)
    yield from _of_models(seen.workers)
    yield _of_queue(seen)
    if seen.database_problem:
        yield Finding("Database", Verdict.FAIL, f"{seen.database_problem}; the gateway's log says why")
    else:
        yield _of_disk(seen.answers["storage"])
    yield _of_clock(seen.clock_ahead_seconds)
    yield from map(_of_kind, kinds)


def _of_gateway(seen: Look) -> Finding:
    version, ours = _build_of(seen), build()
    if version != ours:
        return Finding("Gateway", Verdict.WARN, f"version {version} at {seen.url}, and this is {ours}")
    return Finding("Gateway", Verdict.OK, f"version {version} at {seen.url}")


def _build_of(seen: Look) -> str:
    """The gateway's; one of an older version says its version alone."""
    told = seen.answers["version"]
    return told.get("build", told["version"])


def _of_builds(seen: Look) -> Iterator[Finding]:
    """Where workers, or other gateways, run another build than the gateway, as during an upgrade."""
    builds = Counter(worker.get("build") or "older" for worker in seen.workers if worker["health"] == "up")
    if builds.keys() - {_build_of(seen)}:
        told = ", ".join(f"{count} of {name}" for name, count in builds.most_common())
        yield Finding("Builds", Verdict.WARN, f"the gateway is {_build_of(seen)}; workers: {told}")
    gateways = seen.answers["workers"].get("gateways", [])  # which older gateways do not tell
    if len(gateways) > 1:
        told = ", ".join(f"{each['gateways']} of {each['build'] or 'older'}" for each in gateways)
        yield Finding("Builds of gateways", Verdict.WARN, told)


def _of_kind(kind: KindReport) -> Finding:
    least = kind.least if kind.scaled is None else kind.scaled
    told = f"{kind.serving} serve, {kind.loading} load, {kind.draining} drain; at least {least} are to run"
    verdict = Verdict.OK
    if kind.failed_starts >= FAILING_STARTS:
        verdict, told = Verdict.FAIL, f"{told}; the last {kind.failed_starts} starts failed"
    elif kind.unplaced:
        verdict, told = Verdict.WARN, f"{told}; {kind.unplaced} of them wait for a machine"
    elif kind.serving + kind.loading < least:
        verdict = Verdict.WARN
    return Finding(f"Workers {kind.kind}", verdict, told)


def _may_start(kind: KindReport) -> bool:
    return kind.most > 0 and kind.scaled != 0 and kind.failed_starts < FAILING_STARTS


def _of_workers(workers: list[dict[str, Any]], may_start: bool) -> Finding:
    """`may_start`: a fleet starts some as soon as somebody asks."""
    serving = [worker for worker in workers if worker["health"] == "up" and worker["state"] in _SERVING]
    told = f"{len(serving)} of {len(workers)} serve"
    if serving:
        return Finding("Workers", Verdict.OK, told)
    if may_start and all(worker["health"] == "down" for worker in workers):
        return Finding("Workers", Verdict.OK, f"{told}; the first request starts one")
    loading = any(worker["state"] == "LOADING" for worker in workers)
    return Finding("Workers", Verdict.WARN if loading else Verdict.FAIL, told)


def _of_each(workers: list[dict[str, Any]]) -> Iterator[Finding]:
    for worker in workers:
        name = f"Worker {worker['id']}"
        if worker["health"] != "up" or worker["state"] == "ERROR":
            reason = worker.get("error") or worker.get("last_failure") or worker["health"]
            yield Finding(name, Verdict.WARN, f"{worker['state']}: {reason}")
        elif (pace := worker.get("rtf_p50")) and pace > 1:
            yield Finding(name, Verdict.WARN, f"slower than speech: {pace:.2f} s of work a second of audio")


def _of_models(workers: list[dict[str, Any]]) -> Iterator[Finding]:
    revisions: dict[str, set[str]] = {}
    for worker in workers:
        if model := worker.get("model_info"):
            revisions.setdefault(model["name"], set()).add(model["revision"])
    for name, found in sorted(revisions.items()):
        if len(found) > 1:
            text = f"{len(found)} revisions of {name}: a stream cannot move between their workers"
            yield Finding("Model", Verdict.WARN, text)
        else:
            yield Finding("Model", Verdict.OK, f"{name}, one revision")


def _of_queue(seen: Look) -> Finding:
    waiting = len(seen.answers["queue"]["queue"])
    used = sum(worker["slots_used"] for worker in seen.workers)
    total = sum(worker["slots_total"] or 0 for worker in seen.workers)
    verdict = Verdict.WARN if waiting and used >= total else Verdict.OK
    return Finding("Slots", verdict, f"{used} of {total} in use, {waiting} requests wait")


def _of_disk(storage: dict[str, Any]) -> Finding:
    least_gb = storage["limits"]["min_free_disk_gb"] or 0
    return judge_disk(storage["free_bytes"], least_gb, "where recordings are kept")


def _of_clock(ahead_seconds: float) -> Finding:
    if abs(ahead_seconds) > _CLOCK_SECONDS:
        text = f"the gateway's differs from this one's by {abs(ahead_seconds):.0f} s"
        return Finding("Clock", Verdict.WARN, text)
    return Finding("Clock", Verdict.OK, "the gateway's agrees with this one's")
