"""The bundled voice's tokenizer: one id per character, the markers of VoxCPM left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from models.voxcpm.requests.tokenizer import AUDIO_START, REFERENCE_END, REFERENCE_START, TextTokenizer
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, READABLE, normalize_text, read_lines
from models.voxcpm.training.texts.tokenizer_file import (
    CHARACTERS,
    VOCABULARY_SIZE,
    vocabulary,
    write_tokenizer,
)


@pytest.fixture
def tokenizer(tmp_path: Path) -> TextTokenizer:
    write_tokenizer(tmp_path)
    return TextTokenizer.from_file(tmp_path / "tokenizer.json")


def test_every_character_has_an_id_of_its_own_beside_the_markers() -> None:
    ids = vocabulary()
    assert sorted(ids.values()) == list(range(VOCABULARY_SIZE))
    assert ids["<|audio_start|>"] == AUDIO_START
    assert (ids["<|ref_start|>"], ids["<|ref_end|>"]) == (REFERENCE_START, REFERENCE_END)
    assert {c.lower() for c in READABLE} <= set(CHARACTERS)


def test_a_text_becomes_one_token_per_character_in_lower_case(tokenizer: TextTokenizer) -> None:
    assert tokenizer.encode("Ab, a!") == [vocabulary()[c] for c in "ab, a!"]


def test_typography_reads_as_the_training_text_was_written(tokenizer: TextTokenizer) -> None:
    for text in ("“Don’t,” she said — twice.", "Café  déjà‑vu", "A\n new\tline "):
        assert tokenizer.encode(text) == tokenizer.encode(normalize_text(text).lower())


def test_no_text_can_hold_a_marker_and_the_unknown_is_one_token(tokenizer: TextTokenizer) -> None:
    assert not {101, 102, 103, 104} & set(tokenizer.encode("<|audio_start|> [101] <|ref_end|>"))
    assert tokenizer.encode("漢") == [0]


def test_no_held_out_sentence_holds_an_unknown_character(tokenizer: TextTokenizer) -> None:
    assert not any(0 in tokenizer.encode(line) for line in read_lines(HELD_OUT_FILE))


def test_the_published_loader_reads_the_same_ids(tmp_path: Path, tokenizer: TextTokenizer) -> None:
    published = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    text = "It's 10:45, isn't it?"
    assert published.encode(text, add_special_tokens=False) == tokenizer.encode(text)
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["bos_token"] == published.bos_token
