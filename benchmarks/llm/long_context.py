"""A long context with all keys and values on the host, beside the same on the device.

    python -m benchmarks.llm.long_context --shape 0.6b --device cuda [--context 40000] [--save NAME]
    python -m benchmarks.llm.long_context --context 131072 --kv-gib 2 --only offloaded     by YaRN
    python -m benchmarks.llm.long_context --requests 8 --only offloaded                    at once
    python -m benchmarks.llm.long_context --shape tiny --device cpu --context 600          does it work

In one run: tokens of a prompt a second, then milliseconds a token behind it, of both; and what the measured
rate of copies from pinned memory allows a token that has to see the whole context. With several requests at
once: when each of them gets its first token, and its last. Random weights.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.llm.checkpoints import SHAPES, with_context, write_checkpoint
from benchmarks.shared.results import keep, kept
from engine.kv_cache.sizing import GIB
from models.llm import LLM, SamplingParams
from models.llm.options import TextOptions
from tests.text_models import random_model

RESULTS = Path(__file__).parents[1] / "results" / "long_context.json"
COPIED_BYTES = 256 << 20


def seconds(llm: LLM, prompt: list[int], tokens: int) -> float:
    params = SamplingParams(temperature=0.6, ignore_eos=True, max_tokens=tokens)
    began = time.perf_counter()
    llm.generate([prompt], params, use_tqdm=False)
    return time.perf_counter() - began


def together(llm: LLM, prompts: list[list[int]], tokens: int) -> dict[str, list[float]]:
    """Seconds from when all prompts come until each has its first token, and its last."""
    params = SamplingParams(temperature=0.6, ignore_eos=True, max_tokens=tokens)
    began, first, last = time.perf_counter(), {}, {}
    names = [llm.add_request(prompt, params) for prompt in prompts]
    while not llm.is_finished():
        outputs = llm.step()
        now = round(time.perf_counter() - began, 2)
        for output in outputs:
            first.setdefault(output.request_id, now)
            last[output.request_id] = now
    return {"first_token_s": [first[name] for name in names], "last_token_s": [last[name] for name in names]}


def measure(directory: Path, args: argparse.Namespace, **options: Any) -> dict[str, Any]:
    """Of one engine; another prompt each time, so that nothing is found in a cache."""
    length = args.context + args.tokens
    last = 250 if args.shape == "tiny" else 10_000
    prompts = [
        np.random.default_rng(seed).integers(last, size=args.context).tolist()
        for seed in range(max(3, args.requests + 1))
    ]
    with LLM(
        str(directory), device=args.device, max_model_len=length, max_num_seqs=args.requests,
        max_num_batched_tokens=args.chunk, max_prefill_tokens=args.chunk, **options,
    ) as llm:  # fmt: skip
        seconds(llm, prompts[0][: args.context // 4], 2)
        if args.requests > 1:
            return together(llm, prompts[1:], args.tokens)
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


def position_bytes(args: argparse.Namespace, config: dict[str, Any]) -> int:
    """Of the keys and values of all layers."""
    numbers = 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"]
    return numbers * (4 if args.device == "cpu" else 2)


def _name(device: str) -> str:
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


def ring(args: argparse.Namespace, config: dict[str, Any]) -> int | None:
    """Blocks of one layer on the device; None: as many as the engine takes."""
    if args.kv_gib is None:
        return args.ring
    layer = position_bytes(args, config) // config["num_hidden_layers"]
    return int(args.kv_gib * GIB) // (layer * TextOptions.block_size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shape", choices=[*SHAPES, "tiny"], default="0.6b")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--context", type=int, default=40_000)
    parser.add_argument("--tokens", type=int, default=17)
    parser.add_argument("--chunk", type=int, default=8192)
    parser.add_argument("--requests", type=int, default=1)
    parser.add_argument("--ring", type=int, help="blocks on the device, of one layer")
    parser.add_argument("--kv-gib", type=float, help="the same in GiB")
    parser.add_argument("--only", choices=["device_only", "offloaded"])
    parser.add_argument("--save", metavar="NAME", help="in benchmarks/results/long_context.json")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        length = args.context + args.tokens
        if args.shape == "tiny":
            random_model(directory, context=length)
        else:
            write_checkpoint(directory, with_context(args.shape, length))
        config = json.loads((directory / "config.json").read_text())
        found: dict[str, Any] = {
            "date": datetime.now(UTC).date().isoformat(), "shape": args.shape, "device": _name(args.device),
            "context": args.context, "requests": args.requests,
        }  # fmt: skip
        sides = {"device_only": {}, "offloaded": {"kv_offload": True, "gpu_kv_blocks": ring(args, config)}}
        for side, options in sides.items():
            if args.only in (None, side):
                found[side] = measure(directory, args, **options)
    device = torch.device(args.device)
    rate = copies_per_second(device)
    found |= {
        "copies_gb_per_second": round(rate / 1e9, 1),
        "ms_per_token_by_copies_alone": round(1e3 * args.context * position_bytes(args, config) / rate, 3),
    }
    print(json.dumps(found, indent=2))
    if args.save:
        keep(RESULTS, kept(RESULTS) | {args.save: found}, indent=2)


if __name__ == "__main__":
    main()
