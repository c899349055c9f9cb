"""`voxfleet say` with a real, tiny checkpoint: its voice is noise, its files and figures are not."""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from gateway.audio.note import SOFTWARE, SOURCE_TYPE
from models.lora.files import write_adapter
from tests.models.lora.conftest import random_adapter
from tests.voxfleet.commands.saying import TINY, command
from tests.voxfleet.conftest import ROOT, voxfleet
from voxfleet.commands.detect import detect
from voxfleet.commands.say import SayError, say, write
from voxfleet.processes.devices import visible_gpus

TONE = np.sin(np.arange(16000) / 10, dtype=np.float32) / 4


def run(
    *arguments: str | bytes, text: str | bytes = "", before: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    given, command = text.encode() if isinstance(text, str) else text, [*voxfleet("say"), *arguments]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, check=False, input=given, preexec_fn=before
    )
    return subprocess.CompletedProcess(
        result.args, result.returncode, result.stdout.decode(), result.stderr.decode()
    )


def limit_files() -> None:
    """No file of this process grows beyond 1 KiB: what a full disk does, without filling one."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Half a second of a tone, standing for somebody's voice."""
    path = tmp_path / "recording.wav"
    seconds = np.arange(8000) / 16000
    soundfile.write(path, 0.3 * np.sin(2 * np.pi * 220 * seconds), 16000)
    return path


def test_the_command_writes_what_it_says_it_wrote(tmp_path: Path) -> None:
    output = tmp_path / "out.wav"
    result = run("Hello there.", "-o", str(output), "--model", str(TINY), "--seed", "3")
    assert result.returncode == 0, result.stderr
    samples, sample_rate = soundfile.read(output)
    match = re.search(
        r": ([\d.]+) s of audio at (\d+) Hz in .* real-time factor [\d.]+, seed (\d+)", result.stdout
    )
    assert match, result.stdout
    assert int(match[2]) == sample_rate
    assert float(match[1]) == pytest.approx(len(samples) / sample_rate, abs=0.005)
    assert match[3] == "3"


def test_the_text_can_come_from_standard_input(tmp_path: Path) -> None:
    output = tmp_path / "out.wav"
    result = command("-", "-o", str(output), "--model", str(TINY), text="Hello there.")
    assert result.exit_code == 0, result.stderr
    assert output.stat().st_size > 44


@pytest.mark.parametrize("format", ["wav", "flac", "ogg", "mp3"])
def test_a_file_says_that_a_model_made_it_and_with_what(format: str, tmp_path: Path) -> None:
    output = tmp_path / f"out.{format}"
    write(output, TONE, 16000)
    assert len(soundfile.read(output)[0]) >= 15500
    found = detect(output)
    assert found.note and found.software.startswith(SOFTWARE)


@pytest.mark.parametrize(("format", "comment"), [("aiff", SOURCE_TYPE), ("au", None)])
def test_other_formats_say_what_they_can(format: str, comment: str | None, tmp_path: Path) -> None:
    output = tmp_path / f"out.{format}"
    write(output, TONE, 16000)
    with soundfile.SoundFile(output) as file:
        assert (len(file), file.copy_metadata().get("comment")) == (16000, comment)


@pytest.mark.parametrize(("argument", "text"), [("-", b"caf\xe9"), (b"caf\xe9", b"")])
def test_a_text_in_another_encoding_is_refused_without_a_traceback(
    argument: str | bytes, text: bytes, tmp_path: Path
) -> None:
    result = run(argument, "-o", str(tmp_path / "out.wav"), "--model", str(TINY), text=text)
    assert result.returncode == 1
    assert "not UTF-8" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_mark_of_the_byte_order_is_not_spoken(tmp_path: Path) -> None:
    for name, text in (("plain", "Hello."), ("marked", "\ufeffHello.")):
        arguments = ("-o", str(tmp_path / f"{name}.wav"), "--model", str(TINY), "--seed", "3")
        assert command("-", *arguments, text=text).exit_code == 0
    assert (tmp_path / "plain.wav").read_bytes() == (tmp_path / "marked.wav").read_bytes()


