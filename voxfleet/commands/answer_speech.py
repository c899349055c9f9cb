"""Where `voxfleet chat --speak` has an answer heard."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from gateway.audio.samples import from_s16
from voxfleet.client.chat import PCM_RATE
from voxfleet.commands.options import fail
from voxfleet.commands.say import STANDARD_OUTPUT, SayError, check_output, write


class AnswerSpeech:
    """A file, once all of the answer is spoken, or standard output, while it is."""

    def __init__(self, output: Path, voice: str) -> None:
        """What cannot be written ends the command."""
        try:
            check_output(output)
        except SayError as error:
            fail(error)
        self._output = output
        self._pcm = bytearray()
        self.is_piped = output == STANDARD_OUTPUT
        self.asked: dict[str, Any] = {"voice": voice, "format": "wav" if self.is_piped else "pcm16"}
        """What the request has as `audio`."""

    def take(self, audio: bytes) -> None:
        """The next bytes. Raises OSError where standard output takes no more."""
        if self.is_piped:
            sys.stdout.buffer.write(audio)
            sys.stdout.buffer.flush()
        else:
            self._pcm += audio

    def finish(self) -> None:
        """End the audio. A file that cannot be written ends the command."""
        if self.is_piped:
            return
        if not self._pcm:
            fail(f"{self._output} is not written: nothing of the answer was spoken")
        try:
            write(self._output, from_s16(bytes(self._pcm)), PCM_RATE)
        except SayError as error:
            fail(error)
