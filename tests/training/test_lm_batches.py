"""Flat batches taken apart position by position: whole documents, as the product builds its prompts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from models.voxcpm.model import VoxCPMModel
from models.voxcpm.requests.prompt import build_sequence
from models.voxcpm.requests.tokenizer import AUDIO_START, REFERENCE_START
from models.voxcpm.training.lm.batches import (
    LONGEST_REFERENCE,
    MOST_SILENCE_CUT,
    SHORTEST_REFERENCE,
    Batch,
    BatchMaker,
    LatentCorpus,
    ranges,
)
from models.voxcpm.training.lm.feeder import BatchFeeder
from models.voxcpm.training.lm.flat_attention import ROW_ATTENTIONS, flat_attention
from models.voxcpm.training.recipe import DEFAULT_VOICE, Recipe

UTTERANCES = 40
VOICES = (DEFAULT_VOICE, "joe", "joe:1.1:1.4:1.0", "slt")


@pytest.fixture(scope="module")
def corpus() -> LatentCorpus:
    random = np.random.default_rng(3)
    patches, tokens = random.integers(16, 60, UTTERANCES), random.integers(4, 40, UTTERANCES)
    return LatentCorpus(
        first_patch=np.cumsum(patches) - patches,
        num_patches=patches,
        first_token=np.cumsum(tokens) - tokens,
        num_tokens=tokens,
        voice=np.arange(UTTERANCES) % len(VOICES),
        is_sentence=np.arange(UTTERANCES) < 30,
        tokens=random.integers(3, 57, tokens.sum()),
        voices=VOICES,
    )


@dataclass
class Document:
    """One document read back from a batch: positions in the batch, corpus patches, the utterances spoken.

    first_target: position of the first patch that is learnt; prompt_utterance: None without a prompt.
    """

    at: range
    reference: list[int]
    text: list[int]
    prompt: list[int]
    target: list[int]
    first_target: int
    utterance: int
    prompt_utterance: int | None


def read_back(batch: Batch, corpus: LatentCorpus, recipe: Recipe) -> list[Document]:
    """The slow way: walk the batch by its boundaries; documents of padding have no audio marker."""
    patch_at = {
        int(position): int(patch)
        for position, patch in zip(batch.audio_positions, batch.audio_patches, strict=True)
        if position < recipe.lm.tokens
    }
    documents = []
    for first, last in pairwise(batch.boundaries.tolist()):
        at, tokens = range(first, last), batch.token_ids[first:last].tolist()
        if AUDIO_START not in tokens:
            assert not any(position in patch_at for position in at)
            continue
        marker = tokens.index(AUDIO_START)
        referenced = tokens[0] == REFERENCE_START
        begin = next(i for i, t in enumerate(tokens) if t == 104) + 1 if referenced else 0
        spoken = [patch_at[p] for p in range(first + marker + 1, last)]
        utterance = owner(corpus, spoken[-1])
        start = len(spoken) - int(corpus.num_patches[utterance])
        prompt, target = spoken[:start], spoken[start:]
        reference = [patch_at[p] for p in range(first + 1, first + begin - 1)] if referenced else []
        text = tokens[begin:marker]
        by = owner(corpus, prompt[0]) if prompt else None
        first_target = first + marker + 1 + len(prompt)
        documents.append(Document(at, reference, text, prompt, target, first_target, utterance, by))
    return documents


def owner(corpus: LatentCorpus, patch: int) -> int:
    return int(np.searchsorted(corpus.first_patch, patch, side="right")) - 1


@pytest.fixture(params=range(4))
def batch(request: pytest.FixtureRequest, corpus: LatentCorpus, recipe: Recipe) -> Batch:
    return BatchMaker(corpus, recipe.lm, request.param).make(0.75)


def test_every_document_is_what_the_prompt_builder_makes_of_its_utterance(
    batch: Batch, corpus: LatentCorpus, recipe: Recipe
) -> None:
    patches = np.arange(corpus.num_patches.sum(), dtype=np.float32)[:, None, None]
    for document in read_back(batch, corpus, recipe):
        u = document.utterance
        text = corpus.tokens[corpus.first_token[u] :][: corpus.num_tokens[u]].tolist()
        if document.prompt:
            v = document.prompt_utterance
            said = corpus.tokens[corpus.first_token[v] :][: corpus.num_tokens[v]].tolist()
            text = [*said, recipe.lm.space_token, *text]
        prompt = patches[document.prompt] if document.prompt else None
        reference = patches[document.reference] if document.reference else None
        speech = patches[corpus.first_patch[u] :][: corpus.num_patches[u]]
        keys = build_sequence(text, reference=reference, prompt=prompt, generated=speech)
        found = [int(t) for t in batch.token_ids[document.at]]
        audio = {p: i for i, p in enumerate(batch.audio_positions.tolist())}
        for key, token, position in zip(keys, found, document.at, strict=True):
            if isinstance(key, bytes):
                assert batch.audio_mask[position]
                assert patches[batch.audio_patches[audio[position]]].tobytes() == key
            else:
                assert not batch.audio_mask[position] and token == key
        assert batch.positions[document.at].tolist() == list(range(len(document.at)))


def test_references_are_other_stretches_of_the_same_voice(
    batch: Batch, corpus: LatentCorpus, recipe: Recipe
) -> None:
    documents = read_back(batch, corpus, recipe)
    assert documents
    for document in documents:
        voice = corpus.voice[document.utterance]
        if not document.reference:
            assert VOICES[voice] == DEFAULT_VOICE or document.prompt
            continue
        source = owner(corpus, document.reference[0])
        assert corpus.voice[source] == voice
        assert source == owner(corpus, document.reference[-1])
        assert SHORTEST_REFERENCE <= len(document.reference) <= LONGEST_REFERENCE
        assert document.reference == list(range(document.reference[0], document.reference[-1] + 1))


def test_prompts_are_other_recordings_of_the_same_voice_from_their_beginning(
    corpus: LatentCorpus, recipe: Recipe
) -> None:
    documents = [
        document
        for seed in range(6)
        for document in read_back(BatchMaker(corpus, recipe.lm, seed).make(0.75), corpus, recipe)
    ]
    prompted = [document for document in documents if document.prompt]
    assert 0.2 < len(prompted) / len(documents) < 0.8
    assert any(d.reference for d in prompted) and not all(d.reference for d in prompted)
    for document in prompted:
        u, v = document.utterance, document.prompt_utterance
        assert u != v and corpus.voice[u] == corpus.voice[v]
        first, count = int(corpus.first_patch[v]), int(corpus.num_patches[v])
        assert document.prompt == list(range(first, first + len(document.prompt)))
        assert count - MOST_SILENCE_CUT <= len(document.prompt) <= count


def test_the_stop_is_labelled_at_the_position_before_the_last_patch(
    batch: Batch, corpus: LatentCorpus, recipe: Recipe
) -> None:
    expected = np.full(recipe.lm.tokens, -1)
    for document in read_back(batch, corpus, recipe):
        expected[document.first_target - 1 : document.at[-1]] = 0
        expected[document.at[-1] - 1] = 1
    assert np.array_equal(batch.stop_labels, expected)


def test_a_flow_row_pairs_a_hidden_state_with_the_next_patch_and_the_one_before(
    batch: Batch, corpus: LatentCorpus, recipe: Recipe
) -> None:
    expected = set()
    for document in read_back(batch, corpus, recipe):
        before = [document.prompt[-1] if document.prompt else -1, *document.target[:-1]]
        for offset, (patch, previous) in enumerate(zip(document.target, before, strict=True)):
            expected.add((document.first_target + offset - 1, patch, previous))
    known = np.append(batch.audio_patches, -1)
    rows = zip(
        batch.flow_positions.tolist(),
        batch.flow_patches.tolist(),
        known[batch.flow_previous].tolist(),
        strict=True,
    )
    found = set(rows)
    assert found <= expected
    assert len(found) == min(recipe.lm.flow_rows, len(expected)) and batch.target_patches == len(expected)


def test_noise_is_for_patches_that_are_fed_back_not_for_references(
    batch: Batch, corpus: LatentCorpus, recipe: Recipe
) -> None:
    noise_at = dict(zip(batch.audio_positions.tolist(), batch.noise.tolist(), strict=True))
    for document in read_back(batch, corpus, recipe):
        references = range(document.at[0] + 1, document.at[0] + 1 + len(document.reference))
        prompts = range(document.first_target - len(document.prompt), document.first_target)
        assert all(noise_at[p] == 0 for given in (references, prompts) for p in given)
        assert len({noise_at[p] for p in range(document.first_target, document.at[-1] + 1)}) == 1
    assert 0 < batch.noise.max() <= recipe.lm.most_feedback_noise


def test_hidden_states_of_a_document_do_not_depend_on_its_neighbours(
    corpus: LatentCorpus, recipe: Recipe
) -> None:
    torch.manual_seed(0)
    model = VoxCPMModel(recipe.config).eval()
    batch = BatchMaker(corpus, recipe.lm, 9).make(0.75)
    document = read_back(batch, corpus, recipe)[1]
    latents = torch.randn(int(corpus.num_patches.sum()), 2, recipe.config.feat_dim)
    features = torch.zeros(recipe.lm.tokens + 1, 2, recipe.config.feat_dim)
    features[torch.from_numpy(batch.audio_positions)] = latents[torch.from_numpy(batch.audio_patches)]

    def hidden(at: range, boundaries: list[int]) -> torch.Tensor:
        rows = slice(at[0], at[-1] + 1)
        attention = flat_attention(torch.tensor(boundaries, dtype=torch.int32), 1000)
        ids, mask, positions = (
            torch.from_numpy(array)[rows] for array in (batch.token_ids, batch.audio_mask, batch.positions)
        )
        with torch.no_grad():
            return torch.cat(model.lm_hidden_states(ids, features[rows], mask, positions, attention), 1)

    together = hidden(range(recipe.lm.tokens), batch.boundaries.tolist())[
        document.at[0] : document.at[-1] + 1
    ]
    alone = hidden(document.at, [0, len(document.at)])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted(ROW_ATTENTIONS))
def test_every_form_of_row_attention_gives_the_same(name: str) -> None:
    torch.manual_seed(1)
    q, k, v = torch.randn(3, 5, 4, 8), torch.randn(3, 5, 2, 8), torch.randn(3, 5, 2, 8)
    expected = ROW_ATTENTIONS["sdpa"](0, q, k, v)
    torch.testing.assert_close(ROW_ATTENTIONS[name](0, q, k, v), expected, rtol=1e-5, atol=1e-6)


def test_ranges_are_arange_after_arange() -> None:
    assert ranges(np.array([5, 9, 2]), np.array([2, 0, 3])).tolist() == [5, 6, 2, 3, 4]
    assert ranges(np.array([], int), np.array([], int)).tolist() == []


def test_the_feeder_hands_out_batches_and_ends_its_threads(corpus: LatentCorpus, recipe: Recipe) -> None:
    feeder = BatchFeeder(corpus, recipe.lm, torch.device("cpu"), seed=0, threads=2)
    batch, patches = feeder.next()
    feeder.close()
    assert batch.token_ids.shape == (recipe.lm.tokens,)
    assert 0 < patches <= int(batch.audio_mask.sum())
    assert not any(thread.is_alive() for thread in feeder._threads)


def test_a_model_that_takes_no_references_sees_none(corpus: LatentCorpus) -> None:
    recipe = replace(Recipe().lm, tokens=2048, documents=40, audio_rows=2048, flow_rows=256)
    for references in (True, False):
        batch = BatchMaker(corpus, replace(recipe, references=references), 0).make(1.0)
        assert (REFERENCE_START in batch.token_ids) is references
