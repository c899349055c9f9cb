"""The results of `python -m benchmarks.voice` as text: a table of the voices, a line per other figure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.voice.judge import described

Results = dict[str, Any]


def text(results: Results, before: Results) -> str:
    """All there is in `results`; `before`: the voices of an earlier run."""
    blocks = [table(results.get("voices", {}), before)] if results.get("voices") else []
    blocks.append("\n".join(f"{name:42}{value}" for name, value in lines(results)))
    for voice, figures in results.get("voices", {}).items():
        blocks.append("\n  ".join([f"worst clips of {voice}:", *map(described, figures["sentences"])]))
    blocks.append("\n".join(f"missed: {rule}" for rule in missed(results)) or "every goal is met")
    return "\n\n".join(filter(None, blocks))


def goals(results: Results) -> dict[str, bool]:
    """Every rule that was looked at, by name, and whether it is kept."""
    found = {f"{v}: {r}": met for v, f in results.get("voices", {}).items() for r, met in f["goals"].items()}
    parts = [part for name, part in results.items() if name != "voices" and isinstance(part, dict)]
    return found | {rule: met for part in parts for rule, met in part.get("goals", {}).items()}


def missed(results: Results) -> list[str]:
    return [rule for rule, met in goals(results).items() if not met]


def table(voices: Results, before: Results) -> str:
    """One line per voice; figures of the teacher, and of the voice before, in brackets."""
    rows = [("voice", "clips", "MOS (teacher, before)", "worst", "WER (teacher, before)", "stops")]
    rows[0] += ("length", "pitch (teacher, clip)")
    for voice, f in voices.items():
        pitches = [f"{p:.0f}" if p else "-" for p in (f["teacher_pitch_hz"], f["reference_pitch_hz"])]
        earlier = before.get(voice, {})
        mos = f"{earlier['mos']:.2f}" if earlier else "-"
        errors = f"{earlier['word_error_rate']:.3f}" if earlier else "-"
        rows.append(
            (
                voice,
                str(f["clips"]),
                f"{f['mos']:.2f} ({f['teacher_mos']:.2f}, {mos})",
                f"{f['mos_worst']:.2f} ({f['teacher_mos_worst']:.2f})",
                f"{f['word_error_rate']:.3f} ({f['teacher_word_error_rate']:.3f}, {errors})",
                f"{f['stop_rate']:.1%}",
                f"{f['median_duration_ratio']:.2f}",
                f"{f['pitch_hz'] or 0:.0f} ({', '.join(pitches)})",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    )


def lines(results: Results) -> Iterator[tuple[str, str]]:
    """(what, figure) of every other part that was measured."""
    if f := results.get("endings"):
        yield "endings: clips, stop by themselves", f"{f['clips']}, {f['stop_rate']:.1%}"
        yield (
            "  runaway, silent, cut, too long",
            ", ".join(str(f[name]) for name in ("runaway", "silent", "cut", "too_long")),
        )
    if f := results.get("hard"):
        yield "hard texts: WER (teacher)", _errors(f)
        yield from ((f"  {kind}", _errors(row)) for kind, row in f["kinds"].items())
    if f := results.get("likeness"):
        yield "strangers: likeness, pitch off, WER", _stranger(f)
        yield from ((f"  {name}", _stranger(row)) for name, row in f["strangers"].items())
    if f := results.get("continuing"):
        yield "going on: pitch jump, WER", f"{f['jump_percent']:.1f} %, {f['word_error_rate']:.3f}"
        for name, row in f["speakers"].items():
            own = f"(speaker {row['speaker_jump_percent']:.1f} %, {row['speaker_word_error_rate']:.3f})"
            yield f"  {name}", f"{row['jump_percent']:.1f} %, {row['word_error_rate']:.3f} {own}"
    if f := results.get("story"):
        yield (
            "story: seconds, words a minute, WER",
            (f"{f['audio_seconds']:.0f}, {f['words_a_minute']:.0f}, {f['word_error_rate']:.3f}"),
        )
        yield (
            "  drift of pitch, of pace, at most",
            (f"{f['worst_drift_percent']:.1f} %, {f['worst_pace_percent']:.1f} %"),
        )
    if f := results.get("speed"):
        yield (
            "one stream: RTF, first audio",
            f"{f['rtf_alone']:.3f}, {f['first_audio_ms']:.0f} ms",
        )
        yield "eight: RTF, worst", f"{f['rtf_of_eight']:.3f}, {f['rtf_of_eight_worst']:.3f}"


def _errors(figures: Results) -> str:
    return f"{figures['word_error_rate']:.3f} ({figures['teacher_word_error_rate']:.3f})"


def _stranger(figures: Results) -> str:
    off, errors = figures["pitch_off_percent"], figures["word_error_rate"]
    return f"{figures['likeness']:.2f}, {off:.1f} %, {errors:.3f}"
