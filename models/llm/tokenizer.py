"""Text and chats to tokens, and tokens back to text, as a checkpoint's files say.

Chats are laid out by the checkpoint's own template (Jinja, in a sandbox: a template is a program that came
with the weights).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel, DecodeStream
from tokenizers.pre_tokenizers import ByteLevel as ByteLevelLetters

from engine.errors import RequestError
from models.config_fields import ConfigError
from models.encodable import check_encodable
from models.text import CHAT, THINKING

_THOUGHT = "<think>"
_THOUGHT_TOKENS = 16
"""So many hold the mark and the space behind it, also where each letter is a token."""
_LEFT_OUT = {"tools": None, "documents": None}
"""What templates are told of what nobody gave, as by transformers."""


class _Generation(Extension):
    """`{% generation %}` around what a model wrote: templates by which models were trained tell that so."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


class TextTokenizer:
    """A `tokenizer.json`, special tokens of `tokenizer_config.json`, and a chat template if there is one."""

    def __init__(self, tokenizer: Tokenizer, settings: Mapping[str, Any], template: str | None) -> None:
        tokenizer.no_truncation()  # which trainers leave in the file
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._special = {
            name: value["content"] if isinstance(value, dict) else value
            for name in ("bos_token", "eos_token", "pad_token")
            if (value := settings.get(name))
        }
        end = self._special.get("eos_token")
        self.end_id: int | None = None if end is None else tokenizer.token_to_id(end)
        self.chat_template = template
        self._letter_bytes = _letter_bytes() if isinstance(tokenizer.decoder, ByteLevel) else {}
        self._environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
        )
        self._environment.filters["tojson"] = _to_json
        self._environment.globals["raise_exception"] = _raise_template_error
        self._environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        self._compiled = lru_cache(maxsize=1)(self._environment.from_string)
        """The template as Python; to make that takes 11 ms for Qwen3's, to use it 0.04."""

    @classmethod
    def from_directory(cls, directory: Path) -> TextTokenizer:
        """Raises ConfigError for files that cannot be read."""
        try:
            tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
            path = directory / "tokenizer_config.json"
            settings = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
            file = directory / "chat_template.jinja"
            template = file.read_text(encoding="utf-8") if file.is_file() else settings.get("chat_template")
            return cls(tokenizer, settings, _default_of(template))
        except Exception as error:  # the library raises plain Exception
            raise ConfigError(f"the tokenizer in {directory} cannot be read: {error!r}") from error

    @property
    def features(self) -> tuple[str, ...]:
        """What the chat template allows: conversations (CHAT), and being told to think (THINKING)."""
        if self.chat_template is None:
            return ()
        return (CHAT, THINKING) if "enable_thinking" in self.chat_template else (CHAT,)

    def opens_thought(self, prompt_ids: Sequence[int]) -> bool:
        """Whether a prompt ends in `<think>`, so that the answer begins within a thought."""
        text = self._tokenizer.decode(list(prompt_ids[-_THOUGHT_TOKENS:]), skip_special_tokens=False)
        return text.rstrip().endswith(_THOUGHT)

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text).ids

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        return self._tokenizer.decode(list(token_ids))

    def token(self, token_id: int) -> str:
        """One token as text, for lists of likely ones; special tokens by their names."""
        return self._tokenizer.decode([token_id], skip_special_tokens=False)

    def token_bytes(self, token_id: int) -> bytes:
        """One token as bytes, which may be a part of a character."""
        letters = self._tokenizer.id_to_token(token_id) or ""
        if self._letter_bytes and all(letter in self._letter_bytes for letter in letters):
            return bytes(self._letter_bytes[letter] for letter in letters)
        return self.token(token_id).encode()

    def stream(self) -> TextStream:
        return TextStream(self._tokenizer)

    def chat_ids(self, messages: Sequence[Mapping[str, Any]], /, **options: Any) -> list[int]:
        """`chat_text` as tokens. Templates say what a conversation begins with, so nothing comes before it.

        Raises as `chat_text` does, and RequestError for half a character.
        """
        text = self.chat_text(messages, **options)
        check_encodable(text, "messages")
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def chat_text(self, messages: Sequence[Mapping[str, Any]], /, **options: Any) -> str:
        """A conversation as the model was trained to read it, up to where its answer begins.

        options: what the template takes, such as `enable_thinking` and `tools`. Raises RequestError where
        there is no template, or it refuses the messages.
        """
        if self.chat_template is None:
            raise RequestError("this model has no chat template", "messages", "unsupported")
        if not isinstance(messages, Sequence):
            raise RequestError(f"a conversation must be a list of messages, got {messages!r}", "messages")
        if strange := [message for message in messages if not isinstance(message, Mapping)]:
            wanted = 'a message must be a mapping, as {"role": "user", "content": "Hello!"}'
            raise RequestError(f"{wanted}, got {strange[0]!r}", "messages")
        try:
            template = self._compiled(self.chat_template)
            values = {**_LEFT_OUT, "add_generation_prompt": True, **self._special, **options}
            return template.render(messages=[dict(message) for message in messages], **values)
        except Exception as error:  # a program of the checkpoint on values of the caller: it raises anything
            raise RequestError(f"the chat template refuses the messages: {error}", "messages") from error


class TextStream:
    """The text of one answer, token by token; characters come when all of their bytes have."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer, self._stream = tokenizer, DecodeStream(skip_special_tokens=True)
        self._held: list[int] = []

    def add(self, token_id: int) -> str:
        """What is certain now that was not before."""
        try:
            text = self._stream.step(self._tokenizer, token_id)
        except Exception:  # a plain one, where bytes of no character would change the text before them
            text = self._tokenizer.decode([*self._held, token_id])
            self._stream = DecodeStream(skip_special_tokens=True)
            self._stream.step(self._tokenizer, token_id)
        self._held = [] if text else [*self._held, token_id]
        return text or ""

    def rest(self) -> str:
        """The text of tokens that made no whole character by the end of the answer."""
        held, self._held = self._held, []
        return self._tokenizer.decode(held)


def _default_of(template: Any) -> str | None:
    """The template itself, or the one called "default" of several that have names."""
    if not isinstance(template, list):
        return template
    return next((one["template"] for one in template if one["name"] == "default"), None)


def _letter_bytes() -> dict[str, int]:
    """The letters by which byte-level tokenizers write bytes: printable ones stand for themselves, the others
    for the rest, in order.
    """
    letters = sorted(ByteLevelLetters.alphabet())
    themselves = {letter: ord(letter) for letter in letters if ord(letter) < 256}
    rest = sorted(set(range(256)) - set(themselves.values()))
    others = [letter for letter in letters if ord(letter) >= 256]
    return themselves | dict(zip(others, rest, strict=True))


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)


def _raise_template_error(message: str) -> None:
    raise TemplateError(message)
