"""Statistics are fitted from what a checkpoint says by itself, and clips that were not fitted try them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.errors import EngineError
from models.speech import SpeechOutput, SpeechRequest
from models.voxcpm.watch import fit as fit_watch
from models.voxcpm.watch.statistics import SpeechStatistics
from tests.models.watch.clips import good_speech

TEXTS = ["word " * count for count in range(24, 84)]


class Speaker:
    """Says a patch for each word. Of the texts whose number is in `endless` there is no end."""

    def __init__(self, endless: range = range(0), fails: bool = False) -> None:
        self.info = SimpleNamespace(voices=("default", "ruth"), patch_seconds=0.08)
        encode = SimpleNamespace(encode=lambda text: text.split())
        self.checkpoint = SimpleNamespace(tokenizer=encode)
        self.requests: list[SpeechRequest] = []
        self.running: list[SpeechRequest] = []
        self.most_running = 0
        self.closed = False
        self._endless, self._fails = endless, fails

    def add_request(self, request: SpeechRequest) -> None:
        self.requests.append(request)
        self.running.append(request)
        self.most_running = max(self.most_running, len(self.running))

    def has_unfinished(self) -> bool:
        return bool(self.running)

    def step(self) -> list[SpeechOutput]:
        request = self.running.pop()
        if self._fails:
            return [SpeechOutput.ending(request.request_id, 0, "error", "out of memory")]
        speech = good_speech(request.seed, len(request.text.split()))
        reason = "runaway" if request.seed in self._endless else "stop"
        return [
            SpeechOutput(request.request_id, n, np.ones(8), patch, reason if n + 1 == len(speech) else None)
            for n, patch in enumerate(speech)
        ]

    def close(self) -> None:
        self.closed = True


def fit(monkeypatch: pytest.MonkeyPatch, speaker: Speaker, folder: Path, *more: str) -> int:
    (folder / "texts.txt").write_text("\n".join(TEXTS))
    monkeypatch.setattr(fit_watch, "load_engine", lambda *args, **options: speaker)
    monkeypatch.setattr(fit_watch, "resolve_model", lambda model: folder)
    return fit_watch.main([*more, "some/model", "--texts", str(folder / "texts.txt")])


def test_the_file_lies_where_workers_look_and_good_speech_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    speaker = Speaker()
    assert fit(monkeypatch, speaker, tmp_path) == 0
    found = SpeechStatistics.load(tmp_path)
    assert found.expected_patches(50) == pytest.approx(50, rel=0.01)
    assert found.surprise(good_speech(200, 60)) == pytest.approx(1.0, abs=0.2)
    assert "of 12 other clips it would touch 0" in capsys.readouterr().out
    assert speaker.closed and speaker.most_running == fit_watch.STREAMS
    assert [request.text.strip() for request in speaker.requests] == [text.strip() for text in TEXTS]
    assert {request.voice for request in speaker.requests} == {"default", "ruth"}


def test_what_does_not_end_by_itself_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "other.npz"
    assert fit(monkeypatch, Speaker(range(30)), tmp_path, "--out", str(out)) == 0
    assert out.is_file() and SpeechStatistics.load(tmp_path) is None


@pytest.mark.parametrize(
    ("options", "reason"), [({"endless": range(45)}, "15 of 60 clips"), ({"fails": True}, "out of memory")]
)
def test_a_checkpoint_that_cannot_speak_is_not_fitted(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: dict[str, Any],
    reason: str,
) -> None:
    speaker = Speaker(**options)
    assert fit(monkeypatch, speaker, tmp_path) == 1
    assert reason in capsys.readouterr().err
    assert speaker.closed and SpeechStatistics.load(tmp_path) is None


def test_a_request_that_fails_ends_the_speaking() -> None:
    with pytest.raises(EngineError, match="out of memory"):
        fit_watch.speak(Speaker(fails=True), [SpeechRequest("1", "a", 1)])
