"""The results of `python -m benchmarks.voice` as text: a table of the voices, a line per other figure.

python -m benchmarks.voice.report benchmarks/results/voice.json      # as tables for documents
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.voice.judging.judge import described

Results = dict[str, Any]
HEADS = (
    "voice",
    "clips",
    "opinion score (teacher, before)",
    "worst",
    "word errors (teacher, before)",
    "stops",
)
HEADS += ("length", "pitch in Hz (teacher, reference)")


def text(results: Results, before: Results) -> str:
    """All there is in `results`; `before`: the voices of an earlier run."""
    voices, others = results.get("voices", {}), list(lines(results))
    blocks = [_aligned([HEADS, *rows(voices, before)])] if voices else []
    blocks.append(_aligned(others) if others else "")
    for voice, figures in voices.items():
        blocks.append("\n  ".join([f"worst clips of {voice}:", *map(described, figures["sentences"])]))
    blocks.append("\n".join(f"missed: {rule}" for rule in missed(results)) or "every goal is met")
    return "\n\n".join(filter(None, blocks))


def markdown(results: Results) -> str:
    """The figures as two tables, as docs/numbers.md has them."""
    tables = [[HEADS, ("---",) * len(HEADS), *rows(results.get("voices", {}), {})]]
    tables.append(
        [("what", "seen"), ("---", "---"), *((what.strip(), seen) for what, seen in lines(results))]
    )
    return "\n\n".join("\n".join(f"| {' | '.join(row)} |" for row in table) for table in tables) + "\n"


def goals(results: Results) -> dict[str, bool]:
    """Every rule that was looked at, by name, and whether it is kept."""
    found = {f"{v}: {r}": met for v, f in results.get("voices", {}).items() for r, met in f["goals"].items()}
    parts = [part for name, part in results.items() if name != "voices" and isinstance(part, dict)]
    return found | {rule: met for part in parts for rule, met in part.get("goals", {}).items()}


def missed(results: Results) -> list[str]:
    return [rule for rule, met in goals(results).items() if not met]


def rows(voices: Results, before: Results) -> list[tuple[str, ...]]:
    """One row per voice; figures of the teacher, and of the voice before, in brackets."""
    return [_row(voice, figures, before.get(voice)) for voice, figures in voices.items()]


def _row(voice: str, figures: Results, before: Results | None) -> tuple[str, ...]:
    def beside(name: str, digits: int) -> str:
        others = [figures[f"teacher_{name}"], *([before[name]] if before else [])]
        return f"{figures[name]:.{digits}f} ({', '.join(f'{other:.{digits}f}' for other in others)})"

    pitches = [f"{p:.0f}" if p else "-" for p in (figures["teacher_pitch_hz"], figures["reference_pitch_hz"])]
    return (
        voice,
        str(figures["clips"]),
        beside("mos", 2),
        f"{figures['mos_worst']:.2f} ({figures['teacher_mos_worst']:.2f})",
        beside("word_error_rate", 3),
        f"{figures['stop_rate']:.1%}",
        f"{figures['median_duration_ratio']:.2f}",
        f"{figures['pitch_hz'] or 0:.0f} ({', '.join(pitches)})",
    )


def _aligned(table: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
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
        yield "hard texts: word errors (teacher)", _errors(f)
        yield from ((f"  {kind}", _errors(row)) for kind, row in f["kinds"].items())
    if f := results.get("likeness"):
        yield "strangers: likeness, pitch off, word errors", _stranger(f)
        yield from ((f"  {name}", _stranger(row)) for name, row in f["strangers"].items())
    if f := results.get("continuing"):
        yield "going on: jump of pitch, word errors", f"{f['jump_percent']:.1f} %, {f['word_error_rate']:.3f}"
        for name, row in f["speakers"].items():
            own = f"(speaker {row['speaker_jump_percent']:.1f} %, {row['speaker_word_error_rate']:.3f})"
            yield f"  from {name}", f"{row['jump_percent']:.1f} %, {row['word_error_rate']:.3f} {own}"
    if f := results.get("story"):
        yield (
            "story: seconds, words a minute, word errors",
            (f"{f['audio_seconds']:.0f}, {f['words_a_minute']:.0f}, {f['word_error_rate']:.3f}"),
        )
        drift, teachers = f["worst_drift_percent"], f["teacher_worst_drift_percent"]
        yield "  pitch off the first 20 s (teacher), at most", f"{drift:.1f} % ({teachers:.1f} %)"
        yield "  words a minute off their mean, at most", f"{f['worst_pace_percent']:.1f} %"
    if f := results.get("speed"):
        yield "one stream: RTF, first audio", f"{f['rtf_alone']:.3f}, {f['first_audio_ms']:.0f} ms"
        yield "eight: RTF, worst", f"{f['rtf_of_eight']:.3f}, {f['rtf_of_eight_worst']:.3f}"


def _errors(figures: Results) -> str:
    return f"{figures['word_error_rate']:.3f} ({figures['teacher_word_error_rate']:.3f})"


def _stranger(figures: Results) -> str:
    off, errors = figures["pitch_off_percent"], figures["word_error_rate"]
    own = f" ({figures['own_word_error_rate']:.3f})" if "own_word_error_rate" in figures else ""
    return f"{figures['likeness']:.2f}, {off:.1f} %, {errors:.3f}{own}"


if __name__ == "__main__":
    print(markdown(json.loads(Path(sys.argv[1]).read_text())), end="")
