"""Recordings are found in the layouts that people have; what is wrong is told with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.voxcpm.finetuning.recordings.dataset import RUN_FILE, DatasetError, Recording, read_dataset


def touch(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"audio")


def test_a_transcript_may_stand_beside_each_recording(tmp_path: Path) -> None:
    touch(tmp_path / "b.flac", tmp_path / "deep" / "a.wav", tmp_path / "notes.md")
    (tmp_path / "b.txt").write_text("\ufeffGood\n morning. ")
    (tmp_path / "deep" / "a.txt").write_text("Hello.")
    found = read_dataset(tmp_path)
    assert found == [
        Recording(tmp_path / "b.flac", "Good morning."), Recording(tmp_path / "deep" / "a.wav", "Hello.")
    ]  # fmt: skip


def test_what_telephones_and_browsers_record_is_taken_unless_there_is_better(tmp_path: Path) -> None:
    touch(tmp_path / "a.m4a", tmp_path / "b.webm", tmp_path / "c.m4a", tmp_path / "c.wav")
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text("Hello.")
    found = [recording.audio.name for recording in read_dataset(tmp_path)]
    assert found == ["a.m4a", "b.webm", "c.wav"]


def test_samples_of_a_run_among_the_recordings_are_none_of_them(tmp_path: Path) -> None:
    for folder in (".", "anna/samples", "anna/step_0000100/samples", "more"):
        touch(tmp_path / folder / "1.wav")
        (tmp_path / folder / "1.txt").write_text("Hello.")
    touch(tmp_path / "anna" / RUN_FILE)
    found = [recording.audio for recording in read_dataset(tmp_path)]
    assert found == [tmp_path / "1.wav", tmp_path / "more" / "1.wav"]


def test_what_systems_hide_among_recordings_is_none_of_them(tmp_path: Path) -> None:
    """As on a disk that macOS has written to. The folder itself may lie in a hidden one."""
    data = tmp_path / ".cache" / "recordings"
    touch(data / "1.wav", data / "._1.wav", data / ".Trashes" / "2.wav", data / "__MACOSX" / "._3.wav")
    (data / "1.txt").write_text("Hello.")
    (data / "._1.txt").write_bytes(b"\x00\x05\x16\x07")
    assert read_dataset(data) == [Recording(data / "1.wav", "Hello.")]


def test_the_packages_manifest_names_files_beside_it(tmp_path: Path) -> None:
    touch(tmp_path / "clips" / "1.wav", tmp_path / "2.wav")
    lines = [
        {"audio": "clips/1.wav", "text": "One.", "duration": 1.0, "dataset_id": 3},
        {"audio": str(tmp_path / "2.wav"), "text": "Two."},
    ]
    manifest = tmp_path / "train.jsonl"
    manifest.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n")
    expected = [Recording(tmp_path / "clips" / "1.wav", "One.", "3"), Recording(tmp_path / "2.wav", "Two.")]
    assert read_dataset(tmp_path) == expected == read_dataset(manifest)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_end_where_json_lines_do(tmp_path: Path, end: str) -> None:
    touch(tmp_path / "1.wav", tmp_path / "2.wav")
    texts = ["One\u2028more\u0085line.", "Two."]
    lines = [
        json.dumps({"audio": f"{number}.wav", "text": text}, ensure_ascii=False) + end
        for number, text in enumerate(texts, 1)
    ]
    (tmp_path / "train.jsonl").write_bytes("".join(lines).encode())
    assert [item.text for item in read_dataset(tmp_path)] == texts


def test_ljspeechs_table_reads_the_spoken_form(tmp_path: Path) -> None:
    touch(tmp_path / "wavs" / "LJ1.wav", tmp_path / "wavs" / "LJ2.wav")
    (tmp_path / "metadata.csv").write_text("LJ1|In 1999|in nineteen ninety nine\nLJ2|Only this\n")
    assert [item.text for item in read_dataset(tmp_path)] == ["in nineteen ninety nine", "Only this"]


def test_ljspeechs_table_may_name_files_with_their_suffix(tmp_path: Path) -> None:
    touch(tmp_path / "1.WAV", tmp_path / "wavs" / "2.flac")
    (tmp_path / "metadata.csv").write_text("1.WAV|One.\n2.flac|Two.\n")
    expected = [Recording(tmp_path / "1.WAV", "One."), Recording(tmp_path / "wavs" / "2.flac", "Two.")]
    assert read_dataset(tmp_path) == expected


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("train.jsonl", "{", "train.jsonl, line 1 is not JSON"),
        ("train.jsonl", "[]", "line 1 is not an object"),
        ("train.jsonl", '\n{"audio": "a.wav"}', "line 2: text is missing or empty"),
        ("train.jsonl", '{"audio": "gone.wav", "text": "x"}', "gone.wav does not exist"),
        ("train.jsonl", '{"audio": "a.wav", "text": "x"}\n' * 2, "1 recordings more than once"),
        ("metadata.csv", "LJ1", "line 1 is not a name and a text"),
        ("metadata.csv", "LJ1|x", "there is no LJ1.wav"),
        ("other.md", "", "a.wav has no a.txt"),
        ("a.txt", "caf\u00e9", "a.txt is no text in UTF-8; save it as that"),
        ("metadata.csv", "a|caf\u00e9", "metadata.csv is no text in UTF-8"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, file: str, content: str, reason: str) -> None:
    touch(tmp_path / "a.wav")
    (tmp_path / file).write_text(content, encoding="latin-1")
    with pytest.raises(DatasetError, match=reason):
        read_dataset(tmp_path)


def test_a_folder_without_recordings_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no recording with a transcript"):
        read_dataset(tmp_path)
    with pytest.raises(DatasetError, match="neither a folder nor a manifest"):
        read_dataset(tmp_path / "gone")
