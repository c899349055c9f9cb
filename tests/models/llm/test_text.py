"""From tokens to text and back: stop strings, characters of several bytes, chats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tokenizers import Tokenizer, decoders, models
from tokenizers.processors import TemplateProcessing
from transformers.utils.chat_template_utils import render_jinja_template

from engine.errors import RequestError
from models.config_fields import ConfigError
from models.llm.checkpoint import load_text_checkpoint
from models.llm.stop_strings import StopStrings
from models.llm.tokenizer import TextTokenizer
from tests.text_models import random_model, write_tokenizer


@pytest.fixture
def tokenizer(tmp_path: Path) -> TextTokenizer:
    write_tokenizer(tmp_path)
    return TextTokenizer.from_directory(tmp_path)


@pytest.mark.parametrize("end", ["3", '{"id": 3}', '["<|im_end|>"]'])
def test_settings_of_another_kind_are_refused_by_their_place(tmp_path: Path, end: str) -> None:
    write_tokenizer(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(f'{{"eos_token": {end}}}')
    with pytest.raises(ConfigError, match=str(tmp_path)):
        TextTokenizer.from_directory(tmp_path)


LETTER, WORD = 256, 257
"""Tokens of `byte_fallback`, whose others are bytes."""


@pytest.fixture
def byte_fallback() -> TextTokenizer:
    """As SentencePiece's, which write in bytes what they have no token for."""
    vocab = {f"<0x{value:02X}>": value for value in range(256)} | {"b": LETTER, "\u2581a": WORD}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[], byte_fallback=True))
    spaces, start = decoders.Replace("\u2581", " "), decoders.Strip(" ", 1, 0)
    tokenizer.decoder = decoders.Sequence([spaces, decoders.ByteFallback(), decoders.Fuse(), start])
    return TextTokenizer(tokenizer, {}, None)


def spoken(stops: list[str], pieces: list[str]) -> tuple[str, bool]:
    watcher, said = StopStrings(stops), ""
    for piece in pieces:
        text, stopped = watcher.add(piece)
        said += text
        if stopped:
            return said, True
    return said + watcher.rest(), False


@pytest.mark.parametrize(
    ("stops", "pieces", "expected"),
    [
        ([], ["one", " two"], ("one two", False)),
        (["END"], ["one E", "N", "D two"], ("one ", True)),
        (["END"], ["one E", "N", "X"], ("one ENX", False)),
        (["aab"], ["a", "a", "a", "b", "c"], ("a", True)),
        (["\n\n", "stop"], ["a\n", "b sto", "p it"], ("a\nb ", True)),
        (["END"], ["the EN"], ("the EN", False)),
        (["b", "abc"], ["a", "b", "c"], ("a", True)),
    ],
)
def test_a_stop_string_ends_the_answer_before_it(
    stops: list[str], pieces: list[str], expected: tuple[str, bool]
) -> None:
    assert spoken(stops, pieces) == expected


def test_a_stop_string_that_may_not_end_yet_does_so_once_it_may() -> None:
    watcher = StopStrings(["END", "ND."])
    assert watcher.add("one END tw", may_end=False) == ("one END tw", False)
    assert watcher.add("o E", may_end=False) == ("o ", False)
    assert watcher.add("ND") == ("", True)
    assert watcher.add(" END", may_end=False) == (" E", False), "what may be the beginning of another one"
    assert watcher.add(".") == ("", True)
    nested = StopStrings(["bab", "b"])
    assert nested.add("ab", may_end=False) == ("a", False)
    assert nested.add("c") == ("bc", False), "the one that came too early"


def test_nobody_sees_a_part_of_a_stop_string() -> None:
    watcher = StopStrings(["</answer>"])
    assert watcher.add("yes</ans") == ("yes", False)
    assert watcher.add("wer>") == ("", True)


def test_characters_come_whole(tokenizer: TextTokenizer) -> None:
    text, stream = "h\u00e9llo \u4eca\u5929 \U0001f600", tokenizer.stream()
    ids = tokenizer.encode(text)
    assert len(ids) > len(text)
    pieces = [stream.add(token) for token in ids]
    assert "".join(pieces) == text == tokenizer.decode(ids)
    assert not any("\ufffd" in piece for piece in pieces)


def test_bytes_of_no_character_behind_a_letter_are_marked(byte_fallback: TextTokenizer) -> None:
    stream = byte_fallback.stream()
    pieces = [stream.add(token) for token in (0x41, 0xC0, LETTER, WORD, *"é".encode())]
    assert "".join(pieces) == "A\ufffdb aé" and stream.rest() == ""


def test_what_a_trainer_left_in_a_tokenizer_neither_cuts_nor_pads(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    trained = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    trained.enable_truncation(4)
    trained.enable_padding(length=20)
    trained.save(str(tmp_path / "tokenizer.json"))
    tokenizer = TextTokenizer.from_directory(tmp_path)
    assert tokenizer.decode(tokenizer.encode("Good morning")) == "Good morning"
    assert len(tokenizer.encode("Good morning")) == 12


def test_what_begins_a_text_stands_once_before_a_chat(tmp_path: Path) -> None:
    """A tokenizer that writes it, and a template that does so, too."""
    write_tokenizer(tmp_path)
    bare = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    begin = bare.token_to_id("<|endoftext|>")
    bare.post_processor = TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", begin)]
    )
    settings = {"bos_token": "<|endoftext|>"}
    tokenizer = TextTokenizer(bare, settings, "{{ bos_token }}{{ messages[0].content }}")
    text = tokenizer.encode("Hi")
    assert text[0] == begin and len(text) == 3
    assert tokenizer.chat_ids([{"role": "user", "content": "Hi"}]) == text


