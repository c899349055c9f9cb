"""A long context with all keys and values on the host, beside the same on the device.

    python -m benchmarks.llm.long_context --shape 0.6b --device cuda [--context 40000] [--json FILE]
    python -m benchmarks.llm.long_context --shape tiny --device cpu --context 600        does it work

In one run: tokens of a prompt a second, then milliseconds a token behind it, of both; and what the measured
rate of copies from pinned memory allows a token that has to see the whole context. Random weights.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.llm.checkpoints import SHAPES, write_checkpoint
from models.llm import LLM, SamplingParams
from tests.text_models import random_model

COPIED_BYTES = 256 << 20


def seconds(llm: LLM, prompt: list[int], tokens: int) -> float:
    params = SamplingParams(temperature=0.6, ignore_eos=True, max_tokens=tokens)
    began = time.perf_counter()
    llm.generate([prompt], params, use_tqdm=False)
    return time.perf_counter() - began


def measure(directory: Path, args: argparse.Namespace, **options: Any) -> dict[str, float]:
    """Of one engine; another prompt each time, so that nothing is found in a cache."""
    length = args.context + args.tokens
    last = 250 if args.shape == "tiny" else 10_000
    prompts = [[random.Random(seed).randrange(last) for _ in range(args.context)] for seed in range(3)]
    with LLM(
        str(directory), device=args.device, max_model_len=length, max_num_seqs=1,
        max_num_batched_tokens=args.chunk, **options,
    ) as llm:  # fmt: skip
        seconds(llm, prompts[0][: args.context // 4], 2)
        one, many = seconds(llm, prompts[1], 1), seconds(llm, prompts[2], args.tokens)
    return {
        "prompt_tokens_per_second": round(args.context / one, 1),
        "ms_per_token": round(1e3 * (many - one) / (args.tokens - 1), 2),
    }


def copies_per_second(device: torch.device) -> float:
    """Bytes a second from pinned memory; on a CPU from one place to another."""
    host = torch.ones(COPIED_BYTES, dtype=torch.uint8, pin_memory=device.type == "cuda")
    target = torch.empty(COPIED_BYTES, dtype=torch.uint8, device=device)
    times = []
    for _ in range(5):
        began = time.perf_counter()
        target.copy_(host, non_blocking=True)
        target[:1].cpu()
        times.append(time.perf_counter() - began)
    return COPIED_BYTES / min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shape", choices=[*SHAPES, "tiny"], default="0.6b")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--context", type=int, default=40_000)
    parser.add_argument("--tokens", type=int, default=17)
    parser.add_argument("--chunk", type=int, default=8192)
    parser.add_argument("--ring", type=int)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        if args.shape == "tiny":
            random_model(directory, context=4096)
        else:
            write_checkpoint(directory, args.shape)
        found: dict[str, Any] = {"shape": args.shape, "device": args.device, "context": args.context}
        found["device_only"] = measure(directory, args)
        found["offloaded"] = measure(directory, args, kv_offload=True, gpu_kv_blocks=args.ring)
        config = json.loads((directory / "config.json").read_text())
    device = torch.device(args.device)
    numbers = 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"]
    position = numbers * (2 if device.type == "cuda" else 4)
    rate = copies_per_second(device)
    found |= {
        "copies_gb_per_second": round(rate / 1e9, 1),
        "ms_per_token_by_copies_alone": round(1e3 * args.context * position / rate, 3),
    }
    print(json.dumps(found, indent=2))
    if args.json:
        args.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
