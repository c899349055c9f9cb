"""What of a dialogue is told when it is flushed, and how much of its text is looked at for that."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateway.callers.identity import Caller
from gateway.errors import ApiError
from gateway.live.messages import Start
from gateway.protocols.dialogues import dialogue as dialogue_module
from gateway.protocols.dialogues import silences
from gateway.protocols.dialogues.dialogue import Dialogue
from gateway.protocols.dialogues.hearing import DialogueListener
from gateway.protocols.tags import Tags
from gateway.service import Gateway
from gateway.settings import load_settings
from gateway.slots.line.standing import Priority
from models.sentences import first_word
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import gateway_of


class Listener(DialogueListener):
    """Counts what it is told."""

    def __init__(self) -> None:
        self.flushes = self.sentences = 0
        self.heard: list[str] = []
        """In order."""

    def began(self, sentence: str) -> None:
        self.heard.append(sentence)

    def spoke(self) -> None:
        self.sentences += 1
        self.heard.append("spoke")

    def flushed(self) -> None:
        self.flushes += 1
        self.heard.append("flushed")


@pytest.fixture
async def listener() -> Listener:
    return Listener()


@pytest.fixture
async def dialogue(listener: Listener, tmp_path: Path) -> Dialogue:
    """One that nobody speaks yet."""
    gateway = Gateway(load_settings(worker_urls="http://127.0.0.1:9", data_dir=tmp_path))
    opened = Dialogue(gateway, "r1", Start(type="start"), "test", listener, Tags())
    opened.open(Caller("ann", Priority.DEFAULT))
    return opened


async def test_text_without_words_is_looked_at_once(
    dialogue: Dialogue, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dozen sockets that flushed 99,000 signs again and again held up everybody for seconds."""
    looked = 0

    def counting(text: str, start: int, end: int) -> int | None:
        nonlocal looked
        found = first_word(text, start, end)
        looked += (end if found is None else found) - start
        return found

    monkeypatch.setattr(dialogue_module, "first_word", counting)
    dialogue.append("!" * 50_000)
    for _ in range(100):
        dialogue.flush()
    assert (looked, listener.flushes) == (50_000, 100)
    dialogue.append("?" * 20_000 + "word")
    for _ in range(100):
        dialogue.flush()
    assert (looked, listener.flushes) == (70_000, 100)


async def test_after_a_barge_in_what_comes_is_looked_at_anew(dialogue: Dialogue, listener: Listener) -> None:
    dialogue.append("!" * 50_000)
    dialogue.flush()
    assert listener.flushes == 1
    dialogue.clear()
    dialogue.append("Hello.")
    dialogue.flush()
    assert listener.flushes == 1


async def test_after_a_barge_in_nothing_of_a_tag_is_left(dialogue: Dialogue) -> None:
    assert dialogue.append("Well <spell>A1 <break time=") == "Well A 1"
    dialogue.clear()
    assert dialogue.append("So it is.") == "So it is."


@pytest.mark.parametrize(("seconds", "count", "kept"), [(20, 7, 6), (0.1, 1100, 1000)])
async def test_silences_beyond_those_of_a_clip_are_left_out(
    dialogue: Dialogue, listener: Listener, seconds: float, count: int, kept: int
) -> None:
    dialogue.append(f'<break time="{seconds}s"/>' * count)
    dialogue.flush()
    timeline = dialogue._session.timeline
    assert [timeline.begin_silence() for _ in range(kept + 1)] == [*[seconds] * kept, None]
    for _ in range(kept):
        assert not listener.flushes
        dialogue.tell({"type": "silence_done"})
    assert listener.flushes == 1
    dialogue.append('<break time="20s"/>')
    assert timeline.begin_silence() == 20


async def test_silences_that_wait_are_not_added_up_for_each(
    dialogue: Dialogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six thousand marks in a message, each of which did, held up everybody for 40 ms."""
    monkeypatch.setattr(silences, "sum", lambda _: pytest.fail("they are"), raising=False)
    for seconds in (20, 0.3, 0.1):
        dialogue.append(f'<break time="{seconds}s"/>' * 6)
        dialogue.clear()
    dialogue.append('<break time="20s"/>' * 7)
    assert dialogue._silences.count == 6  # two minutes, the most


async def test_so_many_flushes_wait(dialogue: Dialogue, listener: Listener) -> None:
    """Each took memory until all before it was said, and much time when it was."""
    dialogue.append("word " * 20)
    for _ in range(10_000):
        dialogue.flush()
    with pytest.raises(ApiError, match="10000 flushes wait"):
        dialogue.flush()
    dialogue.append("word " * 19_000 + "<break time='1s'/>")
    for _ in range(100):
        dialogue.flush(told=False)
    assert (len(dialogue._flushes), len(dialogue._breaks), listener.flushes) == (10_000, 2, 0)
    dialogue.tell({"type": "utterance", "index": 0, "text": "word " * 20, "end": 100})
    dialogue.tell({"type": "utterance_done", "index": 0})
    assert (len(dialogue._flushes), listener.flushes) == (0, 10_000)


async def test_sentences_are_told_one_by_one_and_the_flush_behind_them(listener: Listener) -> None:
    async with gateway_of(ScriptedWorker([Act()] * 2), aligner="off") as gateway:
        dialogue = Dialogue(gateway, "r1", Start(type="start"), "test", listener)
        dialogue.open(Caller("ann", Priority.DEFAULT))
        dialogue.append("Hello there. Good bye.")
        dialogue.flush()
        dialogue.finish()
        async with asyncio.timeout(10):
            await dialogue.run()
    told = [heard.strip() for heard in listener.heard]
    assert told == ["Hello there.", "spoke", "Good bye.", "spoke", "flushed"]


async def test_signs_that_take_all_the_room_hold_up_nothing_behind_them(listener: Listener) -> None:
    """Nobody had said that there was room again, since none of them is spoken: the rest never came."""
    async with gateway_of(ScriptedWorker([Act()]), aligner="off", live_text_characters=1000) as gateway:
        dialogue = Dialogue(gateway, "r1", Start(type="start"), "test", listener)
        dialogue.open(Caller("ann", Priority.DEFAULT))
        dialogue.append("Hello there. ")
        dialogue.flush()
        dialogue.append("- " * 2000 + "Good bye.")
        dialogue.finish()
        async with asyncio.timeout(10):
            await dialogue.run()
    assert (listener.sentences, dialogue.waiting_characters) == (2, 0)
