"""`voxfleet fleet render`: what it says, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.voxfleet.fleet.on_kubernetes.manifests import (
    CPU,
    GPU,
    kustomized,
    of_kind,
)
from voxfleet.cli import app
from voxfleet.fleet.file import read_fleet_file
from voxfleet.settings import SettingsError


def written(tmp_path: Path, fleet: dict[str, Any]) -> Path:
    path = tmp_path / "fleet.yaml"
    path.write_text(json.dumps(fleet))
    return path


def test_the_command_says_what_comes_next(tmp_path: Path) -> None:
    file = written(tmp_path, {"workers": {"cpu": CPU}, "kubernetes": {"database": "url"}})
    folder = tmp_path / "manifests"
    answer = CliRunner().invoke(app, ["fleet", "render", str(file), "--to", "kubernetes", str(folder)])
    assert answer.exit_code == 0, answer.output
    missing = folder / "secrets" / "voxfleet_database_url"
    assert answer.output.splitlines() == [f"first write {missing}", f"kubectl apply -k {folder}"]
    missing.write_text("postgresql://voxfleet:a-password@db.example.com/voxfleet")
    assert of_kind(kustomized(folder), "Secret")


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"gateways": {"least": 2, "most": 2}}, "database that they share"),
        ({"gateways": {"least": 3, "most": 2}, "database": "url"}, "least is 3"),
        ({"expose": "ingress"}, "belong together"),
        ({"host": "tts.example.org"}, "belong together"),
        ({"host": "not a host", "expose": "ingress"}, "host"),
        ({"namespace": "Big"}, "namespace"),
        ({"image": "name with spaces"}, "image"),
        ({"trusted_proxies": "everywhere"}, "trusted_proxies"),
        ({"workers": {"tpu": {}}}, "no 'tpu' under workers"),
        ({"workers": {"cpu": {"gpus": -1}}}, "gpus"),
        ({"replicas": 3}, "replicas"),
        ({"workers": {"cpu": {"gpus": 1}}}, "device of cpu is cpu"),
        ({"workers": {"gpu": {"gpus": 0}}}, "device of gpu is cuda"),
        ({"workers": {"pair": {"gpus": 3}}}, "tensor_parallel_size of pair is 2"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, section: dict[str, Any], message: str) -> None:
    kinds = {"cpu": {**CPU, "device": "cpu"}, "gpu": {**GPU, "device": "cuda"}}
    kinds["pair"] = {**GPU, "device": "cuda", "tensor_parallel_size": 2}
    file = written(tmp_path, {"workers": kinds, "kubernetes": section})
    with pytest.raises(SettingsError, match=message):
        read_fleet_file(file)


def test_a_folder_with_something_else_in_it_is_left_as_it_is(tmp_path: Path) -> None:
    """It once would have removed a folder `worker` of somebody else."""
    file = written(tmp_path, {"workers": {"cpu": CPU}})
    (tmp_path / "worker").mkdir()
    (tmp_path / "worker" / "mine.py").write_text("mine")
    (tmp_path / "kustomization.yaml").write_text("kind: Kustomization\n")
    answer = CliRunner().invoke(app, ["fleet", "render", str(file), "--to", "kubernetes", str(tmp_path)])
    assert answer.exit_code == 1
    assert "something else" in answer.output
    assert (tmp_path / "worker" / "mine.py").read_text() == "mine"
    assert (tmp_path / "kustomization.yaml").read_text() == "kind: Kustomization\n"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, {"workers": {"cpu": CPU}})
    (tmp_path / "taken").write_text("a file")
    answer = CliRunner().invoke(
        app, ["fleet", "render", str(file), "--to", "kubernetes", str(tmp_path / "taken")]
    )
    assert answer.exit_code == 1
    assert "cannot be written" in answer.output
