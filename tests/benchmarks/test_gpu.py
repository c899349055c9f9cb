"""The GPU benchmark where there is no GPU: its arithmetic, its listeners, its files, and whole runs of it."""

from __future__ import annotations

import functools
import itertools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from safetensors.torch import load_file

from benchmarks.cpu import flop_per_patch
from benchmarks.gpu.arithmetic import against_the_machine, step_bytes
from benchmarks.gpu.checkpoints import SHAPES, make_checkpoint, shape_config
from benchmarks.gpu.engines import peer as gpu_peer
from benchmarks.gpu.engines import scenarios
from benchmarks.gpu.goals import verdicts
from benchmarks.gpu.plot import plot
from benchmarks.gpu.profile import busy_microseconds, table
from benchmarks.gpu.ranks import speech
from benchmarks.gpu.work import Clip, clips, most_streams, percentile, playback, run, summary
from engine.weights import released_tensors
from models.voxcpm import engine as voxcpm_engine
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.programs.step_programs import ProgramPlan
from models.voxcpm.requests.tokenizer import REFERENCE_END


class Metronome:
    """An engine that makes a patch of every clip per step, in steps of a given length on its own clock."""

    patch_seconds = 0.16

    def __init__(self, step_seconds: float, lost: str | None = None) -> None:
        self.now, self.left, self._step_seconds, self._lost = 0.0, {}, step_seconds, lost

    def clock(self) -> float:
        return self.now

    def add(self, clip: Clip) -> None:
        self.left[clip.name] = clip.patches

    def step(self) -> list[str]:
        self.now += self._step_seconds
        names = list(self.left)
        self.left = {name: left - 1 for name, left in self.left.items() if left > 1}
        return [name for name in names if name != self._lost]

    def busy(self) -> bool:
        return bool(self.left)


def test_a_listener_hears_what_comes_too_late() -> None:
    assert playback([0.02, 0.05, 0.40], 0.16) == (0, 0.0)  # ends at 0.10 + 0.32
    assert playback([0.02, 0.05, 0.45], 0.16) == (1, pytest.approx(0.03))
    assert playback([5.0, 5.25, 5.41], 0.16) == (1, pytest.approx(0.01))
    late = [0.0, 0.5, 1.0, 1.5]
    assert playback(late, 0.16) == (3, pytest.approx(1.5 - 3 * 0.16 - 0.08))


def test_percentiles_are_values_that_occurred() -> None:
    assert percentile([3.0, 1.0, 2.0, 4.0], 0.5) == 3.0
    assert percentile([1.0], 0.99) == 1.0
    assert percentile([], 0.5) == 0.0


@pytest.mark.parametrize(("step_seconds", "underruns"), [(0.1, 0), (0.16, 0), (0.26, 4 * 9)])
def test_a_run_becomes_figures(step_seconds: float, underruns: int) -> None:
    engine = Metronome(step_seconds)
    figures = summary(run(engine, clips("short", 4, 10), engine.clock), engine.patch_seconds)
    assert figures["streams"] == figures["rows_of_fullest_step"] == 4
    assert figures["step_ms_p50"] == pytest.approx(1e3 * step_seconds)
    assert figures["first_audio_ms_p99"] == pytest.approx(1e3 * step_seconds)
    assert figures["audio_seconds_per_second"] == pytest.approx(4 * 0.16 / step_seconds)
    assert figures["real_time_factor_p50"] == pytest.approx(step_seconds / 0.16)
    assert figures["underruns"] == underruns


def test_late_starters_are_timed_from_their_own_start() -> None:
    engine = Metronome(0.1)
    result = run(engine, clips("short", 4, 10, ramp_seconds=0.4), engine.clock)
    first = {clip.name: result.arrivals[clip.name][0] - clip.start for clip in result.clips}
    assert all(seconds <= 0.2 + 1e-9 for seconds in first.values())


def test_a_clip_that_comes_out_short_is_an_error() -> None:
    engine = Metronome(0.1, lost="short-1")
    with pytest.raises(RuntimeError, match="short-1"):
        run(engine, clips("short", 2, 3), engine.clock)


@pytest.mark.parametrize("capacity", [0, 1, 5, 63, 64, 100, 500, 639, 640, 5000])
def test_the_search_finds_the_most_streams(capacity: int) -> None:
    tried: list[int] = []
    found = most_streams(lambda n: tried.append(n) or n <= capacity, 64, 640)
    assert found <= capacity
    assert found >= min(capacity, 640) * 0.97 - 1
    assert len(tried) <= 10 and len(set(tried)) == len(tried)


