"""The prompts of Asterisk as a folder that can be trained on: Allison Smith, 16 kHz, CC-BY-SA 3.0.

    apt-get download asterisk-core-sounds-en asterisk-core-sounds-en-g722    # dpkg -x each into FOLDER
    python3 -m benchmarks.voice.speakers.asterisk FOLDER OUT

`core-sounds-en.txt` has a line "name: what is said" for each file. Prompts in brackets are sounds, and very
short ones are single words: both are left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import soundfile

RATE = 16_000
SHORTEST_SECONDS, LONGEST_SECONDS = 1.2, 20.0
_LINE = re.compile(r"([\w/-]+): +(.+)")


def prompts(listing: str) -> Iterator[tuple[str, str]]:
    """Name and words of each line of core-sounds-en.txt that is speech."""
    for line in listing.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match and not set("[]()<>") & set(match[2]):
            yield match[1], " ".join(match[2].split())


def decoded(file: Path) -> np.ndarray:
    """float32 [samples] at RATE of a bare g722 file."""
    with av.open(str(file), format="g722") as container:
        frames = [frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)]
    return np.concatenate(frames).astype(np.float32) / 32768


def convert(folder: Path, out: Path) -> int:
    """Write recordings and train.jsonl; how many there are."""
    listing = gzip.decompress(next(folder.rglob("core-sounds-en.txt.gz")).read_bytes()).decode()
    sounds = next(folder.rglob("sounds")) / "en_US_f_Allison"
    out.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, text in prompts(listing):
        file = sounds / f"{name}.g722"
        samples = decoded(file) if file.is_file() else np.zeros(0, np.float32)
        if SHORTEST_SECONDS <= len(samples) / RATE <= LONGEST_SECONDS:
            wav = f"{name.replace('/', '-')}.wav"
            soundfile.write(out / wav, samples, RATE)
            lines.append(json.dumps({"audio": wav, "text": text}))
    (out / "train.jsonl").write_text("\n".join(lines) + "\n")
    return len(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    print(f"{convert(given.folder, given.out)} recordings in {given.out}")


if __name__ == "__main__":
    main()
