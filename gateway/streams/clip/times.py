"""When the words of a clip are said, told part by part: those of a part follow its audio.

    times = ClipTimes(clip, aligner, InOrder(), listener.timed)
    times.speaking()        # a worker begins a part, or goes on with it
    times.heard(pcm)        # audio at the model's rate
    times.end()             # the clip is complete
    await times.order.all_told()

Times are of the clip at the speed that was asked for, and of the text as it was written, without markup.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine

import structlog

from gateway.errors import ApiError
from gateway.streams.clip.clip import Clip
from gateway.text import Spoken, normalise
from gateway.timing.aligner import Aligner
from gateway.timing.envelope import Envelope
from gateway.timing.part import PartTimes, SpokenPart
from gateway.timing.whisper import LONGEST_SECONDS
from gateway.timing.words import locate

logger = structlog.get_logger(__name__)

Tell = Callable[[PartTimes], None]


class InOrder:
    """Whatever is being found out about parts, told in the order in which it was asked for."""

    def __init__(self) -> None:
        self._asked: deque[tuple[asyncio.Task[PartTimes], Tell]] = deque()
        self._failure: ApiError | None = None
        self._empty = asyncio.Event()
        self._empty.set()

    def add(self, finding: Coroutine[None, None, PartTimes], tell: Tell) -> None:
        """`tell` what is found, after all that was added before. It may raise ApiError."""
        task = asyncio.create_task(finding)
        self._asked.append((task, tell))
        self._empty.clear()
        task.add_done_callback(self._tell_known)

    async def all_told(self) -> None:
        """Wait until nothing is left. Raises ApiError when a client could not be told."""
        await self._empty.wait()
        if self._failure is not None:
            raise self._failure

    def drop(self) -> None:
        """Tell nothing of what was asked for."""
        asked, self._asked = self._asked, deque()
        for task, _ in asked:
            task.cancel()
        self._empty.set()

    def _tell_known(self, _: asyncio.Task[PartTimes]) -> None:
        while self._asked and self._asked[0][0].done():
            task, tell = self._asked.popleft()
            if task.cancelled():
                continue
            if (error := task.exception()) is not None:
                logger.error("times of a part were not found", exc_info=error)
            elif self._failure is None:
                try:
                    tell(task.result())
                except ApiError as failure:
                    self._failure = failure
        if not self._asked:
            self._empty.set()


class ClipTimes:
    """Listens to one clip as it comes from the workers."""

    def __init__(self, clip: Clip, aligner: Aligner | None, order: InOrder, tell: Tell) -> None:
        self._clip = clip
        self._aligner = aligner
        self.order = order
        self._tell = tell
        self._part, self._take = -1, 0
        """The part and take that are being spoken; the place of the part in the text:"""
        self._start = self._end = 0
        self._seconds = clip.audio_seconds
        """Seconds of the model's audio so far, and where the part begins in it:"""
        self._part_seconds = 0.0
        self._heard_seconds = clip.heard_samples / clip.model.sample_rate if clip.model else 0.0
        """Both at the speed at which they are heard."""
        self._part_heard_seconds = 0.0
        self._speed = 1.0
        """The speed of the part."""
        self._envelope: Envelope | None = None
        self._pcm: list[bytes] | None = None

    def speaking(self) -> None:
        """A worker begins a part of the clip, or goes on with it."""
        clip = self._clip
        if clip.part == self._part:
            if clip.take != self._take:
                self._begin_audio()
            return
        self.end()
        texts = clip.text.written
        if clip.part > self._part + 1:  # those before were heard before a resumption
            self._end = clip.text.places[clip.part - 1][1]
        self._part, self._start = clip.part, self._end
        rest = clip.request.text[self._start :]
        is_last = clip.part + 1 == len(texts)
        self._end += len(rest) if is_last else locate(rest, texts[clip.part : clip.part + 1])[0][1]
        self._begin_audio()

    def _begin_audio(self) -> None:
        """What was heard of the part so far belongs to no word of it, but for the patches of this take."""
        clip = self._clip
        self._take = clip.take
        patches_before = len(clip.latents)
        self._speed = clip.speed
        seconds_before = patches_before * clip.model.patch_seconds
        self._part_seconds = self._seconds - seconds_before
        self._part_heard_seconds = self._heard_seconds - seconds_before / self._speed
        self._envelope = None if patches_before else Envelope(clip.model.sample_rate)
        self._pcm = [] if self._aligner is not None and not patches_before else None

    def heard(self, pcm: bytes) -> None:
        """The next s16le samples of the model's."""
        seconds = len(pcm) / 2 / self._clip.model.sample_rate
        self._seconds += seconds
        self._heard_seconds += seconds / self._speed
        if self._envelope is not None:
            self._envelope.add(pcm)
        if self._pcm is not None:
            self._pcm.append(pcm)
            if self._seconds - self._part_seconds > LONGEST_SECONDS:
                self._pcm = None

    def end(self) -> None:
        """The part is complete, if there is one: its times will be told."""
        seconds = self._seconds - self._part_seconds
        if self._part < 0 or seconds <= 0 or self._start == self._end:
            return
        clip = self._clip
        found = _find(
            clip, self._part, clip.request.text[self._start : self._end], self._start,
            self._part_heard_seconds, self._speed, seconds, self._envelope,
            b"".join(self._pcm) if self._pcm is not None else None, self._aligner,
        )  # fmt: skip
        self._envelope = self._pcm = None
        self._start = self._end
        self.order.add(found, self._tell)


async def _find(
    clip: Clip,
    number: int,
    text: str,
    start: int,
    start_seconds: float,
    speed: float,
    seconds: float,
    envelope: Envelope | None,
    pcm: bytes | None,
    aligner: Aligner | None,
) -> PartTimes:
    model = clip.model
    language = await asyncio.to_thread(clip.text.language_of, number) if aligner is not None else ""
    spoken = await asyncio.to_thread(_as_spoken, clip, number, text, language or clip.request.language)
    part = SpokenPart(
        spoken=spoken,
        seconds=seconds,
        spans=[(0.0, seconds)] if envelope is None else envelope.spans(),
        language=language,
        sample_rate=model.sample_rate,
        pcm=pcm,
    )
    return await part.told(aligner, start, start_seconds, speed)


def _as_spoken(clip: Clip, number: int, text: str, language: str | None) -> Spoken:
    """`text`, which is that of a part with the white space around it, as it is said."""
    part = clip.text.parts[number]
    if part.said is not None and (rewritten := _rewritten(part.said, text)) is not None:
        return rewritten
    if part.written != part.spoken:  # some words of a figure that has very many
        return Spoken(text, part.spoken, (0,) * len(part.spoken), (len(text),) * len(part.spoken))
    return normalise(text, language)


def _rewritten(spoken: Spoken, text: str) -> Spoken | None:
    """`spoken` for a text that differs in its white space alone; None where it differs otherwise."""
    here = [place for place, character in enumerate(spoken.written) if not character.isspace()]
    there = [place for place, character in enumerate(text) if not character.isspace()]
    if [spoken.written[place] for place in here] != [text[place] for place in there]:
        return None
    places = dict(zip(here, there, strict=True))
    starts, at = [0] * len(spoken.written), len(text)
    for place in reversed(range(len(spoken.written))):
        at = starts[place] = places.get(place, at)
    ends, at = [], 0
    for place in range(len(spoken.written)):
        at = places[place] + 1 if place in places else at
        ends.append(max(at, starts[place]))
    starts_there = tuple(starts[start] for start in spoken.starts)
    return Spoken(text, spoken.text, starts_there, tuple(ends[end - 1] for end in spoken.ends))
