"""Writes the bundled voice's tokenizer: one id per character, lower case, 128 ids.

The files are what the `tokenizers` library and the published loader read. Ids 101 to 104 stay
reserved for the audio markers of VoxCPM; unused ids hold placeholder tokens.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, normalizers

CHARACTERS = " abcdefghijklmnopqrstuvwxyz0123456789',.?!;:-%$&/()\"+="
SPECIAL = {
    0: "<unk>",
    1: "<s>",
    2: "</s>",
    101: "<|audio_start|>",
    102: "<|audio_end|>",
    103: "<|ref_start|>",
    104: "<|ref_end|>",
}
VOCABULARY_SIZE = 128


def vocabulary() -> dict[str, int]:
    """Token -> id for all 128 ids."""
    named = {index + 3: character for index, character in enumerate(CHARACTERS)} | SPECIAL
    return {named.get(i, f"<|reserved_{i}|>"): i for i in range(VOCABULARY_SIZE)}


def build_tokenizer() -> Tokenizer:
    """Characters as tokens after the normalisation that training text went through."""
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary(), merges=[], unk_token="<unk>"))
    replace = normalizers.Replace
    tokenizer.normalizer = normalizers.Sequence(
        [
            replace(Regex("[‘’`]"), "'"),
            replace(Regex("[“”]"), '"'),
            replace(Regex("[‐‑–−]"), "-"),
            replace(Regex(r"\s*—\s*"), ", "),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
            replace(Regex(r"\s+"), " "),
            replace(Regex(r"^ | $"), ""),
        ]
    )
    return tokenizer


def write_tokenizer(folder: Path) -> None:
    """Write tokenizer.json, tokenizer_config.json and special_tokens_map.json."""
    folder.mkdir(parents=True, exist_ok=True)
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    build_tokenizer().save(str(folder / "tokenizer.json"))
    config = {
        **special,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": 1024,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "special_tokens_map.json").write_text(json.dumps(special, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    write_tokenizer(parser.parse_args().folder)


if __name__ == "__main__":
    main()
