"""Tiny text models in the released layout, made without `transformers`.

`random_model` has random weights and bytes as tokens: what it writes depends on every token before, and its
characters come in parts. `telling_model` writes English sentences: which word comes next depends on the word
before, and on the seed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from engine.weights import export_state
from models.qwen3.config import Qwen3Config
from models.qwen3.model import Qwen3

TEMPLATE = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}"
    "{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}"
)
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
STORY = (
    " The old ship came home.", " Nobody knew its name.", " A small boy waved at the men.",
    " They did not wave back.", " Then it began to rain.",
)  # fmt: skip
"""What the telling model tells, again and again, and never ends."""
_NEXT_WORD_LOGIT = 40.0
"""Of what may follow a word; 0 of all others. Two words may follow the end of a sentence."""


def random_model(directory: Path, context: int = 2048, seed: int = 0) -> Path:
    """Two layers that attend, and a vocabulary of bytes. No token ends an answer."""
    config = _config(hidden_size=64, vocab_size=300, max_position_embeddings=context)
    torch.manual_seed(seed)
    network = Qwen3(Qwen3Config.from_dict(config)).float()
    with torch.no_grad():
        for weight in network.parameters():
            weight.copy_(torch.randn_like(weight) * (0.3 if weight.ndim > 1 else 0.2) + (weight.ndim == 1))
    return _write(directory, config, network, ())


def telling_model(directory: Path, context: int = 4096) -> Path:
    """Layers that add nothing, an embedding for each word, and a head that knows which word comes next."""
    words = [_words(sentence) for sentence in STORY]
    known = sorted({word for sentence in words for word in sentence})
    size = 256 + len(SPECIAL) + len(known)
    config = _config(hidden_size=384, vocab_size=size, max_position_embeddings=context)
    network = Qwen3(Qwen3Config.from_dict(config)).float()
    numbers = {word: 256 + len(SPECIAL) + place for place, word in enumerate(known)}
    with torch.no_grad():
        for weight in network.parameters():
            weight.fill_(float(weight.ndim == 1))
        network.model.embed_tokens.weight.copy_(torch.eye(size, 384))
        network.lm_head.weight.copy_(_next_words(words, numbers, size))
    return _write(directory, config, network, known)


def _words(sentence: str) -> list[str]:
    return [f" {word}" for word in sentence.split()]


def _next_words(words: Sequence[list[str]], numbers: dict[str, int], size: int) -> torch.Tensor:
    """[V, H]: row of the next token, column of the one before it."""
    strength = _NEXT_WORD_LOGIT / math.sqrt(384)
    head = torch.zeros(size, 384)
    starts = [numbers[sentence[0]] for sentence in words]
    head[starts[0], : 256 + len(SPECIAL)] = strength  # whatever a prompt ends with
    for place, sentence in enumerate(words):
        for before, after in pairwise(sentence):
            head[numbers[after], numbers[before]] = strength
        for step in (1, 2):
            head[starts[(place + step) % len(words)], numbers[sentence[-1]]] = strength
    return head


def _config(**sizes: int) -> dict:
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000,
        "hidden_act": "silu",
        "attention_bias": False,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        **sizes,
    }


def _write(directory: Path, config: dict, network: Qwen3, words: Sequence[str]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    save_file(export_state(network), directory / "model.safetensors", metadata={"format": "pt"})
    (directory / "config.json").write_text(json.dumps(config))
    write_tokenizer(directory, words)
    return directory


def write_tokenizer(directory: Path, words: Sequence[str] = ()) -> None:
    """Bytes as tokens, the special tokens that chats of Qwen have, and `words` after them."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in words])
    tokenizer.save(str(directory / "tokenizer.json"))
    settings = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "chat_template": TEMPLATE}
    (directory / "tokenizer_config.json").write_text(json.dumps(settings))
