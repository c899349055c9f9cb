"""A clip's samples on their way through its `Output`, beside the event loop where that takes long.

    delivery = Delivery(output, give, executor)
    delivery.take(pcm)                  # on the event loop, never waits
    delivery.take(b"", last=True)
    await delivery.drained()            # all samples were given

The watermark takes 5 to 13 ms a patch, in which an event loop could serve everybody else. With an `executor`
one piece of a clip after the other is marked there, so samples keep their order, and clips take turns.
`give` is called on the event loop. Without an executor everything happens in `take`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor

from gateway.audio.output import Output

_Piece = tuple[bytes, bool, float | None]
"""Arguments of `Output.process`."""
_PIECE_SECONDS = 0.5
"""About so much of one clip is marked before others have their turn."""
_BEHIND_SECONDS = 2.0
"""With more audio waiting for its mark, the next part of a text should wait too."""


class Delivery:
    """Delivers the audio of one clip; owned by whoever relays it, who ends with `drained` or `drop`.

    Args:
        give: gets what is ready. What it raises, the next `take` or `drained` raises.
        model_rate: of the samples that `take` gets, per second.
    """

    def __init__(
        self, output: Output, give: Callable[[bytes], None], model_rate: int, executor: Executor | None = None
    ) -> None:
        self._output, self._give, self._executor = output, give, executor
        self._model_rate = model_rate
        self._waiting: deque[_Piece] = deque()
        self._waiting_samples = 0
        """Not through the output yet, those at work included."""
        self._behind = 0
        """Samples behind of the output, when it was done last."""
        self._at_work = False
        self._dropped = False
        self._error: BaseException | None = None
        self._moved = asyncio.Event()

    def take(self, pcm: bytes, last: bool = False, speed: float | None = None) -> None:
        """The next s16le samples; with `last` there are no more. `speed`: from these on; None: as before.

        Raises what `give` raised.
        """
        self._check()
        if self._executor is None:
            self._hand_out(self._output.process(pcm, last, speed))
            return
        self._waiting.append((pcm, last, speed))
        self._waiting_samples += len(pcm) // 2
        if not self._at_work:
            self._begin()

    @property
    def samples_behind(self) -> int:
        """Samples of the model's rate that were taken and are not given out yet."""
        return self._waiting_samples + self._behind

    @property
    def is_behind(self) -> bool:
        """Whether so much waits for its mark that the next part of the text should wait."""
        return self._waiting_samples > _BEHIND_SECONDS * self._model_rate

    async def drained(self) -> None:
        """Returns when everything was given, or nothing more will be. Raises what `give` raised."""
        while self._at_work and not self._dropped:
            self._moved.clear()
            await self._moved.wait()
        self._check()

    def drop(self) -> None:
        """Nobody wants the rest; `give` is forgotten, so that a clip leaves no circle of references."""
        self._dropped, self._give = True, _forget
        self._waiting.clear()
        self._moved.set()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _begin(self) -> None:
        pieces, size = [], 0
        while self._waiting and size <= _PIECE_SECONDS * self._model_rate:
            pieces.append(self._waiting.popleft())
            size += len(pieces[-1][0]) // 2
        work = asyncio.get_running_loop().run_in_executor(self._executor, self._process, pieces)
        self._at_work = True
        work.add_done_callback(lambda done: self._end(done, size))

    def _process(self, pieces: list[_Piece]) -> bytes:
        return b"".join(self._output.process(*piece) for piece in pieces)

    def _end(self, work: asyncio.Future[bytes], size: int) -> None:
        self._at_work = False
        self._moved.set()
        try:
            ready = work.result()
            self._waiting_samples -= size
            if self._dropped:
                return
            self._hand_out(ready)
            if self._waiting:
                self._begin()
        except (Exception, asyncio.CancelledError) as error:
            self._error = error
            self._waiting.clear()

    def _hand_out(self, ready: bytes) -> None:
        self._behind = self._output.samples_behind
        if ready:
            self._give(ready)


def _forget(pcm: bytes) -> None:
    """Takes the audio of a dropped clip."""