def test_what_a_step_moves_and_multiplies_is_what_the_released_shapes_say() -> None:
    config = VoxCPMConfig.from_dict(shape_config("voxcpm2"))
    moved = step_bytes(config, 1, 0)
    assert moved["language_models_and_encoder"] == pytest.approx(3.855e9, rel=1e-3)
    assert moved["dit"] == pytest.approx(3.74e9, rel=1e-3)
    assert moved["vae"] == pytest.approx(0.183e9, rel=1e-2)
    assert step_bytes(config, 3, 100)["kv"] == 3 * 100 * 36_864
    assert flop_per_patch(config)["dit"] == pytest.approx(82.2e9, rel=1e-2)
    rates = {"copy_bytes_per_second": 4.8e12, "matrix_flop_per_second": 8e14}
    one = against_the_machine(config, {"rows_of_fullest_step": 1, "step_ms_p50": 4.0}, 0, rates)
    assert one["floor_ms"] == pytest.approx(1.62, abs=0.01)
    assert one["times_the_floor"] == pytest.approx(4.0 / one["floor_ms"])
    many = against_the_machine(config, {"rows_of_fullest_step": 512, "step_ms_p50": 160.0}, 50, rates)
    assert many["share_of_matrix"] == pytest.approx(512 * 90.5e9 / 0.16 / 8e14, rel=0.01)
    assert many["floor_ms"] == pytest.approx(160 * many["share_of_matrix"])


@pytest.mark.parametrize(
    ("shape", "tensors", "millions"),
    [("voxcpm-0.5b", 377, 652.3), ("voxcpm1.5", 467, 801.7), ("voxcpm2", 577, 2290.0)],
)
def test_shapes_are_the_released_ones(shape: str, tensors: int, millions: float) -> None:
    config = VoxCPMConfig.from_dict(shape_config(shape))
    with torch.device("meta"):
        found = dict(released_tensors(VoxCPMModel(config)))
    assert len(found) == tensors
    assert sum(tensor.numel() for tensor in found.values()) / 1e6 == pytest.approx(millions, abs=0.05)
    assert config.lm_config.vocab_size > REFERENCE_END


def test_checkpoints_load_and_are_written_once(tmp_path: Path) -> None:
    directory = make_checkpoint("tiny", tmp_path)
    weights = directory / "model.safetensors"
    assert {tensor.dtype for tensor in load_file(weights).values()} == {torch.bfloat16}
    checkpoint = load_checkpoint(directory, "cpu", dtype=torch.bfloat16)
    hidden = torch.randn(64, checkpoint.config.lm_config.hidden_size).bfloat16()
    with torch.inference_mode():
        assert not checkpoint.model.stop_logits(hidden).argmax(-1).any()
    before = weights.stat().st_mtime_ns
    assert make_checkpoint("tiny", tmp_path) == directory
    assert weights.stat().st_mtime_ns == before
    with pytest.raises(SystemExit):
        scenarios.parse(["--shape", "voxcpm3"])
    assert "tiny" in SHAPES


def test_scenarios_are_merged_by_shape() -> None:
    document = scenarios.merged({}, {"tiny/graphs": {"a": 1}, "tiny/profile": {"b": 1}})
    document = scenarios.merged(document, {"tiny/graphs": {"a": 2}, "voxcpm2/graphs": {"a": 3}})
    assert document["scenarios"] == {
        "tiny/graphs": {"a": 2},
        "tiny/profile": {"b": 1},
        "voxcpm2/graphs": {"a": 3},
    }
    assert document["goals_of_voxcpm2"] == {}


def test_goals_are_judged_by_what_was_measured() -> None:
    one = figures("short", 1, 1)
    found = verdicts({"concurrency": {"works": [one]}, "real_time": {"most_streams": 499}})
    assert found["one stream: step, ms"] == {
        "figure": one["step_ms_p50"],
        "goal": "at most 4",
        "met": False,
    }
    assert found["one stream: first audio, ms"]["met"]
    assert not found["most streams in real time"]["met"]
    assert len(found) == 3
    sizes = [{"unrecorded_all_patches": 0.0}, {"unrecorded_all_patches": 1e-9}]
    worst = {"unrecorded_other_endings": 1, "free_second_patch": 0.01, "rounding_second_patch": 0.02}
    worst["recorded_rounding_second_patch"] = 0.04
    found = verdicts({"graphs": {"worst": worst, "sizes": sizes}})
    assert found["graphs against eager: disagreements"]["figure"] == 2
    assert found["unpadded steps: difference, times what bf16 differs from fp32"]["met"]
    assert not found["recorded steps: distance from fp32, times that of unpadded ones"]["met"]


