"""Gateway, workers and a receiver of OTLP as processes: one trace through all of them, and no text in it.

S13: what is spoken is in no trace, metric or log that is sent.
"""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from telemetry import Telemetry, TelemetryMissingError, TelemetrySettings
from telemetry.families import TelemetryCollector
from telemetry.process import is_installed
from tests.gateway.stages.processes import StartFleet, all_free, started_fleets
from tests.telemetry.receiver import Receiver, receiving

needs_otel = pytest.mark.skipif(not is_installed(), reason="needs the extra otel")
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
HEADERS = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
OTHER = {"traceparent": HEADERS["traceparent"].replace(TRACE, TRACE[::-1])}
CANARY = "Xylophonkanarienvogel"
SECRET = "a-secret-of-the-receiver"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture
def start() -> Iterator[StartFleet]:
    with started_fleets() as fleet:
        yield fleet


def told_to(receiver: Receiver, **more: object) -> dict[str, object]:
    return {"otlp_endpoint": receiver.url, "trace_share": 0, "trace_slow_seconds": 3600, **more}


@needs_otel
async def test_one_trace_from_the_client_through_gateway_and_worker(
    receiver: Receiver, start: StartFleet
) -> None:
    shown = {"otlp_headers": json.dumps({"Authorization": SECRET})}
    gateway, (worker,) = start(1, step_ms=5, gateway=told_to(receiver, **shown), **told_to(receiver))
    async with gateway.http() as http:
        body = {"text": f"{CANARY} sings.", "format": "mp3", "stream": True}
        answer = await http.post("/tts", json=body, headers={**gateway.admin, **HEADERS})
        assert answer.status_code == 200
        for wrong in ({"text": CANARY, "voice": CANARY}, {"text": CANARY, "seed": -1}):
            assert (await http.post("/tts", json=wrong, headers=OTHER)).is_error
        accept = {"Accept": "application/openmetrics-text", **gateway.admin}
        shown_metrics = (await http.get("/metrics", headers=accept)).text
    await all_free(gateway)
    assert gateway.terminate() == 0 and worker.terminate() == 0
    receiver.wait_for_span("speak", "voxfleet-worker")
    receiver.wait_for_span("encode", "voxfleet-gateway")
    ours = {span["name"]: span for span in receiver.spans() if span["traceId"] == as_base64(TRACE)}
    assert set(ours) >= {"speech", "queue", "attempt", "encode", "speak", "prefill", "patches"}
    parents = {name: span["parentSpanId"] for name, span in ours.items()}
    tree = {
        **dict.fromkeys(("queue", "attempt", "encode"), "speech"),
        "speak": "attempt",
        "prefill": "speak",
        "patches": "speak",
    }
    for child, parent in tree.items():
        assert parents[child] == ours[parent]["spanId"], child
    assert "first audio" in [event["name"] for event in ours["speech"]["events"]]
    assert ours["speech"]["attributes"]["voxfleet.outcome"] == "stop"
    assert f'trace_id="{TRACE}"' in shown_metrics
    assert receiver.metrics()["voxfleet_first_audio_seconds"]["histogram"]["dataPoints"][0]["exemplars"]
    assert receiver.metrics()["voxfleet_worker_process_requests_total"]
    assert receiver.metrics()["voxfleet_telemetry_dropped_total"]
    assert 'voxfleet_telemetry_dropped_total{reason="queue_full",signal="traces"} 0.0' in shown_metrics
    told = [record for record in receiver.logs() if record["body"].get("stringValue") == "request"]
    assert ours["speech"]["traceId"] in [record.get("traceId") for record in told]
    assert SECRET in {headers.get("authorization") for headers in receiver.headers("traces")}
    bodies = "".join(json.dumps(json.loads(line)["body"]) for line in receiver.lines)
    assert as_base64(TRACE[::-1]) in bodies
    assert CANARY not in bodies and SECRET not in bodies


@needs_otel
async def test_a_clip_that_moves_is_kept_with_both_attempts(receiver: Receiver, start: StartFleet) -> None:
    gateway, workers = start(2, step_ms=30, gateway=told_to(receiver), **told_to(receiver))
    async with gateway.stream(text="It goes on elsewhere. " * 10, seed=1) as stream:
        started = await stream.receive_type("started")
        await stream.receive_audio()
        dying = next(worker for number, worker in enumerate(workers) if f"w{number}" == started["worker_id"])
        dying.kill()
        done = await stream.receive_type("done")
        assert done["migrations"] == 1
    gateway.terminate()
    for worker in workers:
        if worker is not dying:
            worker.terminate()
    receiver.wait_for_span("speech", "voxfleet-gateway")
    receiver.wait_for_span("speak", "voxfleet-worker")
    spans = receiver.spans()
    (speech,) = [span for span in spans if span["name"] == "speech"]
    attempts = [span for span in spans if span["name"] == "attempt"]
    assert len(attempts) == 2 and len({span["traceId"] for span in spans}) == 1
    assert "migration" in [event["name"] for event in speech["events"]]
    failed = [span for span in attempts if "error.type" in span["attributes"]]
    assert len(failed) == 1
    (speak,) = [span for span in spans if span["name"] == "speak"]
    assert speak["parentSpanId"] in {span["spanId"] for span in attempts if span not in failed}
    assert int(speak["attributes"]["voxfleet.resumed_patches"]) > 0


