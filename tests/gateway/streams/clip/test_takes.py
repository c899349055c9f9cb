"""A part that went wrong is spoken again while nobody has heard it, and the best of its takes is heard."""

from __future__ import annotations

import asyncio

import pytest

from gateway.requests import TtsRequest
from gateway.service import Gateway
from gateway.streams.clip.progress import seed_of_take
from gateway.synthesis.synthesis import Outcome, Synthesis
from gateway.timing.listening import confidence_in
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.clip.takes import SENTENCES, counted, take
from tests.gateway.streams.stage import SEED, TEXT, Ear, gateway_of, prefer_the_first
from tests.gateway.timing.audio import FakeAligner
from worker.protocol import WATCHED


def worker_of(*acts: Act, **options: object) -> ScriptedWorker:
    return ScriptedWorker(list(acts), features=(WATCHED,), **options)


async def speak(gateway: Gateway, ear: Ear, text: str = TEXT, whole: bool = True) -> Outcome:
    async with asyncio.timeout(60):
        request = TtsRequest(text=text, seed=SEED, normalize="off")
        return await Synthesis(gateway, request, "r1", ear, whole=whole).run()


async def test_a_flawed_clip_is_spoken_again_with_a_seed_that_follows_from_its_own() -> None:
    worker = worker_of(Act(flaw="noisy"), Act())
    async with gateway_of(worker) as gateway:
        ear = Ear()
        outcome = await speak(gateway, ear)
        assert counted(gateway, "voxfleet_takes_total", "outcome") == {"better": 1}
        assert counted(gateway, "voxfleet_worker_flaws_total", "flaw") == {"noisy": 1}
        lines = await gateway.operations.log.read(1, None, "retake")
    assert ear.pcm == take(1) != take(0)
    assert [start.seed for start in worker.requests] == [SEED, seed_of_take(SEED, 0, 1)]
    assert len({start.request_id for start in worker.requests}) == 2
    assert (outcome.seed, outcome.finish_reason, outcome.migrations) == (SEED, "stop", 0)
    assert outcome.audio_seconds == pytest.approx(len(take(1)) / 2 / 24000)
    assert [(line.subject, line.message) for line in lines] == [
        ("r1", "part 1 was noisy and spoken again: better")
    ]


@pytest.mark.parametrize(
    ("flaws", "best"),
    [
        (["noisy", "noisy", "noisy"], 0),
        (["silent", "clipped", "noisy"], 1),
        (["long", "noisy", "quiet"], 2),
        (["short", "long", ""], 2),
    ],
)
async def test_of_three_takes_the_one_with_the_least_flaw_is_heard(flaws: list[str], best: int) -> None:
    worker = worker_of(*(Act(flaw=flaw) for flaw in flaws))
    async with gateway_of(worker) as gateway:
        ear = Ear()
        await speak(gateway, ear)
    assert len(worker.requests) == 3
    assert ear.pcm == take(best)


async def test_only_the_part_that_went_wrong_is_spoken_again() -> None:
    worker = worker_of(
        Act(), Act(flaw="noisy"), Act(flaw="noisy"), Act(flaw="short"), Act(), part_characters=30
    )
    async with gateway_of(worker) as gateway:
        ear = Ear()
        outcome = await speak(gateway, ear, " ".join(SENTENCES))
    parts = [take(0, text, part) for part, text in enumerate(SENTENCES)]
    assert ear.pcm == b"".join(parts)
    assert [start.text for start in worker.requests] == [SENTENCES[n] for n in (0, 1, 1, 1, 2)]
    assert outcome.patches == len(b"".join(parts)) // 2 // 3840


async def test_what_is_found_before_the_end_counts_for_streams_alone() -> None:
    worker = worker_of(Act(), flaws={(TEXT, SEED): (3, "noisy")})
    async with gateway_of(worker) as gateway:
        ear = Ear()
        await speak(gateway, ear)
        assert counted(gateway, "voxfleet_worker_flaws_total", "flaw") == {}
    assert ear.pcm == take(0)


async def test_a_part_that_is_asked_for_alone_is_spoken_again_too() -> None:
    worker = worker_of(Act(flaw="noisy"), Act(), part_characters=30)
    async with gateway_of(worker) as gateway:
        ear = Ear()
        request = TtsRequest(text=" ".join(SENTENCES), seed=SEED, normalize="off")
        await Synthesis(gateway, request, "r1", ear, whole=True, one_part=True).run()
    assert ear.pcm == take(1, SENTENCES[0])
    assert [start.text for start in worker.requests] == [SENTENCES[0]] * 2


