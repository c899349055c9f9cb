"""Sums over ranks by mailboxes: processes that share memory, in Triton's interpreter."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.connection import Connection

import torch
from torch import Tensor

from engine.kernels.norms.add_and_norm import add_and_norm
from engine.kernels.norms.exchange import (
    NEVER,
    ROW_BYTES,
    Mailbox,
    exchange,
    exchange_add_and_norm,
    mailbox_bytes,
)

ROOM, EXCHANGES, SIZE = 4, 3, 40
FORK = multiprocessing.get_context("fork")  # a child has the mailboxes at the same addresses


def numbers(seed: int, *size: int) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


def mailbox(rank: int, memories: list[Tensor]) -> Mailbox:
    addresses = torch.tensor([memory.data_ptr() for memory in memories])
    return Mailbox(rank, addresses, torch.zeros(ROOM, dtype=torch.int64))


def take_part(rank: int, memories: list[Tensor], out: Connection) -> None:
    """Exchanges of changing numbers of rows and types, one after the other."""
    torch.set_num_threads(1)
    own, ranks, found = mailbox(rank, memories), range(len(memories)), []
    for n in range(EXCHANGES):
        rows = 1 + n % 3
        parts = [numbers(10 * n + other, 2, rows, SIZE) for other in ranks]
        residual, norm = numbers(100 + n, rows, SIZE), numbers(200, SIZE)
        exact = add_and_norm(torch.cat(parts), residual, norm, 1e-6, 0.5)
        hidden, normed = exchange_add_and_norm(own, parts[rank], residual, norm, 1e-6, 0.5)
        torch.testing.assert_close((hidden, normed), exact, atol=1e-5, rtol=1e-5)
        bits = torch.full((ROOM, 3), -(1 << 40) - n) * (rank == n % len(memories))
        assert torch.equal(exchange(own, bits), torch.full((ROOM, 3), -(1 << 40) - n))
        narrow = exchange(own, numbers(n + 7 * rank, 2, 8).bfloat16())
        found += [hidden, normed, narrow.float()]
    out.send([tensor.tolist() for tensor in found])


def test_ranks_have_the_same_bits_of_every_sum() -> None:
    size = 3
    memories = [
        torch.zeros(mailbox_bytes(ROOM, size), dtype=torch.uint8).share_memory_() for _ in range(size)
    ]
    pipes = [FORK.Pipe(duplex=False) for _ in range(size)]
    processes = [
        FORK.Process(target=take_part, args=(rank, memories, out)) for rank, (_, out) in enumerate(pipes)
    ]
    for process, (_, out) in zip(processes, pipes, strict=True):
        process.start()
        out.close()
    try:
        found = [incoming.recv() for incoming, _ in pipes]
    finally:
        for process in processes:
            process.kill()
            process.join()
    assert all(sums == found[0] for sums in found)


def test_nobody_waits_for_ranks_whose_flags_say_never() -> None:
    memories = [torch.zeros(mailbox_bytes(ROOM, 2), dtype=torch.uint8) for _ in range(2)]
    memories[0][: 8 * 2 * ROOM].view(torch.int64).fill_(NEVER)
    own = numbers(1, ROOM, SIZE)
    assert torch.equal(exchange(mailbox(0, memories), own), own)  # what the other would have added is zeros


def test_who_waits_for_a_rank_that_is_gone_goes_on_once_released() -> None:
    memories = [torch.zeros(mailbox_bytes(ROOM, 2), dtype=torch.uint8).share_memory_() for _ in range(2)]
    incoming, out = FORK.Pipe(duplex=False)
    waiting = FORK.Process(target=lambda: out.send(exchange(mailbox(0, memories), numbers(1, 1, 8)).tolist()))
    waiting.start()
    try:
        told = memories[1][: 8 * 2 * ROOM].view(torch.int64)
        while told[0] == 0 and waiting.is_alive():  # until it has written to the other one
            time.sleep(0.01)
        assert told[0] == 1
        assert not incoming.poll(0.3)
        memories[0][: 8 * 2 * ROOM].view(torch.int64).fill_(NEVER)
        assert incoming.poll(60)
    finally:
        waiting.kill()
        waiting.join()


def test_what_has_no_room_is_not_served() -> None:
    box = mailbox(0, [torch.zeros(mailbox_bytes(ROOM, 1), dtype=torch.uint8)])
    assert box.serves(ROOM, ROW_BYTES // 2)
    assert not box.serves(ROOM + 1, SIZE)
    assert not box.serves(1, ROW_BYTES // 2 + 1)
    assert not box.serves(0, SIZE)
