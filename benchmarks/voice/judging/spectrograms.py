"""Spectrograms as PNG files, to see what is wrong with a clip: time to the right, 0 to 8 kHz upwards."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from benchmarks.voice.speakers.readers import Clip

WINDOW, HOP, FLOOR_DB = 512, 80, 70.0
COLOURS = np.array([(0, 0, 4), (81, 18, 124), (183, 55, 121), (252, 137, 97), (252, 253, 191)], np.float64)
"""From silent to loud (the map "magma" of matplotlib at five points)."""


def spectrogram(samples: np.ndarray) -> np.ndarray:
    """uint8 [256, frames, 3]: a frame every 5 ms, levels down to FLOOR_DB below the loudest."""
    padded = np.pad(samples, (WINDOW // 2, WINDOW))
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP] * np.hanning(WINDOW)
    power = 20 * np.log10(np.abs(np.fft.rfft(frames))[:, :256].T[::-1] + 1e-9)
    shares = np.clip(1 + (power - power.max()) / FLOOR_DB, 0, 1) * (len(COLOURS) - 1)
    channels = [np.interp(shares, np.arange(len(COLOURS)), COLOURS[:, channel]) for channel in range(3)]
    return np.rint(np.stack(channels, axis=2)).astype(np.uint8)


def write_png(path: Path, picture: np.ndarray) -> None:
    """picture: uint8 [height, width, 3]."""
    import av

    with av.open(str(path), "w", format="image2") as container:
        stream = container.add_stream("png", rate=1)
        stream.width, stream.height, stream.pix_fmt = picture.shape[1], picture.shape[0], "rgb24"
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
        for packet in (*stream.encode(frame), *stream.encode(None)):
            container.mux(packet)


def write_spectrograms(folder: Path, voice: str, clips: list[tuple[Clip, Clip]]) -> None:
    """`folder/VOICE-01-the-first-words.png`, ...: each clip above the teacher's of the same text."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, pair in enumerate(clips, start=1):
        pictures = [spectrogram(clip.samples) for clip in pair]
        width = max(picture.shape[1] for picture in pictures)
        rows = [np.pad(p, ((0, 8), (0, width - p.shape[1]), (0, 0))) for p in pictures]
        words = re.sub(r"[^a-z]+", "-", pair[0].text.lower())[:32].strip("-")
        write_png(folder / f"{voice}-{place:02d}-{words}.png", np.concatenate(rows))
