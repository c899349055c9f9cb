"""A session's timeline: what the lines of its journal add up to.

    {"version": 1, "id", "kind", "created_at", "request": {...}, "outcome", "sample_rate",
     "audio_seconds", "wall_seconds",
     "utterances": [{"index", "text", "parameters", "at", "ended_at", "sample_rate", "first_sample",
                     "samples", "audio": "audio/0000.wav", "outcome", "workers": ["w0"], "migrations",
                     "parts": [{"start", "end", "first_sample", "end_sample", "in_words",
                                "respelt": {}, "language", "pause_samples"}],
                     "words": [{"start", "end", "first_sample", "end_sample", "estimated": true}],
                     "chunks": [{"at", "first_sample", "samples"}]}],
     "events": [{"at", "kind", ...}]}

`at` counts seconds from the beginning of the session. `start` and `end` are characters of the utterance's
text, samples count from the beginning of the utterance; its own `first_sample` is its place in merged.wav.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from gateway.text import Lexicon, Spoken, normalise
from gateway.timing.estimate import estimate

VERSION = 1


def build(lines: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The timeline of a journal, whole or cut off."""
    timeline: dict[str, Any] = {"version": VERSION, "outcome": None, "utterances": [], "events": []}
    utterances: dict[int, dict[str, Any]] = {}
    for line in lines:
        kind = line.pop("type", None)
        if kind == "session":
            timeline.update(line)
        elif kind == "utterance":
            utterances[line["index"]] = _new_utterance(line)
        elif kind == "event":
            timeline["events"].append(line)
        elif kind == "end":
            timeline["outcome"] = line.get("outcome")
            timeline["wall_seconds"] = line.get("at")
        elif (utterance := utterances.get(line.get("index", -1))) is not None:
            _add(utterance, kind, line)
    timeline["utterances"] = [utterances[index] for index in sorted(utterances)]
    _place(timeline)
    return timeline


def _new_utterance(line: dict[str, Any]) -> dict[str, Any]:
    counted = {"sample_rate": None, "first_sample": 0, "samples": 0, "audio": None, "outcome": None}
    lists = {name: [] for name in ("workers", "parts", "words", "chunks")}
    return {**line, **counted, "ended_at": None, "migrations": 0, **lists}


def _add(utterance: dict[str, Any], kind: str, line: dict[str, Any]) -> None:
    if kind == "audio":
        chunk = {"at": line["at"], "first_sample": utterance["samples"], "samples": line["samples"]}
        utterance["chunks"].append(chunk)
        utterance["samples"] += line["samples"]
        utterance["audio"] = f"audio/{line['index']:04d}.wav"
        utterance["sample_rate"] = line.get("sample_rate", utterance["sample_rate"])
    elif kind == "spoken":
        part = {name: line[name] for name in ("start", "end", "first_sample")}
        part |= {"end_sample": line.get("end_sample"), "in_words": line.get("in_words", False)}
        part |= {"respelt": line.get("respelt", {}), "language": line.get("language")}
        part["pause_samples"] = line.get("pause_samples", 0)
        _add_part(utterance["parts"], part, bool(line.get("again")))
    elif kind == "words":
        estimated = line.get("source") != "aligned"
        names = ("start", "end", "first_sample", "end_sample")
        utterance["words"] += (
            {**dict(zip(names, word, strict=True)), "estimated": estimated} for word in line["words"]
        )
    elif kind == "worker":
        utterance["migrations"] += bool(utterance["workers"])
        utterance["workers"].append(line["worker_id"])
    elif kind == "utterance_end":
        utterance["outcome"], utterance["ended_at"] = line.get("outcome"), line["at"]


def _add_part(parts: list[dict[str, Any]], part: dict[str, Any], again: bool) -> None:
    """`again`: the last one begins anew, and what was heard of it belongs to none."""
    if again and parts:
        cut = parts.pop()
        if parts and parts[-1]["end_sample"] is None:
            parts[-1]["end_sample"] = cut["first_sample"] - cut["pause_samples"]
    parts.append(part)


def _place(timeline: dict[str, Any]) -> None:
    """What is known only when all is there: places in the merged clip, ends of parts, times of words."""
    samples, seconds = 0, 0.0
    for utterance in timeline["utterances"]:
        utterance["first_sample"] = samples
        samples += utterance["samples"]
        seconds += utterance["samples"] / (utterance["sample_rate"] or 1)
        _end_parts(utterance)
        utterance["words"] = _words(utterance)
    rates = [utterance["sample_rate"] for utterance in timeline["utterances"] if utterance["sample_rate"]]
    timeline["sample_rate"] = rates[0] if rates else None
    timeline["audio_seconds"] = round(seconds, 6)


def _words(utterance: dict[str, Any]) -> list[dict[str, Any]]:
    """The words of each part as they were told, else estimated; none after the end of what was recorded."""
    told, found = utterance["words"], []
    for part in utterance["parts"]:
        within = [word for word in told if part["start"] <= word["start"] < part["end"]]
        found += within or estimate_words(utterance["text"], part, utterance["sample_rate"] or 1)
    for word in found:
        for place in ("first_sample", "end_sample"):
            word[place] = min(word[place], utterance["samples"])
    return found


def _end_parts(utterance: dict[str, Any]) -> None:
    """A part ends where the next one begins; without any, the whole text is one."""
    samples = utterance["samples"]
    if not utterance["parts"] and samples:
        utterance["parts"] = [{"start": 0, "end": len(utterance["text"]), "first_sample": 0}]
    parts = utterance["parts"]
    for part, following in zip_longest(parts, parts[1:]):
        if part.get("end_sample") is None:
            before = following["first_sample"] - following.get("pause_samples", 0) if following else samples
            part["end_sample"] = before
        part["end_sample"] = max(part["first_sample"], min(part["end_sample"], samples))


def estimate_words(text: str, part: dict[str, Any], sample_rate: int) -> list[dict[str, Any]]:
    """When the words of a part are spoken, where nobody has told: by the text and the length of its audio."""
    seconds = (part["end_sample"] - part["first_sample"]) / sample_rate
    spoken = as_spoken(text[part["start"] : part["end"]], part)
    found = []
    for word in estimate(spoken, [(0.0, seconds)]).words:
        first, last = (
            part["first_sample"] + round(at * sample_rate) for at in (word.start_seconds, word.end_seconds)
        )
        start, end = word.start + part["start"], word.end + part["start"]
        found.append(
            {"start": start, "end": end, "first_sample": first, "end_sample": last, "estimated": True}
        )
    return found


def as_spoken(text: str, part: dict[str, Any]) -> Spoken:
    """The text of a part as it was said."""
    lexicon = Lexicon.of(part.get("respelt", {}))
    if not part.get("in_words"):
        return lexicon.respell(text)[0]
    return normalise(text, part.get("language"), lexicon)
