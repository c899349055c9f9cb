"""A part of a text that went wrong is spoken again, while nobody has heard it.

The worker watches the speech that it makes and says with the last patch what is wrong with it. For a clip
that is sent whole, `HeldTakes` keeps the audio of a part until that is known. A flawed part is spoken again
with another seed, which follows from the clip's, so that the same request is the same clip; of its takes the
one with the least flaw is heard, the first of equal ones. What is streamed is heard as it comes (`Takes`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.streams.clip import Clip
from gateway.streams.progress import Progress
from worker.protocol import FLAWS


class Takes:
    """Takes in one part after the other, and gives all audio to `deliver` at once."""

    def __init__(self, clip: Clip, deliver: Callable[[bytes], None]) -> None:
        self._clip = clip
        self._deliver = deliver

    @property
    def may_repeat(self) -> bool:
        """Whether the present part may be spoken again."""
        return False

    def begin(self) -> None:
        """A worker is about to begin the present part, or to go on with it."""

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
    """Of the clip with this take."""


class HeldTakes(Takes):
    """Keeps the audio of a part until it is known to be good; flawed ones are spoken again `most` times."""

    def __init__(
        self,
        clip: Clip,
        deliver: Callable[[bytes], None],
        most: int,
        came: Callable[[bytes], None],
        repeated: Callable[[str, bool], None],
    ) -> None:
        """`came` gets all audio as it comes, of every take. `repeated` is told of each further take: the flaw
        of the one before it, and whether it is better than all of them.
        """
        super().__init__(clip, deliver)
        self._most = most
        self._came = came
        self._repeated = repeated
        self._pcm: list[bytes] = []
        self._before: Progress | None = None
        """Of the clip when the present part began here."""
        self._best: _Take | None = None
        self._last_flaw = ""

    @property
    def may_repeat(self) -> bool:
        """Whether the present part may be spoken again; one that was not begun here is not."""
        return self._clip.take < self._most and self._before is not None

    def begin(self) -> None:
        """Notes where the part begins."""
        if self._before is None and not self._clip.latents:
            self._before = self._clip.progress

    def patch(self, pcm: bytes) -> None:
        """Kept."""
        self._came(pcm)
        self._pcm.append(pcm)

    def end(self, pcm: bytes, reason: str, flaw: str) -> None:
        """The best take is heard, or another one begins."""
        clip = self._clip
        self._came(pcm)
        take = _Take(b"".join((*self._pcm, pcm)), reason, flaw, clip.progress)
        self._pcm.clear()
        best, before = self._best, self._last_flaw
        better = best is None or FLAWS.index(flaw) < FLAWS.index(best.flaw)
        self._best = take if better else best
        if clip.take:
            self._repeated(before, better)
        if flaw and self.may_repeat:
            self._last_flaw = flaw
            clip.begin_take(self._before)
            return
        chosen = self._best
        self._best = self._before = None
        clip.restore(chosen.progress)
        super().end(chosen.pcm, chosen.reason, chosen.flaw)