def test_the_profile_counts_gaps_and_overlaps() -> None:
    events = [
        {"name": "gemm", "ts": 100.0, "dur": 10.0},
        {"name": "copy", "ts": 105.0, "dur": 10.0},
        {"name": "gemm", "ts": 135.0, "dur": 5.0},
    ]
    assert busy_microseconds(events) == (20.0, 40.0)
    text = table(events, 1, 1e-3, "one")
    assert "50.0%" in text and "3 kernels and copies per step" in text
    assert text.index("gemm") < text.index("copy")
    assert busy_microseconds([]) == (0.0, 0.0)


def figures(text: str, streams: int, factor: float) -> dict[str, Any]:
    engine = Metronome(0.01 * factor)
    return {"text": text} | summary(run(engine, clips(text, streams, 4), engine.clock), 0.16)


def test_ratios_pair_the_same_work() -> None:
    ours = [figures("short", 1, 1), figures("short", 4, 1), figures("long", 4, 1)]
    theirs = [figures("long", 4, 2), figures("short", 1, 3)]
    rows = gpu_peer.ratios(ours, theirs)
    assert [(row["text"], row["streams"]) for row in rows] == [("short", 1), ("long", 4)]
    assert [row["step"] for row in rows] == [pytest.approx(3), pytest.approx(2)]
    assert all(row["audio_seconds_per_second"] == pytest.approx(row["step"]) for row in rows)


class PeerServer:
    """The part of the peer's server that is used; every step yields a patch of each request."""

    def __init__(self, model_path: str, **options: Any) -> None:
        self.options, self.left, self.registered = options, {}, set[str]()

    def register_lora(self, name: str, path: str) -> None:
        self.registered.add(name)

    def add_request(self, seq_id: str, target_text: str, **options: Any) -> None:
        named = {"lora_name"} & options.keys()
        assert options.keys() == {"max_generate_length", "cfg_value", "seed"} | named and target_text
        assert options.get("lora_name", "0") in {"0", *self.registered}
        self.left[seq_id] = options["max_generate_length"]

    def step(self) -> list[SimpleNamespace]:
        names = list(self.left)
        self.left = {name: left - 1 for name, left in self.left.items() if left > 1}
        return [SimpleNamespace(seq_id=name) for name in names]

    def is_finished(self) -> bool:
        return not self.left


def test_the_peer_is_driven_like_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = SimpleNamespace(VoxCPM2ServerImpl=PeerServer)
    monkeypatch.setattr(gpu_peer.importlib, "import_module", lambda name: server)
    (tmp_path / "config.json").write_text(json.dumps(shape_config("voxcpm2")))
    peer = gpu_peer.Peer(tmp_path, 4, 0.8)
    assert peer.patch_seconds == pytest.approx(0.16)
    result = run(peer, clips("long", 3))
    assert {len(arrivals) for arrivals in result.arrivals.values()} == {64}


def test_a_peer_that_is_not_there_says_so(tmp_path: Path) -> None:
    found = gpu_peer.measure_in_child(tmp_path, [("short", 1, None)], 60)
    assert found["works"] == [] and "not on PYTHONPATH" in found["failed"][-1]


def test_the_plot_is_a_drawing_of_all_lines() -> None:
    works = [figures(text, streams, 1) for text, streams in itertools.product(("short", "long"), (1, 16))]
    scenarios = {"tiny/concurrency": {"works": works, "machine": {"device": "A & B"}}}
    root = ElementTree.fromstring(plot({"scenarios": scenarios}, "tiny"))
    assert len(root.findall(".//{*}polyline")) == 4
    assert len(root.findall(".//{*}circle")) == 8
    ElementTree.fromstring(plot({"scenarios": {}}, "tiny"))


def arguments(tmp_path: Path, *more: str) -> list[str]:
    sizes = "--streams 1,2 --texts short --patches 4 --graph-sizes 2 --profiled 2 --low 1 --most 2"
    here = ["--shape", "tiny", "--device", "cpu", "--directory", str(tmp_path), "--results"]
    return [*here, str(tmp_path / "gpu.json"), *sizes.split(), "--ramp-seconds", "0.05", *more]


