"""Checkpoints from a hub on the loopback: one commit is kept, and every file is what the hub announces."""

from __future__ import annotations

import errno
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import Mock

import pytest

from models.config_fields import ConfigError
from models.download import VERIFIED, fetch, find_directory, is_repository
from models.llm.checkpoint import find_directory as find_text_directory
from models.llm.loading import is_text_model
from models.voxcpm.checkpoint import resolve_model
from models.voxcpm.watch.statistics import FILE_NAME as STATISTICS
from voxfleet.model_source import check_model

NAME = "someone/Voice"


class Hub(ThreadingHTTPServer):
    """A repository whose `main` can move, and whose files can differ from what it announces."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.commits = {"a" * 40: {"config.json": b"{}", "model.safetensors": b"weights"}}
        self.main = "a" * 40
        self.forged: dict[str, bytes] = {}
        self.requests = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def tree(self, commit: str) -> bytes:
        entries = []
        for name, content in self.commits[commit].items():
            oid = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            entries.append({"type": "file", "path": name, "size": len(content), "oid": oid})
        return json.dumps(entries).encode()

    def announce(self, commit: str) -> bytes:
        files = []
        for name, content in self.commits[commit].items():
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            file = {"rfilename": name, "size": len(content), "blobId": blob}
            if name.endswith(".safetensors"):
                sha = hashlib.sha256(content).hexdigest()
                file["lfs"] = {"sha256": sha, "size": len(content), "pointerSize": 130}
            files.append(file)
        return json.dumps({"id": NAME, "sha": commit, "siblings": files}).encode()


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self.server.requests += 1
        parts = self.path.partition("?")[0].strip("/").split("/")
        if parts[0] == "api":
            commit = parts[5] if len(parts) > 5 else self.server.main
            found = self.server.tree(commit) if "tree" in parts else self.server.announce(commit)
            self._answer(found, commit)
        else:
            commit, name = parts[3], parts[4]
            content = self.server.commits[commit][name]
            self._answer(self.server.forged.get(name, content), commit)

    do_HEAD = do_GET

    def _answer(self, body: bytes, commit: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
        self.send_header("X-Repo-Commit", commit)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Silent."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_the_commit_of_the_first_download_is_kept(hub: Hub, tmp_path: Path) -> None:
    first = fetch(NAME, tmp_path, hub.url)
    assert (first / "model.safetensors").read_bytes() == b"weights"
    hub.commits["b" * 40] = {"config.json": b"{}", "model.safetensors": b"others"}
    hub.main = "b" * 40
    asked = hub.requests
    assert fetch(NAME, tmp_path, hub.url) == first
    assert hub.requests == asked, "what was compared is loaded without the hub"


def test_a_cache_that_can_only_be_read_serves_what_it_holds(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    held = fetch(NAME, tmp_path, hub.url)
    (held / VERIFIED).unlink()
    monkeypatch.setattr(Path, "touch", Mock(side_effect=OSError(errno.EROFS, "read-only file system")))
    assert fetch(NAME, tmp_path, hub.url) == held
    assert "someone/Voice is compared again at the next start" in caplog.text


def test_a_checkpoint_brings_the_statistics_of_its_speech(hub: Hub, tmp_path: Path) -> None:
    hub.commits[hub.main] |= {STATISTICS: b"numbers", "README.md": b"words"}
    found = fetch(NAME, tmp_path, hub.url)
    assert (found / STATISTICS).read_bytes() == b"numbers"
    assert not (found / "README.md").exists()


def test_a_revision_that_is_named_is_taken(hub: Hub, tmp_path: Path) -> None:
    fetch(NAME, tmp_path, hub.url)
    hub.commits["b" * 40] = {"config.json": b"{}", "model.safetensors": b"others"}
    named = fetch(f"{NAME}@{'b' * 40}", tmp_path, hub.url)
    assert (named / "model.safetensors").read_bytes() == b"others"
    assert (fetch(NAME, tmp_path, hub.url) / "model.safetensors").read_bytes() == b"weights"


@pytest.mark.parametrize(("name", "content"), [("model.safetensors", b"WEIGHTS"), ("config.json", b"[]")])
def test_a_file_with_another_sum_is_refused_every_time(
    hub: Hub, tmp_path: Path, name: str, content: bytes
) -> None:
    hub.forged[name] = content
    for _ in range(2):
        with pytest.raises(ConfigError, match=f"{name} is not the file that the hub announces") as refusal:
            fetch(NAME, tmp_path, hub.url)
    hub.forged.clear()
    Path(str(refusal.value).partition("remove ")[2].partition(" and ")[0]).unlink()
    assert (fetch(NAME, tmp_path, hub.url) / name).read_bytes() == hub.commits[hub.main][name]


def test_a_hub_that_cannot_be_asked_is_said(tmp_path: Path) -> None:
    for revision in ("", "@main"):
        with pytest.raises(ConfigError, match=f"{NAME}{revision} cannot be downloaded: .*refused"):
            fetch(NAME + revision, tmp_path, "http://127.0.0.1:1")


def test_a_directory_in_a_home_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "voices").mkdir()
    for find in (find_directory, resolve_model, find_text_directory):
        assert find("~/voices") == tmp_path / "voices"
    check_model("~/voices")
    (tmp_path / "voices" / "config.json").write_text('{"architectures": ["Qwen3ForCausalLM"]}')
    assert is_text_model("~/voices")
    assert find_directory("~/nowhere") is None


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openbmb/VoxCPM2", True),
        ("openbmb/VoxCPM2@v1.0", True),
        ("./voices/mine", False),
        ("a/b/c", False),
        ("bundled", False),
    ],
)
def test_repository_ids_have_one_form(model: str, expected: bool) -> None:
    assert is_repository(model) is expected
