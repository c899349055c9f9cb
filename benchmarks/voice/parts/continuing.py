"""Going on from a recording: is the text that follows understood, and is it the same pitch at the seam?

The recordings are sentences that the teachers of the named voices, and strangers, say; the model is given one
with its words and says the next sentence. Beside it stands what the same speaker does from sentence to
sentence, since a voice falls at the end of one and rises with the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.voice.judging.judge import endings, errors_in
from benchmarks.voice.judging.judges import Judges
from benchmarks.voice.judging.measures import median_pitch
from benchmarks.voice.speakers.readers import Clip, ModelReader, TeacherReader
from benchmarks.voice.speakers.strangers import SPEAKERS
from models.voxcpm.training.speech.teachers import Speaker

SPEAKERS_CONTINUED = {
    "heart": Speaker("heart"),
    "joe": Speaker("joe"),
    "heart's throat, low": SPEAKERS["heart's throat, low"],
    "joe, short throat": SPEAKERS["joe, short throat"],
}
MOST_TIMES_ALONE, MOST_JUMP_PERCENT = 1.6, 8.0


def measure(reader: ModelReader, teacher: TeacherReader, judges: Judges, texts: list[str]) -> dict[str, Any]:
    """Of each speaker every text but the first is said as what follows the one before."""
    rows, everything, all_heard = {}, [], []
    for name, speaker in SPEAKERS_CONTINUED.items():
        recordings = [teacher.record(text, speaker) for text in texts]
        jobs = [
            {"text": text, "prompt_audio": before.audio, "prompt_text": f"{before.text} "}
            for before, text in zip(recordings, texts[1:], strict=False)
        ]
        clips = reader.read_all(jobs)
        heard = [judges.words(clip.samples) for clip in clips]
        own = [recording.clip for recording in recordings]
        rows[name] = {
            "word_error_rate": errors_in(clips, heard),
            "speaker_word_error_rate": errors_in(own[1:], [judges.words(clip.samples) for clip in own[1:]]),
            "jump_percent": jump_percent(own, clips),
            "speaker_jump_percent": jump_percent(own, own[1:]),
            "clips": [
                {"text": clip.text, "heard": words, "finish_reason": clip.finish_reason}
                for clip, words in zip(clips, heard, strict=True)
            ],
        }
        everything += clips
        all_heard += heard
    return {
        **endings(everything),
        "speakers": rows,
        "word_error_rate": errors_in(everything, all_heard),
        "jump_percent": float(np.nanmean([row["jump_percent"] for row in rows.values()])),
    }


def jump_percent(before: list[Clip], after: list[Clip]) -> float:
    """Median over pairs of how far the median pitch of a clip is from that of the clip before it."""
    pairs = zip(before, after, strict=False)
    steps = [np.log(median_pitch(b.samples) / median_pitch(a.samples)) for a, b in pairs]
    return float(100 * np.expm1(np.nanmedian(np.abs(steps))))


def goals(figures: dict[str, Any], default_errors: float | None) -> dict[str, bool]:
    """default_errors: word error rate of the default voice, where it was measured."""
    met = {
        f"going on from a recording: pitch jumps <= {MOST_JUMP_PERCENT:.0f} %": figures["jump_percent"]
        <= MOST_JUMP_PERCENT
    }
    if default_errors is not None:
        rule = f"going on from a recording: word error rate <= {MOST_TIMES_ALONE} x the default voice's"
        met[rule] = figures["word_error_rate"] <= MOST_TIMES_ALONE * default_errors
    return met
