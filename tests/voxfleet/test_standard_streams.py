"""Standard input and output that are closed, full, or another program's: words instead of tracebacks."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path

import pytest
import soundfile

from gateway.audio.note import SOURCE_TYPE
from tests.voxfleet.conftest import ROOT, voxfleet
from voxfleet.commands import say

TINY = ROOT / "tests" / "parity" / "tiny_v2"
SPEAK = ("say", "Hello there.", "--model", str(TINY), "--seed", "3", "-o", "-")


def test_a_clip_goes_to_the_program_behind_a_pipe() -> None:
    result = subprocess.run(voxfleet(*SPEAK), cwd=ROOT, capture_output=True, check=True)
    with soundfile.SoundFile(io.BytesIO(result.stdout)) as clip:
        assert (clip.format, clip.channels) == ("WAV", 1) and len(clip) > 0
        assert SOURCE_TYPE in clip.comment
    assert b"s of audio" in result.stderr


@pytest.mark.parametrize("command", [("--version",), ("--help",), SPEAK])
def test_no_room_for_what_is_printed(command: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            voxfleet(*command), cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False, text=True
        )
    assert result.returncode == 1
    assert result.stderr == "error: standard output cannot be written: No space left on device\n"


def test_no_room_for_figures_is_told_of_their_file() -> None:
    command = voxfleet("bench", "--url", "http://127.0.0.1:1", "-n", "1", "--json", "/dev/full")
    result = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
    assert result.returncode == 1 and result.stdout.startswith("{")
    assert result.stderr == "error: --json /dev/full cannot be written: No space left on device\n"


def test_the_name_of_a_file_that_is_no_text_is_printed(tmp_path: Path) -> None:
    """In locales such as en_US.UTF-8, where Python's standard output is strict."""
    file = tmp_path / os.fsdecode(b"\xff.wav")
    with file.open("wb") as written:
        soundfile.write(written, [0.0] * 1000, 16000, format="WAV")
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    command = voxfleet("detect", str(file))
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (1, b"") and b"\\udcff.wav" in result.stdout


@pytest.mark.parametrize(("argument", "typed"), [((b"\xff",), b""), ((), b"\xff\n")])
def test_what_is_asked_in_another_encoding_is_refused(argument: tuple[bytes, ...], typed: bytes) -> None:
    command = [*voxfleet("chat", "--url", "http://127.0.0.1:1"), *argument]
    environment = {**os.environ, "LC_ALL": "C"}
    result = subprocess.run(command, cwd=ROOT, env=environment, input=typed, capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (2, b"error: the text is not UTF-8\n")


@pytest.mark.parametrize("command", [("say", "-", "-o", "never.wav"), ("chat",)])
def test_no_standard_input_to_read_from(command: tuple[str, ...]) -> None:
    result = subprocess.run(
        voxfleet(*command),
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
        preexec_fn=lambda: os.close(0),
    )
    assert result.returncode != 0
    assert result.stderr.startswith("error: there is no standard input")


def test_audio_is_not_written_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with pytest.raises(say.SayError, match="standard output shows no audio"):
        say.check_output(say.STANDARD_OUTPUT)


def test_several_clips_are_files() -> None:
    with pytest.raises(say.SayError, match="--lines are files"):
        say.each_line("One.\nTwo.", Path("-"))
