"""What is between the model and a listener delays samples, loses none, and is never ahead of its token."""

from __future__ import annotations

import numpy as np
import pytest

from gateway.audio.output import Output
from gateway.audio.watermark import Watermark
from gateway.requests import StreamRequest
from gateway.streams.clip.clip import Clip
from gateway.streams.resumption.token import ResumeTokens
from gateway.synthesis.synthesis import Synthesis
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import CLIP, SEED, TEXT, Ear, gateway_of


class HoldingEar(Ear):
    """Notes how much was heard when each piece of the token came."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: list[tuple[str, int, int]] = []

    def resumable(self, token: str, samples: int, keep: int | None) -> None:
        self.tokens.append((token, samples, len(self.pcm) // 2))


@pytest.mark.parametrize("rate", [8000, 24000, 48000])
@pytest.mark.parametrize("watermark", [False, True])
def test_no_sample_is_lost_and_what_is_behind_is_counted(
    any_network: None, rate: int, watermark: bool
) -> None:
    output, given = Output(24000, rate, watermark=watermark), 0
    for patch in range(10):
        given += len(output.process(np.full(1920, patch, "<i2").tobytes())) // 2
        assert output.samples_behind == pytest.approx(1920 * (patch + 1) - given * 24000 / rate, abs=1)
    given += len(output.process(b"", last=True)) // 2
    assert given == 19200 * rate // 24000
    assert output.samples_behind == 0


async def test_a_marked_clip_is_marked_whole_and_its_token_never_leads(any_network: None) -> None:
    async with gateway_of(ScriptedWorker([Act()]), watermark=True) as gateway:
        request, ear = StreamRequest(text=TEXT, seed=SEED, resume=True), HoldingEar()
        await Synthesis(gateway, request, "r1", ear, token=ResumeTokens(None, 60).begin("")).run()
    assert ear.pcm == Watermark(24000).process(CLIP, last=True) != CLIP
    assert len(ear.tokens) > 1
    assert all(covered <= heard for _, covered, heard in ear.tokens)


async def test_what_a_token_covers_can_be_opened_from_any_number_of_its_pieces(any_network: None) -> None:
    tokens = ResumeTokens(None, 60)
    async with gateway_of(ScriptedWorker([Act()]), watermark=True) as gateway:
        request, ear = StreamRequest(text=TEXT, seed=SEED, resume=True), HoldingEar()
        await Synthesis(gateway, request, "r1", ear, token=tokens.begin("")).run()
    whole = ""
    for piece, covered, _ in ear.tokens:
        whole += piece
        clip: Clip = tokens.open(whole, "")[0]
        assert clip.samples == covered