@needs_otel
async def test_a_receiver_that_is_away_costs_nobody_anything(start: StartFleet) -> None:
    away = {"otlp_endpoint": "http://127.0.0.1:9", "trace_share": 1}
    gateway, (worker,) = start(1, step_ms=1, gateway=away, **away)
    async with gateway.http() as http:
        answers = await asyncio.gather(*(http.post("/tts", json={"text": "Hello there."}) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert gateway.terminate() == 0 and worker.terminate() == 0


class Choosy(BaseHTTPRequestHandler):
    """A receiver that refuses traces, and cannot be persuaded."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(400 if self.path == "/v1/traces" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@needs_otel
async def test_what_a_receiver_refuses_is_counted_by_signal() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Choosy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings = TelemetrySettings(
            otlp_endpoint=f"http://127.0.0.1:{server.server_address[1]}", trace_share=1
        )
        telemetry = Telemetry(settings, "voxfleet-gateway", lambda: TelemetryCollector(telemetry).collect())
        async with telemetry.running():
            for _ in range(3):
                telemetry.tracing.begin("speech").end()
        server.shutdown()
    (family,) = TelemetryCollector(telemetry).collect()
    dropped = {(s.labels["signal"], s.labels["reason"]): s.value for s in family.samples if s.value}
    assert dropped == {("traces", "not_taken"): 3}
    assert len(family.samples) == 6, "each signal, for each reason"


@needs_otel
async def test_a_live_utterance_is_a_trace_of_its_own(receiver: Receiver, start: StartFleet) -> None:
    gateway, _ = start(1, step_ms=5, gateway=told_to(receiver, trace_share=1), **told_to(receiver))
    async with gateway.socket("/ws/live", additional_headers=gateway.admin) as live:
        for said in (
            {"type": "start", "seed": 1},
            {"type": "append", "text": f"{CANARY} sings a song. And another one."},
            {"type": "stop"},
        ):
            await live.socket.send(json.dumps(said))
        done = await live.receive_type("done")
    gateway.terminate()
    receiver.wait_for_span("live utterance", "voxfleet-gateway")
    utterances = [span for span in receiver.spans() if span["name"] == "live utterance"]
    assert len(utterances) == done["utterances"]
    assert len({span["traceId"] for span in utterances}) == len(utterances)
    assert {span["attributes"]["voxfleet.outcome"] for span in utterances} == {"stop"}
    assert CANARY not in "".join(receiver.lines)


async def test_without_a_receiver_nothing_is_measured_and_workers_are_told_nothing(start: StartFleet) -> None:
    telemetry = Telemetry(TelemetrySettings(), "voxfleet-gateway", list)
    assert not telemetry.on and not telemetry.tracing.on
    gateway, (worker,) = start(1, step_ms=1)
    assert not worker.health().traced
    async with gateway.http() as http:
        answer = await http.post("/tts", json={"text": "Hello."}, headers={**gateway.admin, **HEADERS})
        accept = {"Accept": "application/openmetrics-text", **gateway.admin}
        shown = await http.get("/metrics", headers=accept)
    assert answer.status_code == 200
    assert shown.headers["content-type"].startswith("text/plain") and TRACE not in shown.text


def test_a_receiver_without_the_extra_is_a_setting_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("telemetry.process.is_installed", lambda: False)
    with pytest.raises(TelemetryMissingError, match="VOXFLEET_EXTRAS=otel"):
        Telemetry(TelemetrySettings(otlp_endpoint="http://localhost:4318"), "voxfleet-gateway", list)


@pytest.mark.parametrize(
    "wrong", ["collector:4318", "ftp://collector", "http://user:word@collector:4318", "http://"]
)
def test_an_endpoint_is_an_address_without_secrets(wrong: str) -> None:
    with pytest.raises(ValueError, match="otlp_endpoint"):
        TelemetrySettings(otlp_endpoint=wrong)


def as_base64(hexadecimal: str) -> str:
    return base64.b64encode(bytes.fromhex(hexadecimal)).decode()
