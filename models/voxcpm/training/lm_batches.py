"""Flat training batches for the language model, assembled with numpy from many utterances.

A batch is one row of `tokens` positions holding whole documents one after the other:

    [103, reference patches, 104]?  text  [101]  patches        (as models/voxcpm/prompt.py builds them)

All shapes are fixed, so that the training step compiles once; what is left over is padding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.voxcpm.tokenizer import AUDIO_START, REFERENCE_END, REFERENCE_START

from .recipe import DEFAULT_VOICE, LMRecipe

SHORTEST_REFERENCE, LONGEST_REFERENCE = 15, 45
PADDING_DOCUMENT = 512


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

    begin, length: where they stand in the batch; reference, reference_length: first patch and patches of the
    reference; marker: position of the audio marker; first_patch, patches: the speech to learn.
    """

    begin: np.ndarray
    length: np.ndarray
    reference: np.ndarray
    reference_length: np.ndarray
    marker: np.ndarray
    first_patch: np.ndarray
    patches: np.ndarray


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
        self._by_voice = [np.flatnonzero(corpus.voice == v) for v in range(len(corpus.voices))]
        self._default = corpus.voices.index(DEFAULT_VOICE) if DEFAULT_VOICE in corpus.voices else -1

    def _draw(self, sentence_share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Candidates, each [documents]: utterance, first reference patch, reference length (0 for none)."""
        count, random, corpus = self.recipe.documents, self._random, self.corpus
        from_sentences = random.random(count) < sentence_share
        chosen = np.where(
            from_sentences, random.choice(self._pools[0], count), random.choice(self._pools[1], count)
        )
        voice = corpus.voice[chosen]
        other = np.empty(count, np.int64)
        for index, members in enumerate(self._by_voice):
            same = voice == index
            other[same] = random.choice(members, int(same.sum())) if same.any() else 0
        length = np.minimum(
            random.integers(SHORTEST_REFERENCE, LONGEST_REFERENCE + 1, count), corpus.num_patches[other]
        )
        start = corpus.first_patch[other] + (
            random.random(count) * (corpus.num_patches[other] - length + 1)
        ).astype(np.int64)
        without = (voice == self._default) & (random.random(count) >= self.recipe.default_reference_share)
        return chosen, start, np.where(without, 0, length)

    def make(self, sentence_share: float) -> Batch:
        """One batch; `sentence_share` is the share of documents that are real sentences."""
        corpus, recipe = self.corpus, self.recipe
        chosen, reference, reference_length = self._draw(sentence_share)
        patches, text = corpus.num_patches[chosen], corpus.num_tokens[chosen]
        prefix = np.where(reference_length > 0, reference_length + 2, 0)
        length = prefix + text + 1 + patches
        usable = length <= recipe.longest_document
        keep = usable & (np.cumsum(length * usable) <= recipe.tokens)
        keep &= np.cumsum((reference_length + patches) * usable) <= recipe.audio_rows
        chosen, reference, reference_length, patches, text, prefix, length = (
            a[keep] for a in (chosen, reference, reference_length, patches, text, prefix, length)
        )
        begin = np.cumsum(length) - length
        token_ids = np.zeros(recipe.tokens, np.int64)
        referenced = reference_length > 0
        token_ids[begin[referenced]] = REFERENCE_START
        token_ids[begin[referenced] + reference_length[referenced] + 1] = REFERENCE_END
        token_ids[ranges(begin + prefix, text)] = corpus.tokens[ranges(corpus.first_token[chosen], text)]
        marker = begin + prefix + text
        token_ids[marker] = AUDIO_START
        documents = _Documents(
            begin, length, reference, reference_length, marker, corpus.first_patch[chosen], patches
        )
        return self._lay_out(token_ids, documents)

    def _lay_out(self, token_ids: np.ndarray, documents: _Documents) -> Batch:
        """Everything of a batch that follows from where its documents stand."""
        recipe, marker, patches = self.recipe, documents.marker, documents.patches
        lengths = np.concatenate(
            [documents.length, self._padding(recipe.tokens - int(documents.length.sum()))]
        )
        boundaries = np.full(
            recipe.documents + recipe.tokens // PADDING_DOCUMENT + 2, recipe.tokens, np.int32
        )
        boundaries[0], boundaries[1 : len(lengths) + 1] = 0, np.cumsum(lengths)
        at_reference = ranges(documents.begin + 1, documents.reference_length)
        at_target = ranges(marker + 1, patches)
        target_patches = ranges(documents.first_patch, patches)
        rows = len(at_reference) + len(at_target)
        audio_positions = np.full(recipe.audio_rows, recipe.tokens, np.int64)
        audio_positions[:rows] = np.concatenate([at_reference, at_target])
        audio_patches = np.zeros(recipe.audio_rows, np.int64)
        audio_patches[:rows] = np.concatenate(
            [ranges(documents.reference, documents.reference_length), target_patches]
        )
        audio_mask = np.zeros(recipe.tokens, bool)
        audio_mask[audio_positions[:rows]] = True
        stop_labels = np.full(recipe.tokens, -1, np.int64)
        stop_labels[at_target - 1] = 0
        stop_labels[marker + patches - 1] = 1
        flow = np.resize(self._random.permutation(len(at_target)), recipe.flow_rows)
        return Batch(
            token_ids=token_ids,
            positions=ranges(np.zeros(len(lengths), np.int64), lengths),
            audio_mask=audio_mask,
            boundaries=boundaries,
            audio_positions=audio_positions,
            audio_patches=audio_patches,
            noise=self._feedback_noise(len(at_reference), patches),
            flow_positions=at_target[flow] - 1,
            flow_patches=target_patches[flow],
            flow_previous=self._previous_rows(len(at_reference), patches)[flow],
            stop_labels=stop_labels,
            target_patches=len(at_target),
        )

    def _feedback_noise(self, reference_rows: int, patches: np.ndarray) -> np.ndarray:
        """Deviation of the noise per audio row [A] float32: half the documents have some, references none."""
        level = self._random.uniform(0, self.recipe.most_feedback_noise, len(patches))
        level *= self._random.random(len(patches)) < 0.5
        noise = np.zeros(self.recipe.audio_rows, np.float32)
        noise[reference_rows : reference_rows + int(patches.sum())] = np.repeat(level, patches)
        return noise

    def _previous_rows(self, reference_rows: int, patches: np.ndarray) -> np.ndarray:
        """Audio row of the patch before each target patch; `audio_rows`, a row of zeros, before the first."""
        count = int(patches.sum())
        previous = reference_rows + np.arange(count) - 1
        previous[np.cumsum(patches) - patches] = self.recipe.audio_rows
        return previous

    @staticmethod
    def _padding(left: int) -> np.ndarray:
        """Lengths of the documents of padding that fill `left` positions."""
        full, rest = divmod(left, PADDING_DOCUMENT)
        return np.array([PADDING_DOCUMENT] * full + [rest] * (rest > 0), np.int64)
