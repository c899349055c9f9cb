"""One speaker for a book that names nobody, of a model that makes up another one for each text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gateway.books.reader import BLOCKS, SPOKEN, written
from tests.gateway.jobs.stage import running
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from worker.protocol import ANY_VOICE

LONG = "They walked for hours, and whoever heard them sing on the way knew their voices well."


async def test_the_first_take_is_made_alone_and_the_others_sound_like_it(tmp_path: Path) -> None:
    worker = ScriptedWorker([Act()], features=(ANY_VOICE, "reference"))
    blocks = [*BLOCKS, {"text": LONG}, {"text": "The end."}]
    async with running(tmp_path, worker, jobs_at_once=4) as service, service.at() as http:
        reader = await written(service, http, blocks=blocks)
        await reader.made()
        assert [start.reference_latents is None for start in worker.requests] == [True] + [False] * 5
        await reader.call("PUT", "/blocks", json=reader.edited(0, text="One more"))
        await reader.made()
    again = worker.requests[-1]
    longest = max(start.reference_latents.shape[0] for start in worker.requests[1:])
    assert again.text == "One more" and again.reference_latents.shape[0] == longest > 30


@pytest.mark.parametrize("features", [("reference",), (ANY_VOICE,)])
async def test_other_models_are_told_nothing(tmp_path: Path, features: tuple[str, ...]) -> None:
    worker = ScriptedWorker([Act()], features=features)
    async with running(tmp_path, worker) as service, service.at() as http:
        await (await written(service, http)).made()
    assert sorted(start.text for start in worker.requests) == sorted(SPOKEN)
    assert all(start.reference_latents is None for start in worker.requests)
