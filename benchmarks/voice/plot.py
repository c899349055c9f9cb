"""The results of `python -m benchmarks.voice` as a drawing: opinion scores, word errors, a story's pitch.

python -m benchmarks.voice.plot benchmarks/results/voice.json benchmarks/results/voice.svg
"""

from __future__ import annotations

import argparse
import json
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.voice.parts.story import MOST_DRIFT_PERCENT, WINDOW_SECONDS

WIDTH, HEIGHT, MARGIN, TOP = 300, 220, 46, 34
OURS, TEACHERS, GOAL = "#1f6feb", "#8c959f", "#1a7f37"


def svg(results: dict[str, Any]) -> str:
    """One panel per kind of figure that is there."""
    panels = []
    if voices := results.get("voices"):
        panels.append(("opinion score: mean, and worst clip", _scores(voices)))
        panels.append(("word error rate, %", _errors(results)))
    if story := results.get("story"):
        panels.append(("a story of five minutes: pitch, % off its start", _drift(story)))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{len(panels) * WIDTH}" height="{HEIGHT + TOP}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for place, (title, drawn) in enumerate(panels):
        parts.append(f'<g transform="translate({place * WIDTH}, {TOP})">')
        parts.append(f'<text x="{MARGIN}" y="-14" font-size="12">{escape(title)}</text>')
        parts += [*drawn, "</g>"]
    key = f'<tspan fill="{OURS}">voice</tspan> <tspan fill="{TEACHERS}">teacher</tspan>'
    return "\n".join([*parts, f'<text x="8" y="{HEIGHT + TOP - 6}">{key}</text>', "</svg>"]) + "\n"


class _Scale:
    """Figures between `low` and `high` as places from the bottom of a panel to its top."""

    def __init__(self, low: float, high: float, ticks: int = 4) -> None:
        self._low, self._high, self._ticks = low, high, ticks

    def at(self, value: float) -> float:
        share = (min(max(value, self._low), self._high) - self._low) / (self._high - self._low)
        return round((HEIGHT - MARGIN) * (1 - share), 1)

    def axis(self) -> list[str]:
        drawn = []
        for tick in range(self._ticks + 1):
            value = self._low + (self._high - self._low) * tick / self._ticks
            y = self.at(value)
            drawn.append(f'<path d="M{MARGIN} {y}H{WIDTH - 10}" stroke="#d0d7de"/>')
            drawn.append(f'<text x="{MARGIN - 6}" y="{y + 4}" text-anchor="end">{value:.3g}</text>')
        return drawn


def _places(count: int) -> list[float]:
    step = (WIDTH - MARGIN - 10) / max(count, 1)
    return [round(MARGIN + step * (place + 0.5), 1) for place in range(count)]


def _label(x: float, words: str) -> str:
    return f'<text x="{x}" y="{HEIGHT - MARGIN + 14}" text-anchor="middle">{escape(words)}</text>'


def _scores(voices: dict[str, Any]) -> list[str]:
    scale = _Scale(1, 5)
    drawn = scale.axis()
    for x, (voice, f) in zip(_places(len(voices)), voices.items(), strict=True):
        drawn.append(_label(x, voice))
        for offset, prefix, colour in ((-8, "", OURS), (8, "teacher_", TEACHERS)):
            mean, worst = scale.at(f[f"{prefix}mos"]), scale.at(f[f"{prefix}mos_worst"])
            drawn.append(f'<path d="M{x + offset} {mean}V{worst}" stroke="{colour}" stroke-width="2"/>')
            drawn += [f'<circle cx="{x + offset}" cy="{y}" r="4" fill="{colour}"/>' for y in (mean, worst)]
    return drawn


def _errors(results: dict[str, Any]) -> list[str]:
    rows = [(v, f["word_error_rate"], f["teacher_word_error_rate"]) for v, f in results["voices"].items()]
    names = {"hard": "hard", "likeness": "stranger", "continuing": "going on", "story": "story"}
    rows += [
        (label, results[name]["word_error_rate"], results[name].get("teacher_word_error_rate"))
        for name, label in names.items()
        if name in results
    ]
    scale = _Scale(0, 10 * (1 + int(10 * max(errors for _, errors, _ in rows))))
    drawn = scale.axis()
    for x, (label, ours, teachers) in zip(_places(len(rows)), rows, strict=True):
        drawn.append(_label(x, label))
        for offset, errors, colour in ((-7, ours, OURS), (0, teachers, TEACHERS)):
            if errors is not None:
                y = scale.at(100 * errors)
                size = f'width="7" height="{round(HEIGHT - MARGIN - y, 1)}"'
                drawn.append(f'<rect x="{x + offset}" y="{y}" {size} fill="{colour}"/>')
    return drawn


def _drift(story: dict[str, Any]) -> list[str]:
    scale = _Scale(-2 * MOST_DRIFT_PERCENT, 2 * MOST_DRIFT_PERCENT)
    percents = story["drift_percent"]
    points = " ".join(f"{x},{scale.at(p)}" for x, p in zip(_places(len(percents)), percents, strict=True))
    borders = [
        f'<path d="M{MARGIN} {scale.at(p)}H{WIDTH - 10}" stroke="{GOAL}" stroke-dasharray="4 3"/>'
        for p in (-MOST_DRIFT_PERCENT, MOST_DRIFT_PERCENT)
    ]
    line = f'<polyline points="{points}" fill="none" stroke="{OURS}" stroke-width="2"/>'
    minutes = len(percents) * WINDOW_SECONDS / 60
    return [*scale.axis(), *borders, line, _label(WIDTH - 40, f"{minutes:.1f} min")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("svg", type=Path)
    options = parser.parse_args()
    options.svg.write_text(svg(json.loads(options.results.read_text())))


if __name__ == "__main__":
    main()
