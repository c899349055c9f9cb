"""The results of `benchmarks/gpu` as a drawing: what the engines put out, and how long their steps take.

python -m benchmarks.gpu.plot benchmarks/results/gpu.json voxcpm2 benchmarks/results/gpu.svg
"""

from __future__ import annotations

import argparse
import json
import math
from html import escape
from pathlib import Path
from typing import Any

WIDTH, HEIGHT, MARGIN = 460, 340, 64
COLOURS = {
    "ours, short": "#1f6feb",
    "ours, long": "#8250df",
    "peer, short": "#d1242f",
    "peer, long": "#bf8700",
}
PANELS = (("audio_seconds_per_second", "seconds of audio per second"), ("step_ms_p50", "step, median, ms"))
Lines = dict[str, list[tuple[float, float]]]


def lines(works: dict[str, list[dict[str, Any]]], figure: str) -> Lines:
    """(streams, figure) of each engine and kind of text, by streams."""
    found: Lines = {}
    for engine, rows in works.items():
        for row in rows:
            found.setdefault(f"{engine}, {row['text']}", []).append((row["streams"], row[figure]))
    return {name: sorted(points) for name, points in found.items()}


def svg(works: dict[str, list[dict[str, Any]]], title: str) -> str:
    """Two panels over the number of streams, all axes logarithmic."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH}" height="{HEIGHT + 40}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{MARGIN}" y="20" font-size="14">{escape(title)}</text>',
    ]
    for place, (figure, label) in enumerate(PANELS):
        parts.append(f'<g transform="translate({place * WIDTH}, 30)">')
        parts += _panel(lines(works, figure), label)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(drawn: Lines, label: str) -> list[str]:
    points = [point for line in drawn.values() for point in line]
    if not points:
        return []
    columns = sorted({x for x, _ in points})
    low = 10 ** math.floor(math.log10(max(1e-6, min(y for _, y in points))))
    high = 10 ** math.ceil(math.log10(max(1e-5, max(y for _, y in points))))
    high = max(high, 10 * low)

    def across(x: float) -> float:
        share = math.log(x / columns[0]) / math.log(columns[-1] / columns[0]) if len(columns) > 1 else 0.5
        return MARGIN + share * (WIDTH - 1.5 * MARGIN)

    def down(y: float) -> float:
        return HEIGHT - MARGIN - math.log(max(y, low) / low) / math.log(high / low) * (HEIGHT - 1.6 * MARGIN)

    parts = [f'<text x="{MARGIN}" y="16">{escape(label)}</text>']
    for x in columns:
        parts.append(
            f'<text x="{across(x):.1f}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{x:g}</text>'
        )
    for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
        y = down(10.0**power)
        parts.append(
            f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN / 2}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
        )
    for place, (name, line) in enumerate(sorted(drawn.items())):
        colour = COLOURS.get(name, "#57606a")
        path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{across(x):.1f}" cy="{down(y):.1f}" r="3" fill="{colour}"/>' for x, y in line]
        parts.append(
            f'<text x="{MARGIN + place * 95}" y="{HEIGHT - 14}" fill="{colour}">{escape(name)}</text>'
        )
    return parts


def plot(document: dict[str, Any], shape: str) -> str:
    """The drawing for one shape of a results file."""
    scenarios = document["scenarios"]
    ours, peer = (scenarios.get(f"{shape}/{name}", {}) for name in ("concurrency", "peer"))
    works = {"ours": ours.get("works", []), "peer": peer.get("works", [])}
    return svg(works, f"{shape} on {ours.get('machine', {}).get('device', 'a machine')}, streams across")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("shape")
    parser.add_argument("svg", type=Path)
    arguments = parser.parse_args()
    arguments.svg.write_text(plot(json.loads(arguments.results.read_text()), arguments.shape))


if __name__ == "__main__":
    main()