def test_a_chat_is_laid_out_by_the_template_of_the_checkpoint(tokenizer: TextTokenizer) -> None:
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
    text = tokenizer.chat_text(messages, enable_thinking=False)
    assert text == (
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )
    assert not tokenizer.chat_text(messages, add_generation_prompt=False).endswith("assistant\n")
    assert tokenizer.token(tokenizer.end_id) == "<|im_end|>"


@pytest.mark.parametrize(
    "template",
    [
        "{% for m in messages %}{% generation %}{{ m.content }}!{% endgeneration %}{% endfor %}",
        "{% if tools is not none or documents is not none %}Tools.{% endif %}{{ messages[0].content }}!",
        "{% set t = 1 %}{% generation %}{% set t = 2 %}{% endgeneration %}{{ messages[0].content * t }}!",
    ],
)
def test_a_template_means_what_it_means_to_transformers(tokenizer: TextTokenizer, template: str) -> None:
    tokenizer.chat_template = template
    messages = [{"role": "assistant", "content": "Hi"}]
    (expected,), _ = render_jinja_template([messages], chat_template=template)
    assert tokenizer.chat_text(messages) == expected == "Hi!"


@pytest.mark.parametrize(
    ("template", "features"),
    [
        (None, ()),
        ("{{ messages[0].content }}", ("chat",)),
        ("{{ raise_exception('no') }}", ("chat",)),
        ("{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}", ("chat", "thinking")),
    ],
)
def test_a_template_tells_what_a_chat_may_use(
    tokenizer: TextTokenizer, template: str | None, features: tuple[str, ...]
) -> None:
    tokenizer.chat_template = template
    assert tokenizer.features == features


ALWAYS = "{{ messages[0].content }}{{ '<think>\\n' }}"
UNLESS_TOLD = "{{ messages[0].content }}{% if enable_thinking is not false %}<think>{{ '\\n' }}{% endif %}"
IF_TOLD = "{{ messages[0].content }}{% if enable_thinking %}<think>{{ '\\n\\n' }}{% endif %}"
NEVER = "<think></think>{{ messages[0].content }}"


@pytest.mark.parametrize("mark", [(), ("<think>",)], ids=["letters", "one token"])
@pytest.mark.parametrize(
    ("template", "opens"),
    [
        (ALWAYS, (True, True, True)),
        (UNLESS_TOLD, (True, True, False)),
        (IF_TOLD, (False, True, False)),
        (NEVER, (False, False, False)),
    ],
)
def test_a_prompt_tells_whether_it_opens_a_thought(
    tmp_path: Path, mark: tuple[str, ...], template: str, opens: tuple[bool, ...]
) -> None:
    write_tokenizer(tmp_path, mark)
    tokenizer = TextTokenizer.from_directory(tmp_path)
    tokenizer.chat_template = template
    options = ({}, {"enable_thinking": True}, {"enable_thinking": False})
    prompts = [tokenizer.chat_ids([{"role": "user", "content": "Hello."}], **given) for given in options]
    assert tuple(map(tokenizer.opens_thought, prompts)) == opens
    assert not tokenizer.opens_thought([])


def test_a_template_is_compiled_once(tokenizer: TextTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Mock(wraps=tokenizer._environment.compile)
    monkeypatch.setattr(tokenizer._environment, "compile", compiled)
    texts = [tokenizer.chat_text([{"role": "user", "content": word}]) for word in ("Hi", "Ho", "Hi")]
    assert compiled.call_count == 1
    assert texts[0] == texts[2] != texts[1]


@pytest.mark.parametrize(
    "template",
    [
        "{{ raise_exception('no system') }}",
        "{{ messages.__class__.__mro__[1].__subclasses__() }}",
        "{% for m in messages %}{{ m.role + 1 }}{% endfor %}",
    ],
)
def test_a_template_that_refuses_or_attacks_is_an_error_of_the_request(
    tokenizer: TextTokenizer, template: str
) -> None:
    tokenizer.chat_template = template
    with pytest.raises(RequestError, match="chat template refuses"):
        tokenizer.chat_text([{"role": "user", "content": "Hi"}])


def test_of_several_templates_the_default_one_is_taken(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "hello"}]
    for templates, expected in ((named, "hello"), (named[:1], None)):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": templates}))
        assert TextTokenizer.from_directory(tmp_path).chat_template == expected


@pytest.mark.parametrize(
    ("own", "general", "ends"), [(None, 5, (5, 258)), ([3, 4], 5, (3, 4, 258)), (None, None, (258,))]
)
def test_an_answer_ends_where_either_configuration_says(
    tmp_path: Path, own: Any, general: Any, ends: tuple[int, ...]
) -> None:
    random_model(tmp_path)
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": own}))
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"eos_token_id": general}))
    assert load_text_checkpoint(str(tmp_path), "cpu").end_ids == ends


def test_end_tokens_of_another_kind_are_refused(tmp_path: Path) -> None:
    random_model(tmp_path)
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": "<|im_end|>"}')
    with pytest.raises(ConfigError, match="eos_token_id must be token ids"):
        load_text_checkpoint(str(tmp_path), "cpu")


def test_a_model_without_a_template_says_so(tokenizer: TextTokenizer) -> None:
    tokenizer.chat_template = None
    with pytest.raises(RequestError, match="no chat template"):
        tokenizer.chat_text([])
