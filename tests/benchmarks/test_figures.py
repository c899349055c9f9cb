"""The figures that documents cite are those of the results that are kept beside the benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.gpu.checkpoints import shape_config
from benchmarks.gpu.kernels import tiles
from benchmarks.voice import plot, report
from engine.kernels.linear import halved_linear
from engine.kernels.linear.spare_rows import FASTER_ROWS
from engine.kernels.linear.tilings import GATED_TILINGS, LINEAR_TILINGS
from engine.kv_cache.pool import bytes_per_block
from models.voxcpm.config import VoxCPMConfig

ROOT = Path(__file__).parents[2]
COUNTS = {3: "three", 4: "four", 5: "five", 6: "six"}
CHAOS_WORKERS = 3
TEXTS = ("short", "long")
SHAPES = ("", "_voxcpm1.5", "_voxcpm-0.5b")
"""Behind the names of files of results; VoxCPM2's have none."""


def results(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def gpu_figures() -> dict[str, list[str]]:
    """Of VoxCPM2 on a GPU, by document."""
    scenarios = results("gpu")["scenarios"]
    ours, theirs, times = (
        {(row["text"], row["streams"]): row for row in scenarios[f"voxcpm2/{name}"][rows]}
        for name, rows in (("concurrency", "works"), ("peer", "works"), ("peer", "ratios"))
    )

    def pair(figure: str, digits: int, *work: Any) -> str:
        return " | ".join(f"{side[work][figure]:.{digits}f} ms" for side in (ours, theirs))

    def audio(side: dict[Any, Any], streams: int) -> list[str]:
        return [f"{side[kind, streams]['audio_seconds_per_second']:.0f}" for kind in TEXTS]

    def more(kind: str, streams: int) -> str:
        return f"{times[kind, streams]['audio_seconds_per_second']:.1f} x"

    (short, long), (their_short, their_long) = audio(ours, 64), audio(theirs, 64)
    first = ["; ".join(f"{s[k, 64]['first_audio_ms_p50']:.0f} ms" for k in TEXTS) for s in (ours, theirs)]
    first_page = [
        "a step of 160 ms of audio | {} | nano-vllm-voxcpm {} |".format(
            *pair("step_ms_p50", 1, "short", 1).split(" | ")
        ),
        f"64 streams: seconds of audio per second | {short} | nano-vllm-voxcpm {their_short} |",
    ]
    told = [
        f"VAE included | {pair('step_ms_p50', 1, 'short', 1)} |",
        f"| one stream: first audio | {pair('first_audio_ms_p50', 1, 'short', 1)} |",
        f"seconds of audio per second | {short} | {their_short} ({more('short', 64)}) |",
        f"| 64 streams, long text | {long} | {their_long} ({more('long', 64)}) |",
        f"short; long text | {first[0]} | {first[1]} |",
        f"| {'; '.join(audio(ours, 256))} | {'; '.join(audio(theirs, 256))} "
        f"({more('short', 256)}; {more('long', 256)}) |",
        f"without an underrun | {scenarios['voxcpm2/real_time']['most_streams']} |",
        f"no kernel compiled yet | {scenarios['voxcpm2/start_up']['seconds_to_ready']:.0f} s |",
        f"later starts | {scenarios['voxcpm2/start_up']['later']['seconds_to_ready']:.0f} s |",
        f"floors are {ours['short', 1]['floor_ms']:.1f} ms at one stream",
        f"and {ours['short', 64]['floor_ms']:.1f} ms at 64",
    ]
    worst = scenarios["voxcpm2/graphs"]["worst"]
    free, rounded, recorded = (
        f"{worst[f'{which}_second_patch']:.2f}" for which in ("free", "rounding", "recorded_rounding")
    )
    told += [
        *other_shapes(scenarios),
        f"by up to {free} of the largest value, where bf16 itself differs from fp32 by up to {rounded}",
        f"recorded steps differ from fp32 by {recorded}, too",
    ]
    return {"docs/numbers.md": told, "README.md": first_page}


def other_shapes(scenarios: dict[str, Any]) -> list[str]:
    """Of VoxCPM1.5 and VoxCPM-0.5B, short texts."""
    step, first, audio = {}, {}, {}
    for shape in ("voxcpm1.5", "voxcpm-0.5b"):
        rows = [row for row in scenarios[f"{shape}/concurrency"]["works"] if row["text"] == "short"]
        by_streams = {row["streams"]: row for row in rows}
        step[shape] = f"{by_streams[1]['step_ms_p50']:.1f} ms"
        first[shape] = f"{by_streams[1]['first_audio_ms_p50']:.1f} ms"
        audio[shape] = f"{by_streams[64]['audio_seconds_per_second']:,.0f}"
    return [
        f"VoxCPM1.5 takes {step['voxcpm1.5']} for a step of 160 ms, {first['voxcpm1.5']} to the first audio, "
        f"and makes {audio['voxcpm1.5']} seconds of audio per second",
        f"VoxCPM-0.5B {step['voxcpm-0.5b']} for a step of 80 ms, {first['voxcpm-0.5b']}, "
        f"and {audio['voxcpm-0.5b']}.",
    ]


def chaos_figures() -> list[str]:
    found = results("chaos")
    kill, rounds = found["kill"], found["rolling"]["restarts"] // CHAOS_WORKERS
    pauses = [int(kill["pauses"][name] + 0.5) for name in ("p50_ms", "p99_ms")]
    return [
        f"| {kill['lost']} lost, {kill['wrong']} wrong, {kill['migrations']} migrations | 0, 0, 100 |",
        f"| p50 {pauses[0]} ms, p99 {pauses[1]} ms; beside other work",
        f"| p99 {found['stop']['pauses']['p99_ms']:.0f} ms, no stale frame |",
        f"| 0 lost, 0 wrong, {found['network']['migrations']} migrations | – |",
        f"| rolling restart of all workers, {COUNTS[rounds]} times, 1,000 requests |",
    ]


def ray_figures() -> list[str]:
    found = results("chaos_ray")
    names = ("ray", "ray_rolling", "ray_scale", "ray_machines")
    dying, rolling, scale, machines = (found[name] for name in names)
    voice = dying["bundled"]
    assert not any(one["lost"] or one["wrong"] for one in (dying, voice, rolling, scale, machines))
    moved = dying["migrations"] + voice["migrations"]
    return [
        f"{COUNTS[dying['nodes_killed']]} nodes lose power, and others come, under {dying['requests']:,} "
        f"requests and {voice['requests']} with the voice | `benchmarks/chaos/ray_fleet.py` | 0 lost, "
        f"0 wrong, {moved} migrations |",
        f"{COUNTS[rolling['versions'] - 1]} times under {rolling['requests']:,} requests |",
        f"to {COUNTS[scale['most_workers']]} by load, and back, {scale['requests']} requests |",
        f"from no machine to {COUNTS[machines['most_nodes']]} and back, {machines['requests']} requests |",
    ]


def gateway_figures() -> list[str]:
    found = {name: row["measured"] for name, row in results("gateway_load")["scenarios"].items()}
    several = found["gateways"]
    told = found["telemetry"]
    spread, step, first = found["latency_spread"], found["latency"], found["first_audio"]
    return [
        f"steps spread: p50 {spread['added_ms_p50']:.1f} ms, p99 {spread['added_ms_p99']:.1f} ms; "
        f"all workers in step: {step['added_ms_p50']:.1f}, {step['added_ms_p99']:.1f},",
        f"| p50 {first['added_ms_p50']:.1f} ms, p99 {first['added_ms_p99']:.1f} ms; on a faster day",
        f"| {found['overload']['goodput_share']:.0%} | 95 %".replace("%", " %", 1),
        f"| {several['jain_index']:.2f}; {several['used_share']:.0%}".replace("%", " %"),
        f"| {told['cost_share']:.1%}; {told['cost_share_of_everything']:.1%}".replace("%", " %"),
        f"| {found['leaving']['queued_ms_p99']:.0f} ms; {found['leaving']['streaming_ms_p99']:.0f} ms |",
        f"| {found['memory']['websocket_kib']} KiB; {found['memory']['http_kib']} KiB |",
        f"| {found['queue']['enqueue_ms_p99']:.2f} ms; {found['queue']['cost_ratio']:.2f} x |",
        f"| {found['tenants']['jain_index']:.2f}; {found['tenants']['bulk_wait_seconds_max']:.0f} s |",
    ]


def service_figures() -> list[str]:
    """What listeners of a whole service on a GPU hear."""

    def shown(seconds: float) -> str:
        return f"{seconds:.1f} s" if seconds >= 1 else f"{1e3 * seconds:.0f} ms"

    def first(row: dict[str, Any]) -> str:
        return "; ".join(shown(row["first_audio_seconds"][name]) for name in ("p50", "p99"))

    return [
        f"| {row['concurrency']} | {first(row)} | {row['audio_seconds_per_second']:.0f} | {row['underruns']} "
        f"| {first(row['together'])} |"
        for row in results("gpu_service")["shapes"]["voxcpm2"]["listeners"]
    ]


def open_loop_figures() -> list[str]:
    """What clients of OpenAI's route hear at fixed rates, and that each was heard whole."""
    rows = results("open_loop")["rates"]
    assert not any(row["errors"] or row["never_audible"] for row in rows)
    return [
        f"| {row['rate']:.0f} | {row['audible_ms']['p50']:.1f}; {row['audible_ms']['p95']:.1f} "
        f"| {row['audio_seconds_per_second']:.0f} | {row['requests_with_underruns']} of {row['requests']} |"
        for row in rows
    ]


def resume_figures() -> list[str]:
    """What resumed clips and prompts cost, with one program and with two."""
    before, now = results("gpu_resume")["voxcpm2"].values()
    firsts = [run["first_patch_ms_by_positions"] for run in (before, now)]
    return [f"{before['resumed_patch_ms']:.1f} -> {now['resumed_patch_ms']:.1f} ms"] + [
        f"{firsts[0][positions]:.1f} -> {firsts[1][positions]:.1f} " for positions in firsts[0]
    ]


@pytest.mark.parametrize("document", ["docs/numbers.md", "README.md"])
def test_a_document_cites_the_figures_of_the_gpu(document: str) -> None:
    text = " ".join((ROOT / document).read_text().split())
    assert [figure for figure in gpu_figures()[document] if figure not in text] == []


def voice_figures() -> list[str]:
    """How the bundled voice is judged: both tables."""
    return report.markdown(results("voice")).splitlines()


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
    steps = [
        "; ".join(
            f"{side[streams]['step_ms'][kind]:.1f} ms" for streams, kind in ((1, kinds[0]), (64, kinds[1]))
        )
        for side in sides
    ]
    assert f"| {steps[0]} | nano-vllm-voxcpm in the same run {steps[1]} |" in (ROOT / "README.md").read_text()
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


def test_halves_are_taken_where_they_were_seen_to_pay() -> None:
    for row in results("gpu_halves")["layers"]:
        outputs = {"DiT": 1024, "LM": 2048}[row["stack"]]
        taken = any(row["rows"] in rows for rows in halved_linear.paying_rows(outputs))
        assert taken == (row["halves_us"] < row["whole_us"]), row


@pytest.mark.parametrize("shape", SHAPES)
def test_spare_rows_are_taken_where_they_were_seen_to_pay(shape: str) -> None:
    found = results(f"gpu_spare_rows{shape}")
    for row in found["products"]:
        assert row.get("told") == FASTER_ROWS[row["outputs"], row["inputs"]].get(row["rows"]), row
        assert row.get("told_us", 0.0) < row["own_us"], row
    for row in found.get("layers", []):
        assert row["now_us"] < 1.02 * min(row["own_us"], row["halves_us"]), row


@pytest.mark.parametrize("shape", SHAPES)
def test_tiles_are_taken_where_they_were_seen_to_pay(shape: str) -> None:
    kinds = (
        ("gated", GATED_TILINGS[4096, 1024], tiles.GATED),
        ("whole", LINEAR_TILINGS[1280 if shape else 2560, 1024], tiles.WHOLE),
    )
    for row in results(f"gpu_tiles{shape}")["layers"]:
        for kind, told, tried in kinds:
            taken, library = row[f"{kind}_taken"], row["library_us"]
            assert told.get(row["rows"]) == tried.get(taken), row
            pays = [row[each] < 0.99 * library for name in tried if (each := f"{kind}_{name}_us") in row]
            assert (row["now_us"] < library) if taken else not any(pays), row


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