def test_a_run_of_the_scenarios_on_the_cpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert scenarios.main(["concurrency", "profile", "real_time", *arguments(tmp_path)]) == 0
    saved = json.loads((tmp_path / "gpu.json").read_text())["scenarios"]
    assert set(saved) == {"tiny/concurrency", "tiny/profile", "tiny/real_time"}
    assert [row["streams"] for row in saved["tiny/concurrency"]["works"]] == [1, 2]
    assert all(row["times_the_floor"] > 0 for row in saved["tiny/concurrency"]["works"])
    assert saved["tiny/concurrency"]["machine"]["copy_bytes_per_second"] > 0
    assert (tmp_path / "gpu_profile_tiny_2.txt").read_text().startswith("2 streams")
    ElementTree.fromstring((tmp_path / "gpu.tiny.svg").read_text())
    assert "ours    2 x short" in capsys.readouterr().out


def test_results_may_go_to_a_new_folder(tmp_path: Path) -> None:
    file = tmp_path / "new" / "gpu.json"
    assert scenarios.main(["profile", *arguments(tmp_path), "--results", str(file)]) == 0
    assert "tiny/profile" in json.loads(file.read_text())["scenarios"]


@pytest.mark.timeout(300)
def test_programs_and_free_steps_agree_on_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By short chunks: Triton's interpreter takes as long for a row that nobody needs as for any other."""
    short = functools.partial(ProgramPlan, text_chunks=((1, 16), (2, 32)), audio_chunks=((1, 16),))
    monkeypatch.setattr(voxcpm_engine, "ProgramPlan", short)
    options = ["--attention", "triton", "--max-model-len", "48"]
    assert scenarios.main(["graphs", *arguments(tmp_path, *options)]) == 0
    worst = json.loads((tmp_path / "gpu.json").read_text())["scenarios"]["tiny/graphs"]["worst"]
    assert worst["unrecorded_all_patches"] == 0 and worst["unrecorded_other_endings"] == 0
    assert 0 <= worst["free_first_patch"] < 0.05
    assert 0 < worst["rounding_first_patch"] < 0.5


def test_a_scenario_that_fails_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(bench: scenarios.Bench) -> dict[str, Any]:
        raise ValueError("no")

    monkeypatch.setitem(scenarios.SCENARIOS, "graphs", fail)
    monkeypatch.setitem(scenarios.SCENARIOS, "profile", lambda bench: {"files": []})
    assert scenarios.main(["graphs", "profile", *arguments(tmp_path)]) == 1
    assert set(json.loads((tmp_path / "gpu.json").read_text())["scenarios"]) == {"tiny/profile"}


def test_a_peer_that_is_not_there_fails_and_replaces_no_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = {"scenarios": {"tiny/peer": {"works": [figures("short", 1, 1)], "ratios": []}}}
    (tmp_path / "gpu.json").write_text(json.dumps(measured))
    monkeypatch.setitem(scenarios.SCENARIOS, "concurrency", lambda bench: {"works": []})
    assert scenarios.main(["concurrency", *arguments(tmp_path, "--peer")]) == 1
    saved = json.loads((tmp_path / "gpu.json").read_text())["scenarios"]
    assert saved["tiny/peer"] == measured["scenarios"]["tiny/peer"]
    assert "failed: peer" in capsys.readouterr().out


def test_start_up_is_measured_in_a_process_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--only-start-up", "--start-up-seqs", "2"]
    assert scenarios.main(["start_up", *arguments(tmp_path, *more)]) == 0
    result = json.loads(capsys.readouterr().out.rsplit(scenarios.MARK, 1)[1])
    assert result["seconds_to_ready"] == pytest.approx(sum(result["stages"].values()))
    assert result["max_num_seqs"] == 2


def test_start_up_is_measured_with_and_without_compiled_kernels(tmp_path: Path) -> None:
    assert scenarios.main(["start_up", *arguments(tmp_path, "--start-up-seqs", "2")]) == 0
    first = json.loads((tmp_path / "gpu.json").read_text())["scenarios"]["tiny/start_up"]
    assert first["seconds_to_ready"] > 0 and first["later"].keys() < first.keys()


def test_ranks_of_speech_are_measured_beside_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "PATCHES", 4)
    arguments = ["--shape", "tiny", "--device", "cpu", "--streams", "2", "--directory", str(tmp_path)]
    speech.main([*arguments, "--results", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())
    assert [run["ranks"] for run in found["runs"]] == [1, 2]
    assert all(run["works"][0]["rows_of_fullest_step"] == 2 for run in found["runs"])
