"""What the audit of the lock files says when its source knows something, knows nothing, or is away."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.voxfleet.conftest import ROOT
from voxfleet.processes.ports import any_free


@pytest.fixture
def source() -> Iterator[ThreadingHTTPServer]:
    """Answers like OSV; `vulnerable` is the name of a package with one vulnerability."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            names = [query["package"]["name"] for query in queries]
            results = [{"vulns": [{"id": "X-1"}]} if name == self.server.vulnerable else {} for name in names]
            body = json.dumps({"results": results[: self.server.answers]}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.vulnerable, server.answers = "", None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def audit(port: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts/audit.py"), "--source", f"http://127.0.0.1:{port}/"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_vulnerable_package_is_named_and_fails(source: ThreadingHTTPServer) -> None:
    source.vulnerable = "torch"
    result = audit(source.server_port)
    assert result.returncode == 1
    assert "audit: torch 2." in result.stdout
    assert "vulnerable" in result.stdout


def test_packages_without_vulnerabilities_are_clean(source: ThreadingHTTPServer) -> None:
    result = audit(source.server_port)
    assert result.returncode == 0
    assert "clean" in result.stdout


def test_a_source_out_of_reach_is_never_clean() -> None:
    result = audit(any_free("127.0.0.1"))
    assert result.returncode == 0
    assert "skipped" in result.stdout
    assert "clean" not in result.stdout


def test_an_answer_that_is_not_whole_is_never_clean(source: ThreadingHTTPServer) -> None:
    source.answers = 3
    result = audit(source.server_port)
    assert "skipped" in result.stdout
    assert "clean" not in result.stdout
