"""`voxfleet chat --speak`: the answer into a file, or to the program behind a pipe."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import soundfile

from tests.gateway.stages.processes import GatewayProcess, started_fleets
from tests.text_models import telling_model
from tests.voxfleet.conftest import ROOT, voxfleet
from voxfleet.client import Client
from voxfleet.client.chat import PCM_RATE

QUESTION = "What did you see?"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    model = telling_model(tmp_path_factory.mktemp("models") / "teller")
    with started_fleets() as start:
        workers = [start.worker(model=str(model), device="cpu"), start.worker(step_ms=5)]
        yield start.gateway(workers).wait_until_serving(2)


@pytest.fixture(scope="module")
def answer(gateway: GatewayProcess) -> str:
    with Client(gateway.url) as client:
        return client.chat(QUESTION, max_tokens=24, seed=3, enable_thinking=False).text


def chat(url: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = voxfleet("chat", "--url", url, "--max-tokens", "24", "--seed", "3", *arguments)
    return subprocess.run(command, cwd=ROOT, input=b"", capture_output=True, check=False, timeout=60)


@pytest.mark.parametrize("suffix", ["wav", "mp3"])
def test_an_answer_is_printed_and_in_a_file(
    gateway: GatewayProcess, answer: str, tmp_path: Path, suffix: str
) -> None:
    result = chat(gateway.url, QUESTION, "--speak", str(tmp_path / f"answer.{suffix}"))
    assert (result.returncode, result.stdout.decode()) == (0, answer + "\n")
    (written,) = tmp_path.iterdir()
    clip = soundfile.info(written)
    assert (clip.format, clip.samplerate) == (suffix.upper(), PCM_RATE)
    assert clip.duration == pytest.approx(len(answer) / 15, rel=0.3)


def test_a_program_behind_a_pipe_gets_the_audio_alone(gateway: GatewayProcess, answer: str) -> None:
    result = chat(gateway.url, QUESTION, "--speak", "-")
    assert (result.returncode, result.stderr.decode()) == (0, answer + "\n")
    with soundfile.SoundFile(io.BytesIO(result.stdout)) as clip:
        samples = clip.read()
        assert (clip.format, clip.samplerate) == ("WAV", PCM_RATE)
    assert len(samples) / PCM_RATE == pytest.approx(len(answer) / 15, rel=0.3)


def test_the_voice_is_the_one_that_is_named(gateway: GatewayProcess) -> None:
    result = chat(gateway.url, QUESTION, "--speak", "-", "--voice", "nobody")
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr.startswith(b"error: ") and b"nobody" in result.stderr


def test_what_cannot_be_written_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    nobody = "http://127.0.0.1:9"
    unknown = chat(nobody, QUESTION, "--speak", str(tmp_path / "answer.midi"))
    assert unknown.returncode == 1 and b"no audio format is called .midi" in unknown.stderr
    conversation = chat(nobody, "--speak", str(tmp_path / "answer.wav"))
    assert conversation.returncode == 2 and b"it needs the text to ask" in conversation.stderr
    unheard = chat(nobody, QUESTION, "--voice", "ruth")
    assert unheard.returncode == 2 and b"name a file for it with --speak" in unheard.stderr
    assert not [*tmp_path.iterdir()]
