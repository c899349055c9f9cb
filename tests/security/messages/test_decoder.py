"""S7: an upload that takes its decoder over gets neither files nor sockets, processes or others' memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest

from gateway.confined import children as confined_children
from gateway.confined.program import sandbox
from gateway.errors import ApiError
from gateway.voices.recordings.decoding import READER, Decoder
from tests.gateway.audio.files import speech, wav
from tests.security.messages import taken_over_decoder
from voxfleet.commands.doctor import Verdict, check_sandbox

PROGRAM = Path(taken_over_decoder.__file__)
FOLDER = Path(sandbox.__file__).parent
LEFT_BY_LIMITS = {"open a file in memory", "open a socket", "open a pipe", "read a file", "write a file"}
needs_seccomp = pytest.mark.skipif(sandbox.unsupported() is not None, reason="no seccomp here")


def outcomes(how: str) -> dict[str, str]:
    """What came of each escape."""
    command = [sys.executable, "-I", str(PROGRAM), str(FOLDER), str(READER), how]
    return json.loads(subprocess.run(command, input=b"x", capture_output=True, check=True).stdout)


@pytest.fixture(scope="module")
def confined() -> dict[str, str]:
    return outcomes("confined")


@needs_seccomp
@pytest.mark.parametrize("escape", taken_over_decoder.ESCAPES)
def test_the_kernel_refuses_every_escape(escape: str, confined: dict[str, str]) -> None:
    assert confined[escape] == "EPERM"


def test_the_escapes_work_where_nothing_confines() -> None:
    """Otherwise their refusal would prove nothing. Some need what this machine may lack."""
    free = outcomes("free")
    may_fail = {"trace the parent", "read the parent's memory", "open an io_uring", "run a program"}
    may_fail |= {"read its output", "write its input"}
    assert {name for name, what in free.items() if what != "done"} <= may_fail
    assert free["run a program"] == "ENOENT"


def test_without_seccomp_no_file_and_no_socket_can_be_opened_all_the_same() -> None:
    limited = outcomes("limits")
    assert {limited[name] for name in LEFT_BY_LIMITS} == {"EMFILE"}


@needs_seccomp
def test_forgotten_descriptors_are_closed() -> None:
    program = (
        f"import os, sys; sys.path.insert(0, {str(FOLDER)!r}); import sandbox; other = os.dup(0)\n"
        "sandbox.close_descriptors()\n"
        "try: os.fstat(other)\n"
        "except OSError as error: print(error.errno)"
    )
    assert subprocess.check_output([sys.executable, "-I", "-c", program], stdin=subprocess.DEVNULL) == b"9\n"


async def test_what_cannot_be_confined_decodes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel has filters and refuses this one."""
    script = tmp_path / "child.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import runpy, sandbox\n"
        "def refuse(): raise OSError(1, 'refused')\n"
        "sandbox.unsupported = lambda: None; sandbox.enter = refuse\n"
        f"runpy.run_path({str(FOLDER / '__main__.py')!r}, run_name='__main__')\n"
    )
    upload = tmp_path / "upload.wav"
    upload.write_bytes(wav(speech(1.0)))
    monkeypatch.setattr(confined_children, "_PROGRAM", script)
    with upload.open("rb") as file, pytest.raises(ApiError) as refusal:
        await Decoder().decode(file.fileno())
    assert (refusal.value.status_code, refusal.value.code) == (503, "decoder_not_confined")


async def test_a_film_still_gives_its_audio(tmp_path: Path) -> None:
    """A kind of stream that the decoder sees for the first time when no module can be imported any more."""
    path = tmp_path / "film.mkv"
    with av.open(str(path), "w", format="matroska") as film:
        pictures, sound = film.add_stream("mpeg4", rate=10), film.add_stream("flac", rate=24_000)
        pictures.width, pictures.height, pictures.pix_fmt = 32, 32, "yuv420p"
        sound.layout, sound.format = "mono", "s16"
        blank = av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8), format="rgb24")
        film.mux(pictures.encode(blank))
        samples = np.rint(speech(1.0) * 32767).astype("<i2")
        frame = av.AudioFrame.from_ndarray(samples[None], format="s16", layout="mono")
        frame.sample_rate, frame.pts = 24_000, 0
        for stream, picture in ((sound, frame), (sound, None), (pictures, None)):
            film.mux(stream.encode(picture))
    with path.open("rb") as file:
        assert (await Decoder().decode(file.fileno())).seconds == pytest.approx(1.0, abs=0.01)


def test_the_doctor_says_whether_uploads_are_confined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "unsupported", lambda: None)
    assert check_sandbox().verdict is Verdict.OK
    monkeypatch.setattr(sandbox, "unsupported", lambda: "Darwin has no seccomp")
    finding = check_sandbox()
    assert finding.verdict is Verdict.WARN and "Darwin" in finding.detail
