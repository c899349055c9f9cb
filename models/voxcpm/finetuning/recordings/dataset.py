"""Recordings with transcripts, in the layouts that people have.

train.jsonl      {"audio": "clips/1.wav", "text": "Good morning."} a line     the published package's
metadata.csv     LJ001-0001|raw text|normalised text, with wavs/LJ001-0001.wav  LJSpeech's
1.wav  1.txt     a transcript beside each recording
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.voxcpm.vae.audio_encoding import OF_RECORDERS

AUDIO_SUFFIXES = (".wav", ".flac", ".aiff", ".aif", ".ogg", ".opus", ".mp3", *OF_RECORDERS)
"""Of what `read_audio` reads, the best first."""
MOST_RECORDINGS = 50_000
MANIFESTS = ("train.jsonl", "metadata.jsonl", "manifest.jsonl")
LJSPEECH = "metadata.csv"
RUN_FILE = "work/run.json"
"""In the folder of a run: what that began with."""


class DatasetError(ValueError):
    """Data that cannot be trained on, and what to do about it."""


class OtherRunError(DatasetError):
    """What was learnt before began with other recordings or options, or is damaged."""


@dataclass(frozen=True)
class Recording:
    """A file, what is said in it, and by whom: "" where one speaker says everything."""

    audio: Path
    text: str
    speaker: str = ""


def read_dataset(path: Path) -> list[Recording]:
    """The recordings of a folder, or of a manifest. Raises DatasetError, naming file and line."""
    recordings = list(_recordings(path))
    if not recordings:
        raise DatasetError(f"{path} has no recording with a transcript")
    if len(recordings) > MOST_RECORDINGS:
        raise DatasetError(f"{path} has {len(recordings)} recordings, the limit is {MOST_RECORDINGS}")
    twice = len(recordings) - len({recording.audio for recording in recordings})
    if twice:
        raise DatasetError(f"{path} names {twice} recordings more than once")
    return recordings


def _recordings(path: Path) -> Iterator[Recording]:
    if path.is_file():
        return _from_jsonl(path)
    if not path.is_dir():
        raise DatasetError(f"{path} is neither a folder nor a manifest")
    manifest = next((path / name for name in MANIFESTS if (path / name).is_file()), None)
    if manifest:
        return _from_jsonl(manifest)
    if (path / LJSPEECH).is_file():
        return _from_ljspeech(path / LJSPEECH)
    return _from_pairs(path)


def _from_jsonl(manifest: Path) -> Iterator[Recording]:
    for number, line in _lines(manifest):
        where = f"{manifest.name}, line {number}"
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise DatasetError(f"{where} is not JSON: {error}") from error
        if not isinstance(entry, dict):
            raise DatasetError(f"{where} is not an object")
        audio, text = _text_of(entry, "audio", where), _text_of(entry, "text", where)
        speaker = entry.get("speaker", entry.get("dataset_id", ""))
        yield Recording(_existing(manifest.parent, audio, where), text.strip(), str(speaker))


def _text_of(entry: dict[str, Any], field: str, where: str) -> str:
    value = entry.get(field)
    if not isinstance(value, str) or not value.strip():
        raise DatasetError(f"{where}: {field} is missing or empty")
    return value


def _from_ljspeech(table: Path) -> Iterator[Recording]:
    """Columns: name of the file without its suffix, text as printed, text as spoken."""
    for number, line in _lines(table):
        where, columns = f"{table.name}, line {number}", line.split("|")
        if len(columns) < 2 or not columns[-1].strip():
            raise DatasetError(f"{where} is not a name and a text with | between them")
        name = columns[0].strip()
        name = name if name.lower().endswith(AUDIO_SUFFIXES) else f"{name}.wav"
        folders = (table.parent / "wavs", table.parent)
        found = next((folder / name for folder in folders if (folder / name).is_file()), None)
        if found is None:
            raise DatasetError(f"{where}: there is no {name}, in wavs or beside {table.name}")
        yield Recording(found, columns[-1].strip())


def _from_pairs(folder: Path) -> Iterator[Recording]:
    runs = {file.parents[1] for file in folder.rglob(RUN_FILE)}  # they hold samples, with their texts
    audio = sorted(
        file
        for file in folder.rglob("*")
        if file.suffix.lower() in AUDIO_SUFFIXES
        and runs.isdisjoint(file.parents)
        and not _is_hidden(file.relative_to(folder))
    )
    audio.sort(key=lambda file: AUDIO_SUFFIXES.index(file.suffix.lower()), reverse=True)
    audio = sorted({file.with_suffix(""): file for file in audio}.values())  # the best of each recording
    without = [file for file in audio if not file.with_suffix(".txt").is_file()]
    if without:
        raise DatasetError(
            f"{len(without)} recordings have no transcript beside them, as {without[0].name} has no "
            f"{without[0].with_suffix('.txt').name}; a transcript is a text file of the same name"
        )
    for file in audio:
        yield Recording(file, " ".join(_read_text(file.with_suffix(".txt")).split()))


def _is_hidden(file: Path) -> bool:
    """Systems put such beside what people copy: macOS a `._1.wav` for 1.wav, with no audio in it."""
    return any(part.startswith(".") for part in file.parts)


def _existing(folder: Path, name: str, where: str) -> Path:
    if not (folder / name).is_file():
        raise DatasetError(f"{where}: {name} does not exist")
    return folder / name


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    lines = _read_text(path).split("\n")  # strings of JSON may hold other separators
    return ((number, line) for number, line in enumerate(lines, 1) if line.strip())


def _read_text(path: Path) -> str:
    """Raises DatasetError, naming the file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path.name} is no text in UTF-8; save it as that") from error
    except OSError as error:
        raise DatasetError(f"{path.name} cannot be read: {error}") from error
