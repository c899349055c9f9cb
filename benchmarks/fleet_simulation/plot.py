"""The day as a drawing: workers and what the oracle needs, requests that wait."""

from __future__ import annotations

from benchmarks.fleet_simulation.day import Day
from benchmarks.fleet_simulation.traffic import DAY_SECONDS, Request

WIDTH, LEFT, TOP, TALL, LOW, GAP = 860, 56, 44, 240, 80, 34
_STEP_SECONDS = 120.0


def svg(day: Day, requests: list[Request], slots: int) -> str:
    """Two panels over the hours of the day."""
    needed = _needed(requests, slots)
    workers = [(at, float(count)) for at, count, *_ in day.curve]
    waiting = [(at, float(count)) for at, _, _, count, _ in day.curve]
    top = max(count for _, count in workers)
    second = TOP + TALL + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{second + LOW + 30}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="13">A day in virtual time: '
        '<tspan fill="#1f6feb">workers that run</tspan>, <tspan fill="#8c959f">workers that an oracle '
        "needs</tspan></text>",
        *_axis(TOP, TALL, top),
        _area(needed, TOP, TALL, top, "#d0d7de"),
        _line(workers, TOP, TALL, top, "#1f6feb"),
        f'<text x="{LEFT}" y="{second - 8}">requests that wait</text>',
        *_axis(second, LOW, max(count for _, count in waiting) or 1.0),
        _line(waiting, second, LOW, max(count for _, count in waiting) or 1.0, "#d1242f"),
    ]
    for hour in range(0, 25, 3):
        x = _x(hour * 3600)
        parts.append(f'<text x="{x}" y="{second + LOW + 18}" text-anchor="middle">{hour}:00</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _needed(requests: list[Request], slots: int) -> list[tuple[float, float]]:
    """Most workers within each step, as the oracle counts them."""
    events = sorted([(one.at, 1) for one in requests] + [(one.at + one.held_seconds, -1) for one in requests])
    steps = [0.0] * (int(DAY_SECONDS / _STEP_SECONDS) + 1)
    streams = 0
    for at, change in events:
        if at >= DAY_SECONDS:
            break
        streams += change
        place = int(at / _STEP_SECONDS)
        steps[place] = max(steps[place], -(-streams // slots))
    return [(place * _STEP_SECONDS, count) for place, count in enumerate(steps)]


def _x(at: float) -> float:
    return round(LEFT + (WIDTH - LEFT - 20) * at / DAY_SECONDS, 1)


def _points(values: list[tuple[float, float]], top: float, tall: float, most: float) -> str:
    """Where a value stays, only its ends."""
    kept = [
        value
        for before, value, after in zip([None, *values], values, [*values[1:], None], strict=False)
        if before is None or after is None or not before[1] == value[1] == after[1]
    ]
    return " ".join(f"{_x(at)},{top + tall * (1 - value / most):.1f}" for at, value in kept)


def _line(values: list[tuple[float, float]], top: float, tall: float, most: float, colour: str) -> str:
    return f'<polyline points="{_points(values, top, tall, most)}" fill="none" stroke="{colour}"/>'


def _area(values: list[tuple[float, float]], top: float, tall: float, most: float, colour: str) -> str:
    ends = f"{_x(0)},{top + tall} {_points(values, top, tall, most)} {_x(DAY_SECONDS)},{top + tall}"
    return f'<polygon points="{ends}" fill="{colour}"/>'


def _axis(top: float, tall: float, most: float) -> list[str]:
    drawn = []
    for tick in range(3):
        y = top + tall * (1 - tick / 2)
        drawn.append(f'<path d="M{LEFT} {y}H{WIDTH - 20}" stroke="#d0d7de"/>')
        drawn.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{most * tick / 2:.0f}</text>')
    return drawn
