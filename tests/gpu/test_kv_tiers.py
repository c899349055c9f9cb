"""Keys and values on their way between device and host, beside kernels that go on: nothing is lost, and
nobody reads what is not there yet."""

from __future__ import annotations

import random
from pathlib import Path

import torch

from engine.attention.backend import AttentionBatch
from engine.attention.streamed import StreamedCache, attend
from engine.kv_cache.host_memory import HostMemory
from engine.kv_cache.pool import KVPool
from models.llm import LLM, SamplingParams
from tests.gpu.device import CUDA, DEVICE, needs_gpu
from tests.text_models import random_model

pytestmark = needs_gpu
DTYPE = torch.bfloat16 if CUDA else torch.float32
LAYERS, BLOCK, HEADS, DIM = (8, 16, 2, 128) if CUDA else (2, 4, 2, 16)


def busy() -> None:
    """Keeps the device's own stream behind the host for a while."""
    if CUDA:
        torch.cuda._sleep(20_000_000)


def test_blocks_are_stored_as_they_were_and_come_back_as_they_were() -> None:
    """Overwritten as soon as `store` returns; loaded into blocks that kernels wrote to just before."""
    pool = KVPool(LAYERS, 64, BLOCK, HEADS, DIM, DTYPE, DEVICE)
    memory, chance = HostMemory(pool, 200), random.Random(1)
    kept: dict[int, torch.Tensor] = {}
    for _ in range(30 if CUDA else 4):
        blocks = chance.sample(range(64), 40)
        slots = chance.sample(range(200), 40)
        busy()
        pool.tensor[:, :, blocks] = torch.randn_like(pool.tensor[:, :, blocks])
        now = pool.tensor[:, :, blocks].clone()
        memory.store(blocks, slots)
        pool.tensor[:, :, blocks] = -1.0
        kept |= {slot: now[:, :, place] for place, slot in enumerate(slots)}
        asked = chance.sample(sorted(kept), 30)
        into = chance.sample(range(64), 30)
        transfer = memory.load(asked, into)
        transfer.wait()
        assert transfer.done()
        for slot, block in zip(asked, into, strict=True):
            assert torch.equal(pool.tensor[:, :, block], kept[slot])
    assert memory.seconds_for(1) > 0


def test_running_kernels_do_not_wait_for_a_load() -> None:
    pool = KVPool(LAYERS, 64, BLOCK, HEADS, DIM, DTYPE, DEVICE)
    memory = HostMemory(pool, 64)
    memory.store(list(range(64)), list(range(64)))
    transfer = memory.load(list(range(64)), list(range(64)))
    torch.ones(8, device=DEVICE).add_(1).sum().item()
    transfer.wait()
    assert transfer.done()


def test_what_comes_at_once_is_there_for_the_next_kernels_and_the_host_does_not_wait() -> None:
    """Copied beneath kernels that write to the same blocks; its pace does not include them."""
    pool = KVPool(LAYERS, 64, BLOCK, HEADS, DIM, DTYPE, DEVICE)
    memory = HostMemory(pool, 64)
    values = torch.randn_like(pool.tensor)
    for turn in range(4):
        blocks = list(range(turn, 48 + turn))
        pool.tensor.copy_(values)
        memory.store(blocks, blocks)
        busy()
        pool.tensor.fill_(-1.0)
        before = torch.cuda.current_stream(DEVICE).record_event() if CUDA else None
        assert memory.load(blocks, blocks[::-1], at_once=True).done()
        if before is not None:
            assert not before.query()
        read = pool.tensor[:, :, blocks[::-1]].clone()
        assert torch.equal(read, values[:, :, blocks])
        assert torch.equal(pool.tensor[:, :, 60:], torch.full_like(pool.tensor[:, :, 60:], -1.0))
    if CUDA:
        assert memory.seconds_for(48) < 20_000_000 / 4e9  # of `busy`, which takes at least that long


def test_attention_through_the_ring_is_attention() -> None:
    """A context in chunks of any length, against one call over all of it."""
    torch.manual_seed(0)
    length = 700 if CUDA else 30
    blocks = torch.randperm(-(-length // BLOCK)).tolist()
    for ring in (2, 3, 8):
        cache = StreamedCache(LAYERS, len(blocks), BLOCK, HEADS, DIM, DTYPE, DEVICE, ring)
        q, k, v = (
            torch.randn(LAYERS, length, heads, DIM, device=DEVICE, dtype=DTYPE)
            for heads in (4 * HEADS, HEADS, HEADS)
        )
        start = 0
        while start < length:
            end = min(length, start + (97 if start % 2 else 1))
            step = cache.step(AttentionBatch([start], [end - start], [blocks]))
            for layer in range(LAYERS):
                busy()
                new = [part[layer, start:end].clone() for part in (q, k, v)]
                found = step(layer, *new)
                if end == length or start == 1:
                    expected, _ = attend(q[layer, :end], k[layer, :end], v[layer, :end], causal=True)
                    torch.testing.assert_close(
                        found, expected[start:end], rtol=2e-2 if CUDA else 1e-5, atol=1e-2
                    )
            start = end


def test_answers_with_all_keys_and_values_on_the_host(tmp_path: Path) -> None:
    """In bf16 a near tie may be decided otherwise."""
    model = str(random_model(tmp_path))
    prompts = [[7 * number % 250, 3, 9] * (3 + 9 * number) for number in range(5)]
    params = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True)
    options = {"device": str(DEVICE), "block_size": 16, "max_num_seqs": 5, "graphs": "off"}
    with LLM(model, **options) as plain, LLM(model, kv_offload=True, gpu_kv_blocks=3, **options) as streamed:
        expected = plain.generate(prompts, params, use_tqdm=False)
        found = streamed.generate(prompts, params, use_tqdm=False)
    same = sum(a["token_ids"] == b["token_ids"] for a, b in zip(expected, found, strict=True))
    assert same >= (3 if CUDA else 5)
