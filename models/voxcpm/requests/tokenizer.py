"""Text to token ids, as VoxCPM was trained: LLaMA-style BPE with multi-character Chinese tokens split.

The vocabulary merges frequent Chinese words into single tokens; the model was trained on single
characters, so such tokens are taken apart again ("今天" -> "今", "天").
"""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer

from models.config_fields import ConfigError

AUDIO_START = 101
REFERENCE_START = 103
REFERENCE_END = 104


class TextTokenizer:
    """Wraps a `tokenizer.json`. Leading spaces are dropped: library versions disagree on them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        tokenizer.no_truncation()  # which trainers leave in the file
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # "</s>" in a text is four signs, and no end
        self._split = {token for token in tokenizer.get_vocab() if len(token) > 1 and _is_chinese(token)}
        self._unknown = tokenizer.token_to_id("<unk>") or 0

    @classmethod
    def from_file(cls, path: Path) -> TextTokenizer:
        """Raises ConfigError for a file that cannot be read."""
        try:
            return cls(Tokenizer.from_file(str(path)))
        except Exception as error:  # the library raises plain Exception
            raise ConfigError(f"{path} cannot be read: {error}") from error

    @property
    def knows_digits(self) -> bool:
        """Whether every digit has a token of its own, or is part of a vocabulary of bytes."""
        unknown = self._tokenizer.token_to_id("<unk>")
        return all((ids := self.encode(digit)) and unknown not in ids for digit in "0123456789")

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`, without begin or end markers."""
        encoding = self._tokenizer.encode(text.lstrip(" "), add_special_tokens=False)
        ids: list[int] = []
        for token, token_id in zip(encoding.tokens, encoding.ids, strict=True):
            word = token.replace("▁", "")
            if word in self._split:
                ids.extend(self._character_id(character) for character in word)
            else:
                ids.append(token_id)
        return ids

    def unknown_share(self, text: str) -> float:
        """Which part of the tokens of `text` stands for something that the vocabulary lacks, 0 to 1."""
        ids = self.encode(text)
        return ids.count(self._unknown) / len(ids) if ids else 1.0

    def _character_id(self, character: str) -> int:
        token_id = self._tokenizer.token_to_id(character)
        return self._unknown if token_id is None else token_id


def _is_chinese(token: str) -> bool:
    return all("\u4e00" <= character <= "\u9fff" for character in token)
