"""A receiver of OTLP over HTTP as a process of its own, and what it was told.

python -m tests.telemetry.receiver      prints its port, then a line of JSON for each request that came
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.forks import PATIENCE_SECONDS, REPOSITORY
from tests.worker.process import wait_until


@dataclass
class Receiver:
    """What came so far, as OTLP's own JSON; `lines` as they were printed."""

    url: str
    lines: list[str] = field(default_factory=list)

    def _of(self, signal: str) -> Iterator[dict[str, Any]]:
        for line in list(self.lines):
            message = json.loads(line)
            if message["path"] == f"/v1/{signal}":
                yield message

    def headers(self, signal: str) -> list[dict[str, str]]:
        return [message["headers"] for message in self._of(signal)]

    def spans(self) -> list[dict[str, Any]]:
        """Each with its attributes as a plain dictionary, and the service that told it."""
        found = []
        for message in self._of("traces"):
            for resource in message["body"]["resourceSpans"]:
                service = plain(resource["resource"]["attributes"])["service.name"]
                for scope in resource["scopeSpans"]:
                    found += [
                        {**span, "service": service, "attributes": plain(span.get("attributes", []))}
                        for span in scope["spans"]
                    ]
        return found

    def logs(self) -> list[dict[str, Any]]:
        return [
            {**record, "attributes": plain(record.get("attributes", []))}
            for message in self._of("logs")
            for resource in message["body"]["resourceLogs"]
            for scope in resource["scopeLogs"]
            for record in scope["logRecords"]
        ]

    def metrics(self) -> dict[str, dict[str, Any]]:
        """The last that came of each."""
        return {
            metric["name"]: metric
            for message in self._of("metrics")
            for resource in message["body"]["resourceMetrics"]
            for scope in resource["scopeMetrics"]
            for metric in scope["metrics"]
        }

    def wait_for_span(self, name: str, service: str) -> None:
        wait_until(
            lambda: any(span["name"] == name and span["service"] == service for span in self.spans()) or None,
            lambda: f"no span {name!r} of {service} among {[span['name'] for span in self.spans()]}",
        )


def plain(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in attributes}


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Ended with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.telemetry.receiver"],
        cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    receiver = Receiver(f"http://127.0.0.1:{process.stdout.readline().strip()}")

    def read() -> None:
        for line in process.stdout:
            receiver.lines.append(line)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield receiver
    finally:
        process.kill()
        process.wait(PATIENCE_SECONDS)
        reader.join(PATIENCE_SECONDS)
        process.stdin.close()
        process.stdout.close()


def serve() -> None:
    """Until the process is killed, or the test that started it is gone."""
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    kinds = {
        "/v1/traces": ExportTraceServiceRequest,
        "/v1/metrics": ExportMetricsServiceRequest,
        "/v1/logs": ExportLogsServiceRequest,
    }
    printing = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                data = gzip.decompress(data)
            body = MessageToDict(kinds[self.path].FromString(data))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with printing:
                print(json.dumps({"path": self.path, "headers": headers, "body": body}), flush=True)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve()
