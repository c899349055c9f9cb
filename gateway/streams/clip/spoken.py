"""Speech as attempts put it together: the present part of a clip, patch by patch.

The latents of each patch are committed before its audio is handed on. So the clip is whole up to its last
patch whenever a worker fails, and the next worker starts with `start_request(clip, ...)`. No patch is lost,
sent twice, or made by a worker that lost its lease.
"""

from __future__ import annotations

import numpy as np

from gateway.slots.pool import Lease
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.start import start_request
from gateway.streams.clip.takes import Takes
from gateway.workers.client import FrameStream, StreamBroken
from worker.protocol import AnyModel, Frame, ModelDescription, StartRequest

_ENDINGS = ("stop", "length", "runaway")


class Spoken:
    """A `gateway.streams.relay.Piece`. `takes` gets each patch of PCM, and may have the part spoken again."""

    def __init__(self, clip: Clip, takes: Takes) -> None:
        self._clip, self._takes = clip, takes

    @property
    def committed(self) -> int:
        """Patches of the present part."""
        return len(self._clip.latents)

    @property
    def more_follows(self) -> bool:
        """Whether another part or take may."""
        return not self._clip.is_last_part or self._takes.may_repeat

    async def prepare(self, model: AnyModel) -> None:
        """Cut the text as the model takes it. Raises StreamBroken for a model that does not speak."""
        if not isinstance(model, ModelDescription):
            raise StreamBroken("model", "the worker changed its model")
        self._clip.begin(model)
        await self._clip.text.prepare()

    def start(self, lease: Lease) -> StartRequest:
        """The request for what is missing of the part."""
        clip = self._clip
        wire_id = f"{lease.ticket.id}-{lease.epoch}-{clip.number}-{clip.part}"
        start = start_request(clip, f"{wire_id}-{clip.take}" if clip.take else wire_id, lease.epoch)
        self._takes.begin()
        if clip.is_watched:
            start.watch = True
        return start

    def accepted(self, model: AnyModel | None, stream: FrameStream) -> None:
        """A clip stays with the model it was begun with. Raises StreamBroken."""
        clip = self._clip
        speaks = isinstance(model, ModelDescription)
        if not speaks or (model.revision, model.sample_rate) != (stream.model_revision, stream.sample_rate):
            raise StreamBroken("model", "the worker changed its model")
        if clip.model is None:
            clip.begin(model)
        if clip.model.revision != model.revision:
            raise StreamBroken("model", "the worker serves another model than the one that began the clip")
        clip.taken = True

    def take(self, frame: Frame, stream: FrameStream, lease: Lease) -> bool:
        """Commit, then forward. False where the take was cut instead."""
        cut = self._take(frame, stream)
        if frame.flaw and (cut or frame.last):
            lease.worker.figures.flaws[frame.flaw] += 1
        return not cut

    def _take(self, frame: Frame, stream: FrameStream) -> bool:
        """True where the take was cut."""
        clip, takes = self._clip, self._takes
        pcm = b""
        if frame.tokens:
            raise StreamBroken("corrupt", "text came instead of speech")
        if frame.last and (frame.finish_reason not in _ENDINGS or not frame.pcm):
            raise stream.failed(frame)
        if frame.pcm:
            least, most = (1 if frame.last else clip.model.patch_samples), clip.model.patch_samples
            if len(frame.latents) != clip.latent_bytes or not least <= frame.samples <= most:
                raise StreamBroken("corrupt", "a patch has latents or samples of another shape")
            if not np.isfinite(np.frombuffer(frame.latents, "<f4")).all():
                raise StreamBroken("corrupt", "a patch has latents that are no numbers")
            if clip.is_too_long:
                raise StreamBroken("corrupt", "the worker speaks for longer than it was told")
            if takes.cuts(frame):
                takes.cut(frame)
                return True
            pcm = clip.commit_pause() + frame.pcm
            clip.commit(frame.latents, frame.samples, frame.silent)
        if frame.last:
            takes.end(pcm, frame.finish_reason, frame.flaw)
        else:
            takes.patch(pcm)
        return False
