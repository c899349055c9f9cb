"""A part of a text that went wrong is spoken again.

The worker watches the speech that it makes and says what is wrong with it. The seed of a further take follows
from the clip's, so that the same request is the same clip.

A stream is heard as it comes (`Takes`). A part that is found bad is cut: the patch with which the worker says
so fades out, and after a moment of silence the part begins again. What was heard does not tell how much of
the text was said in it, so nothing of the text is left out. Where the first patch is bad already, nothing was
heard. The cut is at the place of that patch and of nothing else, so whoever goes on with the clip makes the
same one.

Of a clip that is sent whole, `HeldTakes` keeps the audio of a part until all of it was made, and where there
is an aligner that has time, until that has listened; of its takes the one with the least flaw is heard, the
first of equal ones.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from gateway.audio.fade import fade_out
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.progress import Progress
from worker.protocol import FLAWS, Frame

_CUTTING = FLAWS[FLAWS.index("repeated") :]
"""Flaws that a listener minds more than a cut."""
MISREAD = "misread"
"""What is heard is not the text; told by who listens."""
_FLAWS = (*FLAWS[: FLAWS.index("repeated")], MISREAD, *_CUTTING)
LEAST_CONFIDENCE = 0.4
"""The aligner's confidence below which a take counts as misread; that of good speech is .64 and more."""

Repeated = Callable[[int, str, str], None]
"""Told of each further take: number of the part, flaw of the take before, outcome of the metric
`voxfleet_takes_total`.
"""


Listen = Callable[[bytes], Awaitable[float | None]]
"""How well what is heard in s16le samples fits the text of the present part, from 0 to 1; None: not known."""


class Takes:
    """Takes in one part after the other, and gives all audio to `deliver` at once."""

    def __init__(self, clip: Clip, deliver: Callable[[bytes], None], most: int, repeated: Repeated) -> None:
        """A part is spoken again at most `most` times."""
        self._clip = clip
        self._deliver = deliver
        self._most = most
        self._repeated = repeated

    @property
    def may_repeat(self) -> bool:
        """Whether the present part may be spoken again."""
        clip = self._clip
        if clip.take >= self._most or not clip.is_watched:
            return False
        return clip.seconds_left >= 2 * clip.model.patch_seconds

    def begin(self) -> None:
        """A worker is about to begin the present part, or to go on with it."""

    def cuts(self, frame: Frame) -> bool:
        """Whether the present take ends with this patch. One that was too long and has ended by itself has
        said what there was to say.
        """
        ended_late = frame.last and frame.flaw == "long"
        return frame.flaw in _CUTTING and not ended_late and self.may_repeat

    def cut(self, frame: Frame) -> None:
        """End the present take with a patch that is not committed."""
        clip = self._clip
        pcm = fade_out(frame.pcm, clip.model.sample_rate) if clip.latents else b""
        clip.cut_take(len(pcm) // 2)
        if pcm:
            self._deliver(pcm)
        self._repeated(clip.part, frame.flaw, "cut")

    async def settle(self) -> str:
        """The flaw of the take that has ended, where somebody had to listen to find it; else ""."""
        return ""

    def patch(self, pcm: bytes) -> None:
        """A patch was committed that is not the last of its part."""
        self._deliver(pcm)

    def end(self, pcm: bytes, reason: str, flaw: str) -> None:
        """The last patch of a part was committed. Who hears it can tell whether it is the last of all."""
        self._clip.end_part(reason)
        if self._clip.finish_reason is not None:
            pcm += self._clip.commit_pause()
        if pcm:
            self._deliver(pcm)


@dataclass(frozen=True)
class _Take:
    pcm: bytes
    reason: str
    flaw: str
    progress: Progress
    """The clip's progress with this take."""
    confidence: float = 1.0
    """The aligner's confidence, from 0 to 1; 1 where nobody listened."""

    @property
    def rank(self) -> tuple[int, float]:
        """The less, the better."""
        return _FLAWS.index(self.flaw), -self.confidence

    def heard(self, confidence: float | None) -> _Take:
        """The take with the confidence of whoever listened to it; None: nobody did."""
        if confidence is None:
            return self
        misread = not self.flaw and confidence < LEAST_CONFIDENCE
        return replace(self, flaw=MISREAD if misread else self.flaw, confidence=round(confidence, 1))


class HeldTakes(Takes):
    """Keeps the audio of a part until it is known to be good; flawed ones are spoken again `most` times.

    A part that its worker finds good waits for `settle`, which has somebody listen to it.
    """

    def __init__(
        self,
        clip: Clip,
        deliver: Callable[[bytes], None],
        most: int,
        repeated: Repeated,
        came: Callable[[bytes], None],
        listen: Listen | None = None,
    ) -> None:
        """`came` gets all audio as it comes, of every take."""
        super().__init__(clip, deliver, most, repeated)
        self._came = came
        self._listen = listen
        self._pcm: list[bytes] = []
        self._before: Progress | None = None
        """The clip's progress when the present part began here."""
        self._best: _Take | None = None
        self._last_flaw = ""
        self._unheard: _Take | None = None
        """Waits for `settle`."""

    @property
    def may_repeat(self) -> bool:
        """Whether the present part may be spoken again; one that was not begun here is not."""
        clip = self._clip
        return clip.take < self._most and clip.is_watched and self._before is not None

    def cuts(self, frame: Frame) -> bool:
        """Never: nobody hears it before its end."""
        return False

    def begin(self) -> None:
        """Notes where the part begins."""
        if self._before is None and not self._clip.latents:
            self._before = self._clip.progress

    def patch(self, pcm: bytes) -> None:
        """Keep the audio of a patch."""
        self._came(pcm)
        self._pcm.append(pcm)

    def end(self, pcm: bytes, reason: str, flaw: str) -> None:
        """The best take is heard, or another one begins, or `settle` decides."""
        self._came(pcm)
        take = _Take(b"".join((*self._pcm, pcm)), reason, flaw, self._clip.progress)
        self._pcm.clear()
        if self._listen is not None and not flaw and self._before is not None and self._most:
            self._unheard = take
        else:
            self._decide(take)

    async def settle(self) -> str:
        """Whether who listened found a flaw in the take that has ended: that, or ""."""
        take, self._unheard = self._unheard, None
        if take is None:
            return ""
        heard = take.heard(await self._listen(take.pcm))
        self._decide(heard)
        return heard.flaw

    def _decide(self, take: _Take) -> None:
        clip = self._clip
        best, before = self._best, self._last_flaw
        better = best is None or take.rank < best.rank
        self._best = take if better else best
        if clip.take:
            self._repeated(clip.part, before, "better" if better else "no_better")
        if take.flaw and self.may_repeat:
            self._last_flaw = take.flaw
            clip.begin_take(self._before)
            return
        chosen = self._best
        self._best = self._before = None
        clip.restore(chosen.progress)
        super().end(chosen.pcm, chosen.reason, chosen.flaw)
