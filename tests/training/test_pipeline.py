"""Whole runs in miniature: when stages start, what happens when they fail, and a voice from nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.training.checkpoint.export import export
from models.voxcpm.training.pipeline import Pipeline, plan
from models.voxcpm.training.recipe import recipe_named, tiny_recipe
from models.voxcpm.training.speech.flite import VOICES
from models.voxcpm.training.stages.stage import Stage

GENERATION = {"name": "tiny", "languages": ["en"]}


@pytest.mark.parametrize("trains_vae", [True, False])
@pytest.mark.parametrize("budget", [60.0, 310.0, 3600.0])
def test_stages_on_one_gpu_follow_one_another(budget: float, trains_vae: bool) -> None:
    times = plan(1000.0, budget, 1, trains_vae)
    assert times.begin <= times.decoder_start <= times.vae_end or not trains_vae
    assert times.vae_end < times.decoder_end < times.lm_end < times.end == 1000.0 + budget
    assert times.decoder_start < times.decoder_end and times.lm_start < times.decoder_end
    assert times.speech_end < times.lm_end


def test_on_two_gpus_decoder_and_language_model_train_side_by_side() -> None:
    times = plan(0.0, 1000.0, 2)
    assert times.decoder_start == times.lm_start == 0.0
    assert times.lm_end - times.decoder_end <= 5
    assert plan(0.0, 1000.0, 2, trains_vae=False).vae_end == 0.0


def test_a_warm_start_is_gentler() -> None:
    cold, warm = tiny_recipe(), recipe_named("tiny", warm_start=True)
    assert warm.lm.learning_rate < cold.lm.learning_rate
    assert warm.vae.decoder_learning_rate < cold.vae.decoder_learning_rate
    assert warm.config == cold.config


def test_a_stage_that_fails_is_started_again_and_then_reported_with_its_log(tmp_path: Path) -> None:
    stage = Stage("broken", "texts.tokenizer_file", [], 0.0, tmp_path, retries=1)
    states = [stage.watch()]
    while states[-1] not in ("failed", "done"):
        stage.process.wait(60)
        states.append(stage.watch())
    assert states[-1] == "failed" and stage.retries == 0
    report = stage.report()
    assert report["exit_code"] == 2 and "unrecognized arguments: --work" in report["log_tail"]
    assert stage.log.read_text().count("error:") == 2


def test_a_stage_waits_for_its_time(tmp_path: Path) -> None:
    stage = Stage("later", "lm.train_lm", [], time.time() + 3600, tmp_path)
    assert stage.watch() == "waiting" and stage.process is None
    stage.stop()


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_run_whose_weights_could_not_be_written_has_failed(
    is_whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = SimpleNamespace(
        out=tmp_path / "out", work=tmp_path, recipe="tiny", init=None, retrain_vae=False, budget_seconds=60.0,
        gpus=1, vae_share=0.6, speech_follows=False, grace_seconds=0.0,
    )  # fmt: skip
    if not is_whole:
        (tmp_path / "lm.pt").write_bytes(b"half of it")
    run = Pipeline(arguments, tiny_recipe())
    monkeypatch.setattr(run, "start_speech", lambda: None)
    monkeypatch.setattr(run, "watch", lambda: {"done"})
    monkeypatch.setattr(Stage, "state", "done")
    assert run.run() == (0 if is_whole else 1)
    assert ("could not be written: see" in capsys.readouterr().err) is not is_whole


def pipeline(carry: Path, out: Path, seconds: float, *more: str) -> dict:
    """One run in processes of its own; returns its last status."""
    command = [sys.executable, "-m", "models.voxcpm.training.pipeline", "--recipe", "tiny"]
    command += [
        "--carry",
        str(carry),
        "--out",
        str(out),
        "--budget-seconds",
        str(seconds),
        "--grace-seconds",
        "150",
        *more,
    ]
    finished = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, timeout=240, check=False)
    status = json.loads((out / "status.json").read_text())
    assert finished.returncode == 0, json.dumps(status, indent=1)
    return status


@pytest.mark.timeout(300)
def test_a_voice_from_nothing_then_going_on_from_it(carry: Path, tmp_path: Path) -> None:
    """Every stage in a process of its own, on CPUs; then a warm start from the exported checkpoint."""
    first, voice, second = tmp_path / "first", tmp_path / "voice", tmp_path / "second"
    status = pipeline(carry, first, 6)
    assert {name: stage["is"] for name, stage in status["stages"].items()} == dict.fromkeys(
        ("vae", "decoder", "lm"), "done"
    )
    recipe = tiny_recipe()
    for name, least in (("vae", recipe.vae), ("decoder", recipe.vae), ("lm", recipe.lm)):
        assert status["stages"][name]["step"] >= least.least_steps > 0
    samples = np.load(first / "samples.npz")
    spoken = {name.split("_")[0] for name in samples.files}
    assert len(spoken) > 1 and spoken <= set(VOICES)  # those that chance let speak in so little speech
    export(first, voice, GENERATION, recipe="tiny")
    assert set(load_checkpoint(voice, "cpu").voices) == set(VOICES)

    pipeline(carry, second, 3, "--init", str(voice))
    encoders = [load_file(folder / "vae-encoder.safetensors") for folder in (first, second)]
    assert all(torch.equal(encoders[1][name], tensor) for name, tensor in encoders[0].items())
    models = [load_file(folder / "lm-0.safetensors") for folder in (first, second)]
    assert any(not torch.equal(models[1][name], tensor) for name, tensor in models[0].items())
    reports = json.loads((second / "log.json").read_text())
    assert any(report.get("init") == "voice" for report in reports)
