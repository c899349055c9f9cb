"""The command; see the package."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from benchmarks.voice import amounts
from benchmarks.voice.amounts.speaker import prepare
from benchmarks.voice.amounts.training import SETTINGS, Means, Row, train_all

PARTS = ("prepare", "train", "judge")


def main() -> None:
    parser = argparse.ArgumentParser(description=amounts.__doc__.splitlines()[0])
    parser.add_argument("recordings", type=Path, nargs="?", help="needed where DIR has none yet")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--minutes", type=float, nargs="+", default=[3, 10, 30])
    parser.add_argument("--setting", nargs="+", choices=SETTINGS, default=["default"])
    parser.add_argument("--shift", type=float, default=1.0)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--base", default="bundled")
    parser.add_argument("--device", default="cpu", help="to train on; speech is made and judged on the CPU")
    parser.add_argument("--threads", type=int, help="of each training; default: what others leave")
    parser.add_argument("--at-once", type=int, default=1, help="trainings beside each other")
    parser.add_argument("--most-seconds", type=float, default=math.inf, help="of each training")
    parser.add_argument("--sentences", type=int, default=40, help="to judge each by, of 300")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    given = parser.parse_args()
    rows = [Row(minutes, name, given.out) for minutes in given.minutes for name in given.setting]
    if "prepare" in given.only:
        if given.recordings is None:
            parser.error("RECORDINGS are needed to prepare")
        from gateway.text import normalise

        prepare(given.recordings, given.shift, lambda text: normalise(text).text, given.out / "speaker")
    means = Means(given.base, given.steps, given.device, given.threads, given.most_seconds)
    for some in [[row] for row in rows] if given.at_once == 1 else [rows]:
        if "train" in given.only:
            train_all(some, means, given.at_once)
        if "judge" in given.only:
            from benchmarks.voice.amounts.judging import judge_all

            judge_all(some, given.out, given.base, given.sentences)


if __name__ == "__main__":
    main()