async def test_a_setting_forbids_it() -> None:
    worker = worker_of(Act(flaw="noisy"), Act())
    async with gateway_of(worker, max_retakes=0) as gateway:
        ear = Ear()
        await speak(gateway, ear)
    assert ear.pcm == take(0)
    assert len(worker.requests) == 1


async def test_a_worker_whose_model_is_not_watched_is_not_asked() -> None:
    worker = ScriptedWorker([Act(flaw="noisy")])
    async with gateway_of(worker) as gateway:
        ear = Ear()
        await speak(gateway, ear)
    assert ear.pcm == take(0)
    assert [start.watch for start in worker.requests] == [None]


@pytest.mark.parametrize("patches", [0, 3])
async def test_a_take_that_breaks_off_is_finished_by_another_worker(patches: int) -> None:
    faulty, sound = worker_of(Act(flaw="noisy"), Act(patches, "cut")), worker_of(Act())
    async with gateway_of(faulty, sound) as gateway:
        prefer_the_first(gateway)
        ear = Ear()
        outcome = await speak(gateway, ear)
    assert ear.pcm == take(1)
    assert outcome.migrations == 1
    (resumed,) = sound.requests
    assert resumed.seed == seed_of_take(SEED, 0, 1)
    assert (resumed.resume_latents.shape[0] if resumed.resume_latents else 0) == patches


async def listened(aligner: FakeAligner, worker: ScriptedWorker, **options: object) -> tuple[Ear, dict]:
    async with gateway_of(worker, aligner="off", **options) as gateway:
        gateway.aligner = aligner
        await speak(gateway, ear := Ear())
        flaws = counted(gateway, "voxfleet_worker_flaws_total", "flaw")
    return ear, flaws


async def test_what_is_not_understood_is_spoken_again_and_listened_to_again() -> None:
    aligner = FakeAligner()
    aligner.confidences = [0.2]
    worker = worker_of(Act())
    ear, flaws = await listened(aligner, worker)
    assert ear.pcm == take(1)
    assert (flaws, len(worker.requests), len(aligner.asked)) == ({"misread": 1}, 2, 2)
    samples, said, language = aligner.asked[0]
    assert (samples, "".join(said), language) == (len(take(0)) // 2, TEXT, "en")


@pytest.mark.parametrize(
    ("confidences", "flaws", "best"),
    [
        ([0.1, 0.3, 0.2], ["", "", ""], 1),
        ([0.2, 0.1, 0.9], ["", "", ""], 2),
        ([0.1], ["", "noisy", "noisy"], 0),
        ([0.1], ["noisy", "", "quiet"], 2),
    ],
)
async def test_of_takes_that_nobody_understood_the_clearest_is_heard(
    confidences: list[float], flaws: list[str], best: int
) -> None:
    aligner = FakeAligner()
    aligner.confidences = confidences
    ear, _ = await listened(aligner, worker_of(*(Act(flaw=flaw) for flaw in flaws)))
    assert ear.pcm == take(best)


@pytest.mark.parametrize("reason", ["busy", "refused", "slow", "not watched", "forbidden", "streamed"])
async def test_nobody_waits_for_who_cannot_listen(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    aligner = FakeAligner(confidence=0.1, refusal="no such language" if reason == "refused" else "")
    aligner.busy = reason == "busy"
    if reason == "slow":
        monkeypatch.setattr("gateway.timing.listening._PATIENCE_SECONDS", 0.05)
        aligner.may_answer.clear()
    worker = ScriptedWorker([Act()]) if reason == "not watched" else worker_of(Act())
    async with gateway_of(worker, aligner="off", max_retakes=0 if reason == "forbidden" else 2) as gateway:
        gateway.aligner = aligner
        await speak(gateway, ear := Ear(), whole=reason != "streamed")
    assert ear.pcm == take(0)
    assert len(worker.requests) == 1
    assert len(aligner.asked) == (reason in ("refused", "slow"))


async def test_a_few_words_and_very_long_ones_are_not_judged() -> None:
    aligner = FakeAligner(confidence=0.1)
    second = bytes(2 * 24_000)
    assert await confidence_in(aligner, "Yes, of course.", "en", second, 24_000) is None
    assert await confidence_in(aligner, "Yes, of course it is.", "en", 31 * second, 24_000) is None
    assert await confidence_in(aligner, "Yes, of course it is.", "en", second, 24_000) == 0.1
