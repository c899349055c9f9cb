"""One clip: what was asked for, and what was committed of it.

A text longer than the model speaks in one breath is several requests to the worker, one part after the other.
To everyone else it is one clip. Its text is in `gateway/streams/clip/text.py`; pauses of an SSML document and
between paragraphs are silence that the gateway puts between the parts.

Latents are kept of the present part alone. Parts that are finished are only counted, so that a book takes no
more memory than a sentence.
"""

from __future__ import annotations

from gateway.requests import TtsRequest
from gateway.streams.clip.conditioning import Conditioning
from gateway.streams.clip.parts import Reading
from gateway.streams.clip.progress import Place, Progress, Silence
from gateway.streams.clip.sample import VoiceSample, better_sample
from gateway.streams.clip.slices import in_slices
from gateway.streams.clip.text import ClipText
from gateway.text import Lexicon
from gateway.text.ssml import parse_ssml
from worker.protocol import WATCHED, ModelDescription

_CUT_PAUSE_SECONDS = 0.2
"""Seconds of silence between what was heard of a part and the part again."""


class Clip:
    """What has been generated of one request so far."""

    def __init__(
        self,
        request: TtsRequest,
        seed: int,
        max_audio_seconds: float,
        number: int = 0,
        tells_words: bool = False,
    ) -> None:
        """`number`: tells the clips of one ticket apart. `tells_words`: `text.said` will be asked for."""
        self.source = request.text
        """The text with its markup, where it has some."""
        self.script = parse_ssml(request.text, request.language) if request.input_type == "ssml" else None
        """Passages and pauses of an SSML document; None for plain text."""
        if self.script is not None:
            request = request.model_copy(update={"text": self.script.text})
        self.request = request
        self.number = number
        self.seed = seed
        self.max_audio_seconds = max_audio_seconds
        self.model: ModelDescription | None = None
        """The model that makes every patch; until `taken`, that of the worker that is being asked."""
        self.taken = False
        """Whether a worker took it: from then on it belongs to the model."""
        self.latent_bytes = 0
        """Bytes of the latents of one patch."""
        self.latents: list[bytes] = []
        """Latents of each committed patch of the present part, float32 [P, D]."""
        self.patches = 0
        """How many patches were committed, in all parts."""
        self.samples = 0
        """Samples committed, at the model's rate, with the pauses before the parts and with what was cut."""
        self.speech_samples = 0
        """`samples` without pauses."""
        self.heard_samples = 0.0
        """`samples` with pauses, at the speed at which they are heard."""
        self.finish_reason: str | None = None
        self.part = 0
        """Which part of the text is being spoken."""
        self.take = 0
        """How many takes of the present part were dropped or cut before."""
        self.was_cut = False
        """Whether some of those takes was heard."""
        self.silence = Silence()
        """Counts the silent patches of this take."""
        self.part_start = 0
        """How many patches the parts before the present one have."""
        self.conditioning = Conditioning(request.voice)
        """What makes the worker speak with the voice."""
        self.sample: VoiceSample | None = None
        """Whose voice further parts have, where that is nobody's yet."""
        self.respelt: dict[str, str] = {}
        """Words of the text that are said otherwise: a clip keeps them when the lexicon changes."""
        self._tells_words = tells_words
        self._read()

    def adopt(self, request: TtsRequest) -> TtsRequest:
        """The request with its voice's parameters, unless the clip was begun; the one that is in force."""
        if self.model is None:
            self.request = request
            self.seed = self.seed if request.seed is None else request.seed
            self._read()
        return self.request

    async def find_words(self, lexicon: Lexicon) -> None:
        """Have its words said as `lexicon` says, unless the clip was begun."""
        if self.model is None:
            found: dict[str, str] = {}
            if lexicon:
                await in_slices(lexicon.find_used(self.request.text, found))
            self.respelt = found

    def say_with(self, lexicon: Lexicon) -> None:
        """`find_words` at once, for a text that is short enough to read without pause."""
        if self.model is None:
            self.respelt = lexicon.used_in(self.request.text)

    def begin(self, model: ModelDescription) -> None:
        """Say which model speaks, as soon as that is known."""
        if not self.begun:
            self.model = model
            self.latent_bytes = 4 * model.patch_size * model.latent_dim
            self._read()

    def _read(self) -> None:
        """Its text as the model reads it, once that is known."""
        request, reading = self.request, None
        if self.model is not None:
            reading = Reading(self.model, request.normalize, request.language, Lexicon.of(self.respelt))
        self.text = ClipText(request, self.script, reading, self._tells_words)

    @property
    def is_watched(self) -> bool:
        """Whether who speaks tells what is wrong with it."""
        return self.model is not None and WATCHED in self.model.features

    @property
    def begun(self) -> bool:
        """Whether it has to go on with its model."""
        return self.taken or self.patches > 0

    @property
    def spoken_part(self) -> str:
        """What the worker is told to say, of the present part or of the last one."""
        return self.text.parts[self.part].spoken

    @property
    def audio_seconds(self) -> float:
        """Length of what was committed."""
        return self.samples / self.model.sample_rate if self.model else 0.0

    @property
    def pause_samples(self) -> int:
        """Samples of silence, at the model's rate, before what comes next: a part, or the end of the clip."""
        if self.model is None:
            return 0
        if self.finish_reason is not None:
            return self._pause(self.script.pause_after if self.script else 0.0)
        if self.latents:
            return 0
        return self._pause(_CUT_PAUSE_SECONDS if self.was_cut else self.text.parts[self.part].pause)

    def _pause(self, seconds: float) -> int:
        """Samples; a speed changes speech and no pause."""
        return round(seconds * self.model.sample_rate * self.speed)

    @property
    def speed(self) -> float:
        """The speed of the present part: the request's, times what its document says."""
        return self.request.speed * self.text.parts[self.part].rate

    @property
    def speech_seconds(self) -> float:
        """Length of what was committed, without the pauses before the parts."""
        return self.speech_samples / self.model.sample_rate if self.model else 0.0

    def commit_pause(self) -> bytes:
        """Take in the silence that is due, as s16le samples."""
        samples = self.pause_samples
        self.samples += samples
        self.heard_samples += samples / self.speed
        return bytes(2 * samples)

    def commit(self, latents: bytes, samples: int, silent: bool = False) -> None:
        """Take in one patch."""
        self.silence = self.silence.after(silent)
        self.latents.append(latents)
        self.patches += 1
        self.samples += samples
        self.speech_samples += samples
        self.heard_samples += samples / self.speed

    def end_part(self, finish_reason: str) -> None:
        """The present part is spoken: the next one's turn, or the clip is complete."""
        if finish_reason == "stop":
            spoken = self.spoken_part, self.latents
            self.sample = better_sample(self.sample, *spoken, self.model, self.conditioning)
        if self.part + 1 < len(self.text.parts) and self.seconds_left >= self.model.patch_seconds:
            self.begin_part(self.part + 1)
        else:
            self.finish_reason = finish_reason

    def begin_part(self, part: int) -> None:
        """Go on with a part; what is before it was heard, and its latents are let go."""
        self.part, self.part_start = part, self.patches
        self.go_to_take(0, cut=False)

    def go_to_take(self, take: int, cut: bool) -> None:
        """Begin a take of the present part. `cut`: some of another one was heard."""
        self.take, self.was_cut = take, cut
        self.patches, self.silence = self.part_start, Silence()
        self.latents.clear()

    @property
    def place(self) -> Place:
        """Where the clip stands: its part, and what was committed."""
        return Place(self.part, self.patches, self.samples, self.speech_samples, self.heard_samples)

    @property
    def progress(self) -> Progress:
        """The place, with what was committed of the present part."""
        return Progress(self.place, tuple(self.latents), self.silence)

    def restore(self, progress: Progress) -> None:
        """Have committed what was then, of the same part."""
        self._count(progress.place)
        self.latents[:] = progress.latents
        self.silence = progress.silence

    def begin_take(self, before: Progress) -> None:
        """Speak the present part again, with another seed. `before`: when it began; nobody heard it."""
        self.restore(before)
        self.take += 1

    def cut_take(self, samples: int) -> None:
        """Speak the present part again, with another seed, after what was heard of it and `samples` more."""
        self.samples += samples
        self.speech_samples += samples
        self.heard_samples += samples / self.speed
        self.go_to_take(self.take + 1, cut=self.was_cut or bool(self.latents))

    @property
    def cut_seconds(self) -> float:
        """Seconds of speech that were heard, went wrong, and are said again."""
        cut_samples = self.speech_samples - self.patches * self.model.patch_samples
        return max(0, cut_samples) / self.model.sample_rate

    def go_to(self, place: Place) -> None:
        """Go on from between two parts: forward, where that was generated before, or back."""
        self._count(place)
        self.finish_reason = None
        self.begin_part(place.part)

    def _count(self, place: Place) -> None:
        self.patches, self.samples = place.patches, place.samples
        self.speech_samples, self.heard_samples = place.speech_samples, place.heard_samples

    @property
    def is_too_long(self) -> bool:
        """Whether there is more than was asked for, by more than the last patch may overshoot."""
        return self.speech_seconds > self.longest_seconds + 2 * self.model.patch_seconds

    @property
    def is_last_part(self) -> bool:
        """Whether nothing follows the present part."""
        return self.part + 1 == len(self.text.parts)

    @property
    def seconds_left(self) -> float:
        """Seconds of speech that it may still have."""
        return self.longest_seconds - self.speech_seconds

    @property
    def longest_seconds(self) -> float:
        """Seconds of speech that it may have, at the model's speed."""
        longest_seconds = self.request.max_seconds
        return longest_seconds * self.request.speed if longest_seconds else self.max_audio_seconds
