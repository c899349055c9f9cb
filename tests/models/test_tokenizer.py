"""A text to be spoken holds no control token, whatever is written in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from models.config_fields import ConfigError
from models.voxcpm.requests.tokenizer import TextTokenizer
from tests.models.conftest import CHECKPOINTS

FILE = CHECKPOINTS / "tiny_v2" / "tokenizer.json"


def test_what_is_written_as_a_control_token_is_text() -> None:
    tokenizer = TextTokenizer.from_file(FILE)
    for word, token in (("<s>", 1), ("</s>", 2)):
        assert token not in tokenizer.encode(f"Hello {word} you")
        assert len(tokenizer.encode(word)) > 1
    assert tokenizer.encode("Hello")[-2:] == tokenizer.encode("</s> Hello")[-2:]


def test_what_a_trainer_left_in_the_file_neither_cuts_nor_pads(tmp_path: Path) -> None:
    trained = Tokenizer.from_file(str(FILE))
    trained.enable_truncation(4)
    trained.enable_padding(length=50)
    trained.save(str(tmp_path / "tokenizer.json"))
    text = "hello world, hello again"
    found = TextTokenizer.from_file(tmp_path / "tokenizer.json").encode(text)
    assert found == TextTokenizer.from_file(FILE).encode(text)


def test_a_file_that_was_cut_off_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_bytes(FILE.read_bytes()[:1000])
    with pytest.raises(ConfigError, match=f"{file} cannot be read"):
        TextTokenizer.from_file(file)
