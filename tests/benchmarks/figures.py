"""Results of benchmarks, and how documents write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.voice import report

ROOT = Path(__file__).parents[2]
COUNTS = {3: "three", 4: "four", 5: "five", 6: "six"}
CHAOS_WORKERS = 3
TEXTS = ("short", "long")


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
    starts = scenarios["voxcpm2/start_up"]["with_adapters"]
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
        f"later ones | {starts['seconds_to_ready']:.0f} s; {starts['later']['seconds_to_ready']:.0f} s |",
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


def voice_figures() -> list[str]:
    """How the bundled voice is judged: both tables."""
    return report.markdown(results("voice")).splitlines()
