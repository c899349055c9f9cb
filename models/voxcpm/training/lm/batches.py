"""Flat training batches for the language model, assembled with numpy from many utterances.

A batch is one row of `tokens` positions holding whole documents one after the other:

    [103, reference patches, 104]?  prompt's text? text  [101]  prompt's patches? patches

as models/voxcpm/requests/prompt.py builds them. A prompt is another recording of the same speaker that the
speech goes on from: its text and the new one have a space between them, and nothing is learnt from its own
patches.

All shapes are fixed, so that the training step compiles once; what is left over is padding.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from models.voxcpm.requests.tokenizer import AUDIO_START, REFERENCE_END, REFERENCE_START
from models.voxcpm.training.recipe import DEFAULT_VOICE, LMRecipe

SHORTEST_REFERENCE, LONGEST_REFERENCE = 15, 75
PADDING_DOCUMENT = 512
MOST_SILENCE_CUT = 3  # patches: what training adds, and part of the silence that every utterance ends with


@dataclass(frozen=True)
class LatentCorpus:
    """Utterances as ranges of two long arrays: latent patches (kept by the trainer) and text tokens.

    first_patch, num_patches, first_token, num_tokens, voice: int64 [U]; is_sentence: bool [U];
    tokens: int64; voices: names that `voice` counts in.
    """

    first_patch: np.ndarray
    num_patches: np.ndarray
    first_token: np.ndarray
    num_tokens: np.ndarray
    voice: np.ndarray
    is_sentence: np.ndarray
    tokens: np.ndarray
    voices: tuple[str, ...]


@dataclass(frozen=True)
class Batch:
    """One flat batch. T = recipe.tokens, A = recipe.audio_rows, F = recipe.flow_rows; all int64 unless noted.

    token_ids, positions [T]; audio_mask [T] bool; boundaries [documents + 1 + padding] int32, the
    cumulative document lengths; audio_positions [A]: where each audio row stands (T for unused rows);
    audio_patches [A]: its patch in the corpus; noise [A] float32: deviation of the noise to add;
    flow_positions [F]: position whose hidden state makes a patch, flow_patches [F]: that patch,
    flow_previous [F]: audio row before it (A for none); stop_labels [T]: 1 at the last patch, 0 at
    the others, -1 elsewhere.
    """

    token_ids: np.ndarray
    positions: np.ndarray
    audio_mask: np.ndarray
    boundaries: np.ndarray
    audio_positions: np.ndarray
    audio_patches: np.ndarray
    noise: np.ndarray
    flow_positions: np.ndarray
    flow_patches: np.ndarray
    flow_previous: np.ndarray
    stop_labels: np.ndarray
    target_patches: int


@dataclass(frozen=True)
class _Documents:
    """The documents of one batch, each array [documents].

    spoken: the utterances to learn, of `text` tokens and `patches`; reference, reference_length: first patch
    and patches of the reference; prompt: utterance that is the prompt, of `prompt_patches` (0: none) and
    `prompt_text` tokens, the space behind it included.
    """

    spoken: np.ndarray
    text: np.ndarray
    patches: np.ndarray
    reference: np.ndarray
    reference_length: np.ndarray
    prompt: np.ndarray
    prompt_patches: np.ndarray
    prompt_text: np.ndarray

    @cached_property
    def prefix(self) -> np.ndarray:
        """Positions of the reference and its marks."""
        return np.where(self.reference_length > 0, self.reference_length + 2, 0)

    @cached_property
    def length(self) -> np.ndarray:
        """Positions of all of it."""
        return self.prefix + self.prompt_text + self.text + 1 + self.prompt_patches + self.patches

    @cached_property
    def begin(self) -> np.ndarray:
        """Where it stands in the batch."""
        return np.cumsum(self.length) - self.length

    @cached_property
    def marker(self) -> np.ndarray:
        """Where its audio marker stands."""
        return self.begin + self.prefix + self.prompt_text + self.text

    def only(self, kept: np.ndarray) -> _Documents:
        """The documents that the mask keeps."""
        return _Documents(*(getattr(self, field.name)[kept] for field in fields(self)))


def ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Concatenation of arange(start, start + count): ranges([5, 9], [2, 3]) is [5, 6, 9, 10, 11]."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - counts), counts)


class BatchMaker:
    """Draws documents at random and lays them out. Not shared between threads."""

    def __init__(self, corpus: LatentCorpus, recipe: LMRecipe, seed: int) -> None:
        self.corpus, self.recipe = corpus, recipe
        self._random = np.random.default_rng(seed)
        sentences = np.flatnonzero(corpus.is_sentence)
        others = np.flatnonzero(~corpus.is_sentence)
        self._pools = (sentences if len(sentences) else others, others if len(others) else sentences)
        self._by_voice = np.argsort(corpus.voice, kind="stable")
        self._count_of_voice = np.bincount(corpus.voice, minlength=len(corpus.voices))
        self._first_of_voice = np.cumsum(self._count_of_voice) - self._count_of_voice
        self._default = corpus.voices.index(DEFAULT_VOICE) if DEFAULT_VOICE in corpus.voices else -1

    def _of_the_same_voice(self, chosen: np.ndarray) -> np.ndarray:
        """Per utterance one of its voice, mostly another."""
        voice = self.corpus.voice[chosen]
        nth = (self._random.random(len(chosen)) * self._count_of_voice[voice]).astype(np.int64)
        return self._by_voice[self._first_of_voice[voice] + nth]

    def _draw_utterances(self, sentence_share: float) -> np.ndarray:
        count, random = self.recipe.documents, self._random
        from_sentences = random.random(count) < sentence_share
        return np.where(
            from_sentences, random.choice(self._pools[0], count), random.choice(self._pools[1], count)
        )

    def _draw_references(self, chosen: np.ndarray, prompted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First patch and patches of each document's reference, 0 for none.

        The default voice may have none, and so may a document whose prompt tells who speaks.
        """
        corpus, random, count = self.corpus, self._random, len(chosen)
        other = self._of_the_same_voice(chosen)
        length = np.minimum(
            random.integers(SHORTEST_REFERENCE, LONGEST_REFERENCE + 1, count), corpus.num_patches[other]
        )
        start = corpus.first_patch[other] + (
            random.random(count) * (corpus.num_patches[other] - length + 1)
        ).astype(np.int64)
        free = (corpus.voice[chosen] == self._default) | prompted
        without = free & (random.random(count) >= self.recipe.default_reference_share)
        without |= not self.recipe.references
        return start, np.where(without, 0, length)

    def _draw_prompts(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(utterance, patches) of each document's prompt, 0 patches for none; its last silence may be cut."""
        random, count = self._random, len(chosen)
        prompt = self._of_the_same_voice(chosen)
        patches = self.corpus.num_patches[prompt] - random.integers(0, MOST_SILENCE_CUT + 1, count)
        prompted = random.random(count) < self.recipe.prompt_share
        prompted &= (prompt != chosen) & (patches <= self.recipe.longest_prompt)
        return prompt, np.where(prompted, patches, 0)

    def make(self, sentence_share: float) -> Batch:
        """One batch; `sentence_share` is the share of documents that are real sentences."""
        drawn = self._draw(sentence_share)
        return self._lay_out(drawn.only(self._fitting(drawn)))

    def _draw(self, sentence_share: float) -> _Documents:
        corpus = self.corpus
        spoken = self._draw_utterances(sentence_share)
        prompt, prompt_patches = self._draw_prompts(spoken)
        reference, reference_length = self._draw_references(spoken, prompt_patches > 0)
        return _Documents(
            spoken=spoken,
            text=corpus.num_tokens[spoken],
            patches=corpus.num_patches[spoken],
            reference=reference,
            reference_length=reference_length,
            prompt=prompt,
            prompt_patches=prompt_patches,
            prompt_text=np.where(prompt_patches > 0, corpus.num_tokens[prompt] + 1, 0),
        )

    def _fitting(self, drawn: _Documents) -> np.ndarray:
        """Mask of those that the batch has room for, in turn."""
        recipe = self.recipe
        usable = drawn.length <= recipe.longest_document
        rows = drawn.reference_length + drawn.prompt_patches + drawn.patches
        kept = usable & (np.cumsum(drawn.length * usable) <= recipe.tokens)
        return kept & (np.cumsum(rows * usable) <= recipe.audio_rows)

    def _token_ids(self, documents: _Documents) -> np.ndarray:
        corpus, begin = self.corpus, documents.begin
        token_ids = np.zeros(self.recipe.tokens, np.int64)
        referenced = documents.reference_length > 0
        token_ids[begin[referenced]] = REFERENCE_START
        token_ids[(begin + documents.prefix - 1)[referenced]] = REFERENCE_END
        at_prompt = begin + documents.prefix
        words, prompted = np.maximum(documents.prompt_text - 1, 0), documents.prompt_text > 0
        token_ids[ranges(at_prompt, words)] = corpus.tokens[
            ranges(corpus.first_token[documents.prompt], words)
        ]
        token_ids[(at_prompt + words)[prompted]] = self.recipe.space_token
        at_text = ranges(at_prompt + documents.prompt_text, documents.text)
        token_ids[at_text] = corpus.tokens[ranges(corpus.first_token[documents.spoken], documents.text)]
        token_ids[documents.marker] = AUDIO_START
        return token_ids

    def _lay_out(self, documents: _Documents) -> Batch:
        """Everything that follows from which documents there are."""
        corpus, recipe = self.corpus, self.recipe
        marker, patches = documents.marker, documents.patches
        lengths = np.concatenate(
            [documents.length, self._padding(recipe.tokens - int(documents.length.sum()))]
        )
        boundaries = np.full(
            recipe.documents + recipe.tokens // PADDING_DOCUMENT + 2, recipe.tokens, np.int32
        )
        boundaries[0], boundaries[1 : len(lengths) + 1] = 0, np.cumsum(lengths)
        first = marker + 1 + documents.prompt_patches
        at_reference = ranges(documents.begin + 1, documents.reference_length)
        at_prompt = ranges(marker + 1, documents.prompt_patches)
        at_target = ranges(first, patches)
        prompt_rows = ranges(corpus.first_patch[documents.prompt], documents.prompt_patches)
        target_patches = ranges(corpus.first_patch[documents.spoken], patches)
        given = len(at_reference) + len(at_prompt)
        rows = given + len(at_target)
        audio_positions = np.full(recipe.audio_rows, recipe.tokens, np.int64)
        audio_positions[:rows] = np.concatenate([at_reference, at_prompt, at_target])
        audio_patches = np.zeros(recipe.audio_rows, np.int64)
        audio_patches[:rows] = np.concatenate(
            [ranges(documents.reference, documents.reference_length), prompt_rows, target_patches]
        )
        audio_mask = np.zeros(recipe.tokens, bool)
        audio_mask[audio_positions[:rows]] = True
        stop_labels = np.full(recipe.tokens, -1, np.int64)
        stop_labels[at_target - 1] = 0
        stop_labels[first + patches - 2] = 1
        flow = np.resize(self._random.permutation(len(at_target)), recipe.flow_rows)
        return Batch(
            token_ids=self._token_ids(documents),
            positions=ranges(np.zeros(len(lengths), np.int64), lengths),
            audio_mask=audio_mask,
            boundaries=boundaries,
            audio_positions=audio_positions,
            audio_patches=audio_patches,
            noise=self._feedback_noise(given, patches),
            flow_positions=at_target[flow] - 1,
            flow_patches=target_patches[flow],
            flow_previous=self._previous_rows(len(at_reference), given, documents)[flow],
            stop_labels=stop_labels,
            target_patches=len(at_target),
        )

    def _feedback_noise(self, given_rows: int, patches: np.ndarray) -> np.ndarray:
        """Deviation of the noise per audio row [A] float32: what is given has none."""
        level = self._random.uniform(0, self.recipe.most_feedback_noise, len(patches))
        level *= self._random.random(len(patches)) < 0.5
        noise = np.zeros(self.recipe.audio_rows, np.float32)
        noise[given_rows : given_rows + int(patches.sum())] = np.repeat(level, patches)
        return noise

    def _previous_rows(self, reference_rows: int, given_rows: int, documents: _Documents) -> np.ndarray:
        """Audio row of the patch before each target patch.

        Before the first one that is the last of the prompt, or `audio_rows`, a row of zeros.
        """
        patches, prompts = documents.patches, documents.prompt_patches
        previous = given_rows + np.arange(int(patches.sum())) - 1
        last_of_prompt = reference_rows + np.cumsum(prompts) - 1
        previous[np.cumsum(patches) - patches] = np.where(prompts > 0, last_of_prompt, self.recipe.audio_rows)
        return previous

    @staticmethod
    def _padding(left: int) -> np.ndarray:
        """Lengths of the documents of padding that fill `left` positions."""
        full, rest = divmod(left, PADDING_DOCUMENT)
        return np.array([PADDING_DOCUMENT] * full + [rest] * (rest > 0), np.int64)
