"""What users get wrong about recordings is found before a step is made."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.finetuning.recordings.checks import Checks, of_all, pitch, summary
from models.voxcpm.finetuning.recordings.corpus import Spoken, encode, examine
from models.voxcpm.finetuning.recordings.dataset import DatasetError, Recording
from models.voxcpm.finetuning.recordings.speech import LEVEL_DB, prepare
from models.voxcpm.vae.audio_encoding import read_audio
from tests.models.finetuning.conftest import RATE, WORDS, voiced, write

TEXT = WORDS * 2


def kinds(checkpoint: Checkpoint, samples: np.ndarray, text: str = TEXT, rate: int = RATE) -> set[str]:
    checks = Checks(checkpoint.tokenizer, longest_seconds=8, rate=RATE)
    recording = Recording(Path("clip.wav"), text)
    return {finding.kind for finding in checks.of_recording(recording, text, prepare(samples, rate, RATE))}


def test_speech_is_trimmed_and_brought_to_one_level() -> None:
    for level in (0.02, 0.2):
        speech = prepare(voiced(2, level=level, lead=1.5), RATE, RATE)
        assert speech.lead_seconds == pytest.approx(1.5, abs=0.05)
        assert speech.seconds == pytest.approx(2.25, abs=0.1)
        assert 10 * np.log10(np.square(speech.samples[3200:-4000]).mean()) == pytest.approx(LEVEL_DB, abs=1)
        assert speech.level_db == pytest.approx(20 * np.log10(level) - 2, abs=3)


def test_good_recordings_have_no_finding(checkpoint: Checkpoint) -> None:
    assert kinds(checkpoint, voiced(2)) == set()


@pytest.mark.parametrize(
    ("kind", "samples", "text"),
    [
        ("short", voiced(0.4), TEXT),
        ("long", voiced(9), TEXT * 4),
        ("mismatch", voiced(3), "hi"),
        ("mismatch", voiced(2), TEXT * 9),
        ("language", voiced(2), "\u0928\u092e\u0938\u094d\u0924\u0947 " * 4),
        ("clipped", np.clip(voiced(2, level=1.5), -1, 1), TEXT),
        ("quiet", voiced(2, level=0.002), TEXT),
        (
            "noisy",
            voiced(2) + 0.05 * np.random.default_rng(0).standard_normal(35200).astype(np.float32),
            TEXT,
        ),
        ("silence", voiced(2, lead=1.4), TEXT),
    ],
)
def test_each_fault_is_found(checkpoint: Checkpoint, kind: str, samples: np.ndarray, text: str) -> None:
    assert kind in kinds(checkpoint, samples, text)


def test_the_constant_offset_of_a_microphone_is_no_sound() -> None:
    recorded = np.pad(voiced(2, lead=0), (3 * RATE, 3 * RATE)).astype(np.float32)
    without, offset = prepare(recorded, RATE, RATE), prepare(recorded + np.float32(0.02), RATE, RATE)
    assert (offset.start, len(offset.samples)) == (without.start, len(without.samples))
    assert offset.tail_seconds == without.tail_seconds > 2
    assert offset.noise_db == pytest.approx(without.noise_db)


def test_a_narrow_recording_is_told(checkpoint: Checkpoint) -> None:
    assert kinds(checkpoint, voiced(2)[::2], rate=RATE // 2) == {"narrow"}


def test_pitch_is_heard_and_two_people_are_told_apart() -> None:
    for frequency in (90, 130, 220):
        assert pitch(voiced(2, frequency), RATE) == pytest.approx(frequency, rel=0.02)
    noise = 0.1 * np.random.default_rng(0).standard_normal(2 * RATE).astype(np.float32)
    assert pitch(noise, RATE) is None
    one = [prepare(voiced(4, 110 + i), RATE, RATE) for i in range(10)]
    two = [prepare(voiced(4, 210 if i % 2 else 100), RATE, RATE) for i in range(10)]
    assert of_all(one, 1) == [] and of_all(two, 2) == []
    assert "several people" in summary(of_all(two, 1))[0].message
    with pytest.raises(DatasetError, match="13 s of speech can be used"):
        of_all(one[:3], 1)


def test_a_single_recording_is_refused_with_what_to_do() -> None:
    with pytest.raises(DatasetError, match="at least 2 are needed: add others, or cut it at sentences"):
        of_all([prepare(voiced(31), RATE, RATE)], 1)


@pytest.mark.parametrize(("count", "held_out"), [(2, 1), (3, 2), (30, 2), (100, 8), (1000, 24)])
def test_some_recordings_are_held_out_and_never_all(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, held_out: int
) -> None:
    patches = np.zeros((1, 2, 4), np.float32)
    monkeypatch.setattr("models.voxcpm.finetuning.recordings.corpus._latents", lambda *given: patches)
    speech = prepare(voiced(1), RATE, RATE)
    spoken = [
        Spoken(Recording(tmp_path / f"{i}.wav", text := f"{TEXT} {i}"), text, speech) for i in range(count)
    ]
    material = encode(spoken, checkpoint, tmp_path, lambda state, share: None)
    assert len(material.held_out_texts) == len(material.held_out.num_tokens) == held_out
    assert len(material.heard) == len(material.learnt.num_tokens) == count - held_out


def test_who_is_held_out_is_called_as_in_training(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patches = np.zeros((1, 2, 4), np.float32)
    monkeypatch.setattr("models.voxcpm.finetuning.recordings.corpus._latents", lambda *given: patches)
    speech = prepare(voiced(1), RATE, RATE)
    recordings = [Recording(tmp_path / f"{i}.wav", TEXT, "ann" if i < 9 else "ben") for i in range(10)]
    spoken = [Spoken(recording, TEXT, speech) for recording in recordings]
    material = encode(spoken, checkpoint, tmp_path, lambda state, share: None)
    assert set(material.held_out.voice) == {0}
    assert material.held_out.voices == material.learnt.voices == ("speaker ann", "speaker ben")


def test_what_is_too_long_with_its_text_is_left_out(checkpoint: Checkpoint, tmp_path: Path) -> None:
    file = write(tmp_path, "one", voiced(2), TEXT)
    spoken, findings = examine([Recording(file, TEXT)], checkpoint, 8, 256, str, lambda state, share: None)
    assert not spoken and [finding.kind for finding in findings] == ["long"]
    assert "with its text it has" in findings[0].detail


def test_samples_wait_in_a_file_as_they_were_heard(checkpoint: Checkpoint, tmp_path: Path) -> None:
    files = [write(tmp_path / "data", f"{n}", voiced(2 + n / 4, seed=n), TEXT) for n in range(3)]
    files.append(write(tmp_path / "data", "silence", np.zeros(RATE, np.float32), TEXT))
    files.append(write(tmp_path / "data", "last", voiced(3, seed=9), TEXT))
    recordings = [Recording(file, TEXT) for file in files]
    spoken, findings = examine(
        recordings, checkpoint, 8, 1000, str, lambda state, share: None, folder := tmp_path / "data"
    )
    assert [item.recording.audio.stem for item in spoken] == ["0", "1", "2", "last"]
    assert [finding.kind for finding in findings] == ["silent"]
    rate = checkpoint.config.audio_vae_config.sample_rate
    for item in spoken:
        assert np.array_equal(item.speech.samples, prepare(*read_audio(item.recording.audio), rate).samples)
        owner = item.speech.samples
        while isinstance(owner, np.ndarray):
            owner = owner.base
        assert isinstance(owner, mmap.mmap), "they would be held in memory"
    assert not [file for file in folder.iterdir() if file.suffix not in (".wav", ".txt")]
    nothing, _ = examine(recordings[3:4], checkpoint, 8, 1000, str, lambda state, share: None, folder)
    assert nothing == []


def test_what_is_left_out_is_told_first_and_the_rest_is_used(checkpoint: Checkpoint, tmp_path: Path) -> None:
    files = [write(tmp_path, f"good{i}", voiced(4, seed=i, lead=1.5), TEXT * 2) for i in range(8)]
    files += [write(tmp_path, "short", voiced(0.5), "hello"), write(tmp_path, "still", np.zeros(32000), TEXT)]
    (tmp_path / "broken.wav").write_bytes(b"RIFF")
    recordings = [Recording(file, TEXT * 2) for file in [*files, tmp_path / "broken.wav"]]
    spoken, findings = examine(recordings, checkpoint, 8, 1000, str, lambda state, share: None)
    assert [item.recording.audio.name for item in spoken] == [f"good{i}.wav" for i in range(8)]
    told = summary(findings)
    assert [len(each.files) for each in told] == [1, 1, 1, 8] and told[2].files == ("short.wav",)
    lines = [each.message for each in told]
    assert ["broken" in lines[0], "still" in lines[1], "short" in lines[2]] == [True] * 3
    assert lines[3].startswith("8 recordings with long silence")
