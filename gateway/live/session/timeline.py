"""Which text is where in the audio of a live session, and what of it was heard.

Characters are counted over all appended text, samples over all audio that was sent. After a barge-in at
sample 30,000, with these utterances of its epoch,

    index  text               characters  samples
    4      "One sentence. "   210 - 224   0 - 24000
    5      "Another one."     224 - 236   24000 - (still being made)

all of the first and a share of the second was heard. The share is that of the characters, as far as the
length of the second can be told, brought back to the end of a word: an estimate, and marked as one. Where
words are respelt or figures put into words, the characters of those count, and `spoken_text` is told as it
was appended. Between two utterances there may be silence, which has samples and no characters.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from gateway.text import Spoken as InWords
from models.sentences import has_words

_CHARACTERS_PER_SECOND = 15.0
"""Speed of speech, before any was measured."""
_WORD_END = re.compile(r"\S(?=\s|$)")


@dataclass(eq=False)
class Utterance:
    """One sentence of a session."""

    index: int
    epoch: int
    text: str
    start: int
    """Its first character in all appended text."""
    first_sample: int = 0
    samples: int = 0
    """Sent so far."""
    cut_samples: int = 0
    """Samples of those that went wrong and are said again."""
    finish_reason: str | None = None
    spoken: InWords | None = None
    """The text in words, where they are others."""

    @property
    def said_samples(self) -> int:
        """Sent so far of what says the text."""
        return self.samples - self.cut_samples

    @property
    def spoken_characters(self) -> int:
        """Characters of the text as it is spoken."""
        return len(self.text if self.spoken is None else self.spoken.text)

    def said(self, share: float) -> int:
        """How much of the text is said after a share of the time, in whole words."""
        count = round(self.spoken_characters * min(1.0, share))
        return _whole_words(self.text, count if self.spoken is None else self.spoken.to_written(count))

    @property
    def end(self) -> int:
        """The character after its last."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class Spoken:
    """What was heard of an epoch. `characters` counts all appended text up to there."""

    text: str
    characters: int
    estimated: bool


class Timeline:
    """The utterances of a session; those of past epochs are forgotten."""

    def __init__(self) -> None:
        self.epoch = 0
        self.utterances = 0
        """Begun so far, in all epochs."""
        self.samples = 0
        """Sent so far; also where the next utterance begins."""
        self.current: Utterance | None = None
        """Being spoken."""
        self._waiting: deque[str | float] = deque()
        """Sentences, and seconds of silence between them."""
        self._silent = False
        """Whether such a silence is being heard."""
        self._next_start = 0
        self._spoken: list[Utterance] = []
        self._epoch_start = 0

    @property
    def waiting_characters(self) -> int:
        """Characters of the sentences that nobody has begun to speak."""
        return sum(len(each) for each in self._waiting if isinstance(each, str))

    def __bool__(self) -> bool:
        """Whether there is something to speak."""
        return self.current is not None or self._silent or bool(self._waiting)

    def add(self, sentence: str) -> None:
        """The next sentence to speak. One without a word is not spoken, and counts as text all the same."""
        if not self and not has_words(sentence):
            self._next_start += len(sentence)
        else:
            self._waiting.append(sentence)

    def add_silence(self, seconds: float) -> None:
        """So much silence behind what was added before."""
        self._waiting.append(seconds)

    def begin_silence(self) -> float | None:
        """The seconds of silence that come now; None where it is an utterance's turn, or nothing is left."""
        if self.current is not None or not self._waiting or isinstance(self._waiting[0], str):
            return None
        self._silent = True
        return self._waiting.popleft()

    def end_silence(self) -> None:
        """All of it is on its way."""
        self._silent = False

    def begin(self) -> Utterance | None:
        """The utterance to be spoken now: the current one, else the next before a silence; None when there is
        none.
        """
        while self.current is None and self._waiting and isinstance(self._waiting[0], str):
            text = self._waiting.popleft()
            start, self._next_start = self._next_start, self._next_start + len(text)
            if has_words(text):
                self.current = Utterance(self.utterances, self.epoch, text, start, self.samples)
                self._spoken.append(self.current)
                self.utterances += 1
        return self.current

    def say(self, spoken: InWords) -> None:
        """The current utterance is said in these words."""
        if self.current is not None:
            self.current.spoken = spoken

    def heard(self, samples: int) -> None:
        """So much more of the current utterance, or of a silence, is on its way."""
        self.samples += samples
        if self.current is not None:
            self.current.samples += samples

    def begin_again(self, cut_samples: int) -> None:
        """A part of the current utterance is said again; `cut_samples` in all say nothing of its text."""
        self.current.cut_samples = cut_samples

    def end(self, finish_reason: str) -> Utterance:
        """The current utterance is complete."""
        ended, self.current = self.current, None
        ended.finish_reason = finish_reason
        return ended

    def cancel(
        self, played_samples: int, dropped_samples: int, rest_characters: int, sample_rate: int
    ) -> Spoken:
        """Begin a new epoch: nothing of what waits is spoken.

        played_samples: position up to which the client has heard. dropped_samples: of the audio that counts
        as sent, what never left. rest_characters: appended, and never made into a sentence.
        """
        self.samples -= dropped_samples
        spoken = self._spoken_up_to(min(played_samples, self.samples), sample_rate)
        self.epoch += 1
        self.current, self._silent = None, False
        self._next_start += self.waiting_characters + rest_characters
        self._waiting.clear()
        self._spoken.clear()
        self._epoch_start = self._next_start
        return spoken

    def _spoken_up_to(self, position: int, sample_rate: int) -> Spoken:
        texts, characters = [], self._epoch_start
        for utterance in self._spoken:
            ended = utterance.finish_reason is not None
            if ended and utterance.first_sample + utterance.samples <= position:
                texts.append(utterance.text)
                characters = utterance.end
                continue
            if position <= utterance.first_sample:
                break
            heard = max(0, position - utterance.first_sample - utterance.cut_samples)
            length = utterance.said_samples if ended else self._guess_samples(utterance, sample_rate)
            count = utterance.said(heard / max(1, length))
            return Spoken("".join((*texts, utterance.text[:count])), utterance.start + count, True)
        return Spoken("".join(texts), characters, False)

    def _guess_samples(self, utterance: Utterance, sample_rate: int) -> int:
        """How long an utterance will be of which not all is made: at the speed of those before it."""
        complete = [other for other in self._spoken if other.finish_reason is not None and other.samples]
        samples = sum(other.said_samples for other in complete)
        characters = sum(other.spoken_characters for other in complete)
        per_character = samples / characters if characters else sample_rate / _CHARACTERS_PER_SECOND
        return max(utterance.said_samples, round(per_character * utterance.spoken_characters), 1)


def _whole_words(text: str, count: int) -> int:
    """`count`, or less where that would be in the middle of a word; text without spaces is cut anywhere."""
    if count >= len(text) or not re.search(r"\s", text.strip()):
        return min(count, len(text))
    ends = [match.end() for match in _WORD_END.finditer(text) if match.end() <= count]
    return ends[-1] if ends else 0