@pytest.mark.skipif(bool(visible_gpus()), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_said_without_a_traceback(tmp_path: Path) -> None:
    result = command("Hello.", "-o", str(tmp_path / "out.wav"), "--model", str(TINY), "--device", "cuda")
    assert result.exit_code == 1
    assert "no CUDA device" in result.stderr


@pytest.mark.parametrize("before", [None, b"an older clip"])
def test_a_disk_that_is_full_is_named_and_leaves_what_was_there(tmp_path: Path, before: bytes | None) -> None:
    output = tmp_path / "out.wav"
    if before is not None:
        output.write_bytes(before)
    result = run("Hello there.", "-o", str(output), "--model", str(TINY), "--seed", "3", before=limit_files)
    assert result.returncode == 1
    assert "File too large" in result.stderr and "Traceback" not in result.stderr
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == (
        {} if before is None else {"out.wav": before}
    )


def test_a_clip_goes_to_where_a_link_leads_and_into_a_device(tmp_path: Path) -> None:
    link, target = tmp_path / "link.wav", tmp_path / "target.wav"
    target.touch()
    link.symlink_to(target)
    write(link, np.zeros(160, np.float32), 16000)
    assert link.is_symlink() and soundfile.info(target).frames == 160
    device = tmp_path / "null.wav"
    device.symlink_to("/dev/null")
    write(device, np.zeros(160, np.float32), 16000)
    assert device.is_char_device()


def test_the_same_seed_gives_the_same_file_and_another_one_another(tmp_path: Path) -> None:
    first, again, other = (tmp_path / f"{name}.flac" for name in ("first", "again", "other"))
    for output, seed in ((first, 5), (again, 5), (other, 6)):
        say("Hello there.", output, model=str(TINY), device="cpu", seed=seed)
    assert first.read_bytes() == again.read_bytes()
    assert first.read_bytes() != other.read_bytes()


def test_figures_agree_with_the_file(tmp_path: Path) -> None:
    output = tmp_path / "out.wav"
    messages: list[str] = []
    spoken = say("Hello there.", output, model=str(TINY), device="cpu", on_progress=messages.append)
    info = soundfile.info(output)
    assert (info.samplerate, info.channels) == (spoken.sample_rate, 1)
    assert info.duration == pytest.approx(spoken.audio_seconds)
    assert 0 < spoken.first_audio_seconds <= spoken.wall_seconds
    assert messages[0].startswith(f"loading {TINY}")
    assert messages[-1] == f"speaking: {spoken.audio_seconds:.1f} s"


def test_reference_and_prompt_recordings_reach_the_model(tmp_path: Path, recording: Path) -> None:
    plain, referenced, continued = (tmp_path / f"{name}.wav" for name in ("plain", "referenced", "continued"))
    say("Hello there.", plain, model=str(TINY), device="cpu", seed=1)
    say("Hello there.", referenced, model=str(TINY), device="cpu", seed=1, reference_audio=recording)
    options = {"prompt_audio": recording, "prompt_text": "A tone."}
    say("Hello there.", continued, model=str(TINY), device="cpu", seed=1, **options)
    assert len({path.read_bytes() for path in (plain, referenced, continued)}) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("",), "text"),
        (("Hello.", "--voice", "nobody"), "nobody"),
        (("Hello.", "--reference", str(ROOT / "LICENSE")), "LICENSE cannot be read as audio"),
        (("Hello.", "--inference-timesteps", "1"), "inference_timesteps must be between 2 and 100"),
        (("Hello.", "--adapter", str(ROOT / "docs")), "lora_config.json"),
        (("...\n", "--lines"), "no lines with words"),
    ],
)
def test_what_the_model_refuses_is_said_without_a_traceback(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    output = tmp_path / "out.wav"
    result = command(*arguments, "-o", str(output), "--model", str(TINY))
    assert result.exit_code == 1
    assert message in result.stderr
    assert not output.exists()


@pytest.mark.parametrize(
    ("missing", "message"), [("config.json", "config.json"), ("model.safetensors", "model")]
)
def test_an_incomplete_checkpoint_is_named(missing: str, message: str, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(TINY, checkpoint, ignore=shutil.ignore_patterns("golden", missing))
    result = command("Hello.", "-o", str(tmp_path / "out.wav"), "--model", str(checkpoint))
    assert result.exit_code == 1
    assert message in result.stderr


@pytest.mark.parametrize("name", ["out", "out.txt", "out.raw"])
def test_a_file_that_no_format_tells_how_to_read_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SayError, match=r"use \.wav, \.flac, \.ogg or \.mp3"):
        say("Hello.", tmp_path / name, model=str(TINY))


def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SayError, match="no directory"):
        say("Hello.", tmp_path / "absent" / "out.wav", model=str(TINY))
    (tmp_path / "folder.wav").mkdir()
    with pytest.raises(SayError, match="Is a directory"):
        say("Hello.", tmp_path / "folder.wav", model="./no model is looked for")


def test_a_model_that_cannot_continue_recordings_says_so(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.wav"
    seconds = np.arange(16000) / 16000
    soundfile.write(prompt, (0.3 * np.sin(2 * np.pi * 150 * seconds)).astype(np.float32), 16000)
    recording = {"prompt_audio": prompt, "prompt_text": "Hello."}
    untrained = tmp_path / "untrained"
    shutil.copytree(TINY, untrained)
    (untrained / "generation_config.json").write_text(json.dumps({"features": ["reference"]}))
    spoken = say("Hello there.", tmp_path / "a.wav", model=str(untrained), device="cpu", **recording)
    assert spoken.note is not None and "--reference" in spoken.note
    assert say("Hello there.", tmp_path / "b.wav", model=str(TINY), device="cpu", **recording).note is None


def test_each_line_is_a_clip_of_its_own(tmp_path: Path) -> None:
    output = tmp_path / "out.flac"
    arguments = ("-o", str(output), "--model", str(TINY), "--seed", "3")
    result = command("-", "--lines", *arguments, text=" Hello there.\n\n...\r\nGood night.\n")
    assert result.exit_code == 0, result.stderr
    assert [line.partition(":")[0] for line in result.stdout.splitlines()] == [
        str(tmp_path / "out-001.flac"),
        str(tmp_path / "out-002.flac"),
    ]
    assert command("Good night.", *arguments).exit_code == 0
    assert (tmp_path / "out-002.flac").read_bytes() == output.read_bytes()
    assert (tmp_path / "out-001.flac").read_bytes() != output.read_bytes()


@pytest.mark.parametrize(
    "option",
    [
        ("--cfg-value", "1"), ("--inference-timesteps", "4"), ("--temperature", "0.5"),
        ("--instructions", "a calm voice"), ("--adapter", "anna"),
    ],
)  # fmt: skip
def test_what_shapes_the_speech_reaches_the_model(tmp_path: Path, option: tuple[str, str]) -> None:
    write_adapter(tmp_path / "anna", random_adapter(), {"enable_lm": True, "r": 4, "alpha": 8})
    name, value = option
    value = str(tmp_path / value) if name == "--adapter" else value
    clips = []
    for given in ((), (name, value)):
        output = tmp_path / "out.wav"
        result = command("Hello there.", "-o", str(output), "--model", str(TINY), "--seed", "3", *given)
        assert result.exit_code == 0, result.stderr
        clips.append(output.read_bytes())
    assert clips[0] != clips[1]
