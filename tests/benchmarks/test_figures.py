"""The figures that documents cite are those of the results that are kept beside the benchmarks."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from benchmarks.gpu.checkpoints import shape_config
from benchmarks.voice import plot
from engine.kv_cache.pool import bytes_per_block
from models.voxcpm.config import VoxCPMConfig
from tests.benchmarks.figures import (
    ROOT,
    chaos_figures,
    gateway_figures,
    gpu_figures,
    open_loop_figures,
    ray_figures,
    results,
    resume_figures,
    service_figures,
    voice_figures,
)


@pytest.mark.parametrize("document", ["docs/numbers.md", "README.md"])
def test_a_document_cites_the_figures_of_the_gpu(document: str) -> None:
    text = " ".join((ROOT / document).read_text().split())
    assert [figure for figure in gpu_figures()[document] if figure not in text] == []


@pytest.mark.parametrize(
    "figures",
    [
        service_figures,
        open_loop_figures,
        chaos_figures,
        ray_figures,
        gateway_figures,
        resume_figures,
        voice_figures,
    ],
)
def test_the_numbers_cite_what_faults_and_load_came_to(figures: Any) -> None:
    text = (ROOT / "docs" / "numbers.md").read_text()
    assert [figure for figure in figures() if figure not in text] == []


def test_documents_cite_what_bringing_back_a_paused_clip_comes_to() -> None:
    found = results("paused")["cpu"]
    to_it, before_it = found["times_faster_to_the_patch"], found["times_faster_before_the_patch"]
    assert found["same_bits"] and found["clip_seconds"] == 60.0
    assert f"| {to_it} x; {before_it} x, the same bits" in (ROOT / "docs" / "numbers.md").read_text()
    memory = (ROOT / "docs" / "memory.md").read_text()
    assert f"{to_it} times sooner" in memory and f"{before_it} times without" in memory


def test_the_page_of_adapters_cites_what_all_layers_and_decoders_cost() -> None:
    document, found = (ROOT / "docs" / "adapters.md").read_text(), results("adapters_all_gpu")
    kinds = [("one stream", "1 different"), ("two streams", "2 different"), ("four streams", "4 different")]
    kinds += [
        ("many streams", kind) for kind in ("1 different", "8 different", "32 different", "all, 32 different")
    ]
    for part, kind in kinds:
        cells = []
        for targets in ("all", "decoder"):
            row = found[targets][part]
            cells.append(f"{row['step_ms'][kind]:.2f} ms, +{row['more_percent'][kind]:.1f} %")
        assert " | ".join(cells) + " |" in document, (part, kind)


def test_the_page_of_adapters_cites_what_they_cost_the_peer() -> None:
    document, found = (ROOT / "docs" / "adapters.md").read_text(), results("adapters_peer_gpu")
    sides = (
        {1: found["one stream"], 64: found["many streams"]},
        {row["streams"]: row for row in found["peer"]["32 slots"]["works"]},
    )
    kinds = ("1 different", "8 different", "32 different", "all, 32 different")
    for streams, kind in [(1, kinds[0]), *((64, kind) for kind in kinds)]:
        cells = []
        for side in sides:
            row = side[streams]
            plain, step = row["step_ms"]["plain"], row["step_ms"][kind]
            before = f"{plain:.2f} -> " if kind == kinds[0] else ""
            cells.append(f"{before}{step:.2f} ms, +{row['more_percent'][kind]:.1f} %")
        assert " | ".join(cells) + " |" in document, (streams, kind)
    readme = (ROOT / "README.md").read_text()
    for streams, kind in ((1, kinds[0]), (64, kinds[1])):
        ours, theirs = (f"{side[streams]['step_ms'][kind]:.1f} ms" for side in sides)
        assert f"| {ours} | nano-vllm-voxcpm in the same run {theirs} |" in readme
    without = {row["streams"]: row["step_ms"]["plain"] for row in found["peer"]["without slots"]["works"]}
    assert f"plain steps took {without[1]:.2f}\nand {without[64]:.2f} ms" in document


@pytest.mark.parametrize("shape", ["voxcpm2", "voxcpm1.5", "voxcpm-0.5b"])
def test_the_page_of_memory_says_what_a_position_takes(shape: str) -> None:
    config = VoxCPMConfig.from_dict(shape_config(shape))
    lm, layers = config.lm_config, config.lm_config.num_hidden_layers + config.residual_lm_num_layers
    position = bytes_per_block(layers, 1, lm.num_key_value_heads, lm.head_dim, torch.bfloat16)
    rate = 1 / config.patch_seconds
    clip = position * (60 * rate + 100)
    row = f"{position:,} B | {rate:g} | {clip / (1 << 20):.1f} MiB | {(1 << 30) / clip:.0f} |"
    assert row in (ROOT / "docs" / "memory.md").read_text()


def test_the_page_on_memory_cites_what_was_measured() -> None:
    document = (ROOT / "docs" / "memory.md").read_text()
    long, runs = results("long_context")["H100, 40,000 tokens"], results("paused")
    for side in ("device_only", "offloaded"):
        assert (
            f"| {long[side]['prompt_tokens_per_second']:,.0f} | {long[side]['ms_per_token']:.1f} ms"
            in document
        )
    alone, beside = runs["H100"], runs["H200, 64 beside"]
    back, computed, step = (alone[f"{name}_ms"] for name in ("brought_back", "computed", "step"))
    assert f"where a step takes {step} ms | {back} ms | {computed} ms |" in document
    assert f"if it had not been paused | {back - step:.2f} ms | {computed - step:.2f} ms |" in document
    back, computed, of_all, others = (
        beside[f"{name}_ms"] for name in ("brought_back", "computed", "step_of_all", "step_of_the_others")
    )
    assert f"whose steps take {others} ms, and {of_all} ms with the clip" in document
    assert f"until its next patch | {back} ms | {computed} ms |" in document
    rows = {
        "beyond a step with the clip": ("added_to_the_patch_ms", "ms"),
        "on average, against steps without the clip": ("mean_step_grows_by_percent", "% longer"),
    }
    for row, (figure, unit) in rows.items():
        cells = [f"{beside[f'{figure}, {side}']} {unit}" for side in ("brought back", "computed")]
        assert f"{row} | {' | '.join(cells)} |" in document


def test_the_numbers_cite_what_text_models_reach_on_gpus() -> None:
    document = (ROOT / "docs" / "numbers.md").read_text()
    columns = [f"{n} streams, ms a token" for n in (1, 8, 64)]
    columns += ["bench of 256, tokens a second", "prefill, tokens a second"]
    for run in results("llm_gpu"):
        for system, found in run["systems"].items():
            cells = [_cell(name, found[name]) if name in found else "" for name in columns]
            if len(run["systems"]) == 1:
                of = f"{ranks} x " if (ranks := run.get("tensor_parallel_size", 1)) > 1 else ""
                row = [f"{run['shape'].upper()}, {of}{run['device'].split()[1]}", *cells]
            else:
                name = run["shape"].upper() if system == "ours" else system
                row = [name, *cells, str(found["start to first tokens, s"])]
            assert f"| {' | '.join(row)} |".replace("|  |", "| |") in document


def _cell(name: str, figure: float) -> str:
    return f"{figure:,}" if "a second" in name else f"{figure:.3f}"


def test_the_document_tells_what_noise_does_to_a_voice() -> None:
    document = (ROOT / "docs" / "api.md").read_text()
    for row in results("noise")["rows"]:
        cells = (f"{row['as_it_is'][of]:.2f}, {row['denoised'][of]:.2f}" for of in ("recording", "clone"))
        assert f"| {row['behind']} | {' | '.join(cells)} |" in document


def test_the_drawing_of_the_voice_is_that_of_its_results() -> None:
    drawing = ROOT / "benchmarks" / "results" / "voice.svg"
    assert drawing.read_text() == plot.svg(results("voice"))


@pytest.mark.parametrize(
    ("file", "first", "without", "with_them"),
    [
        ("gpu_spare_rows_steps", "| streams | 32 | 48 |", "without rows to spare", "with them"),
        ("gpu_tiles_steps", "| streams | 6 | 8 |", "by the library", "by tiles"),
        ("gpu_many_rows_steps_voxcpm1.5", "| streams of VoxCPM1.5 |", "with neither", "with both"),
        ("gpu_many_rows_steps_voxcpm-0.5b", "| streams of VoxCPM-0.5B |", "with neither", "with both"),
    ],
)
def test_the_document_tells_the_steps_of_many_rows(
    file: str, first: str, without: str, with_them: str
) -> None:
    steps = {row["streams"]: row for row in results(file)["steps"]}
    told = (ROOT / "docs" / "numbers.md").read_text().splitlines()
    (head,) = [line for line in told if line.startswith(first)]
    streams = [int(cell) for cell in head.strip("| ").split(" | ")[1:]]
    for name, kind in ((without, "without_ms"), (with_them, "with_ms")):
        cells = [f"{min(steps[count][kind]):.2f} ms" for count in streams]
        assert f"| {name} | {' | '.join(cells)} |" in told
