"""A model without weights whose output depends on every key and value it can see, and on nothing else.

The "key/value" of a position is a hash of the one before it, as read from the paged store, and of its token;
the new token is a hash of all of them. A wrong block, a block computed under another prefix, a position
computed twice or not at all, or a write into a shared block therefore changes the tokens that come out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from collections.abc import Sequence as Rows
from dataclasses import dataclass, field

from engine.config import EngineConfig
from engine.errors import DeviceLostError
from engine.kv_cache.host_tier import Transfer
from engine.llm_engine import LLMEngine, SequenceOutput
from engine.model_runner import StepResult
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence

Token = int | bytes
POISON = b"never written"


def digest(*parts: object) -> bytes:
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()


def new_token(values: list[bytes]) -> Token:
    """Ints and bytes by turns, so that both kinds pass through everything."""
    value = digest(*values)
    return value if value[0] % 2 else int.from_bytes(value, "little")


def expected_tokens(prompt: Rows[Token], count: int, salt: bytes = b"") -> list[Token]:
    """What an undisturbed run generates, computed without any engine."""
    tokens, values = list(prompt), [digest("start", salt)]
    for position, token in enumerate(tokens):
        values.append(digest(values[-1], position, token))
    for _ in range(count):
        tokens.append(new_token(values[1:]))
        values.append(digest(values[-1], len(tokens) - 1, tokens[-1]))
    return tokens[len(prompt) :]


@dataclass
class FakeRunner:
    """Computes through block tables; `fail` may raise for a batch, `stop_after` ends a request early.

    `lost` is why the device computes no more.
    """

    num_blocks: int = 64
    block_size: int = 4
    max_model_len: int = 1000
    fail: Callable[[Rows[ScheduledSequence]], None] | None = None
    stop_after: dict[str, int] = field(default_factory=dict)
    lost: str | None = None
    host_slots: int = 0
    arrives_after: Callable[[], int] = lambda: 0
    """How often somebody asks for blocks from the host before they are there."""

    def __post_init__(self) -> None:
        self.store = [[POISON] * self.block_size for _ in range(self.num_blocks)]
        self.host_memory = None
        if self.host_slots:
            read, write = self.store.__getitem__, self.store.__setitem__
            self.host_memory = FakeHost(self.host_slots, read, write, self.arrives_after)
        self.batches: list[list[tuple[str, int, int]]] = []
        self.released: list[str] = []

    def run(self, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        self.batches.append([(row.sequence.request_id, row.start, row.count) for row in batch])
        results = [self._run_row(row) for row in batch]
        if self.fail is not None:
            self.fail(batch)
        return results

    def check_device(self) -> None:
        if self.lost is not None:
            raise DeviceLostError(self.lost)

    def release(self, sequence: Sequence) -> None:
        self.released.append(sequence.request_id)

    def _run_row(self, row: ScheduledSequence) -> StepResult | None:
        sequence = row.sequence
        for position in range(row.start, row.start + row.count):
            before = self._read(sequence, position - 1) if position else digest("start", sequence.salt)
            self._write(sequence, position, digest(before, position, sequence.token_ids[position]))
        if not row.samples:
            return None
        token = new_token([self._read(sequence, position) for position in range(len(sequence))])
        stopped = sequence.num_new_tokens + 1 == self.stop_after.get(sequence.request_id)
        return StepResult(token, stopped, "stop" if stopped else None, output=sequence.num_new_tokens)

    def _read(self, sequence: Sequence, position: int) -> bytes:
        return self.store[sequence.block_table[position // self.block_size]][position % self.block_size]

    def _write(self, sequence: Sequence, position: int, value: bytes) -> None:
        self.store[sequence.block_table[position // self.block_size]][position % self.block_size] = value


class FakeHost:
    """Slots on the host for blocks that `read` and `write` know by number. What is on its way arrives when it
    was asked for `arrives_after()` times, or is waited for; until then its blocks hold what nobody may read.
    """

    block_bytes = 100

    def __init__(
        self,
        num_slots: int,
        read: Callable[[int], list[bytes]],
        write: Callable[[int, list[bytes]], None],
        arrives_after: Callable[[], int] = lambda: 0,
    ) -> None:
        self.num_slots, self.seconds = num_slots, 0.0
        self._read, self._write, self._arrives_after = read, write, arrives_after
        self._slots: list[list[bytes]] = [[]] * num_slots

    def store(self, blocks: Rows[int], slots: Rows[int]) -> None:
        for block, slot in zip(blocks, slots, strict=True):
            self._slots[slot] = list(self._read(block))

    def load(self, slots: Rows[int], blocks: Rows[int], at_once: bool = False) -> Transfer:
        contents = [(block, self._slots[slot]) for slot, block in zip(slots, blocks, strict=True)]
        for block, content in contents:
            self._write(block, [POISON] * len(content))
        return FakeTransfer(contents, self._write, 0 if at_once else self._arrives_after())

    def seconds_for(self, count: int) -> float:
        return self.seconds * count


@dataclass
class FakeTransfer:
    contents: list[tuple[int, list[bytes]]]
    write: Callable[[int, list[bytes]], None]
    questions: int

    def done(self) -> bool:
        self.questions -= 1
        if self.questions >= 0:
            return False
        self.wait()
        return True

    def wait(self) -> None:
        for block, content in self.contents:
            self.write(block, list(content))

    def abandon(self) -> None:
        self.contents = []


def make_engine(runner: FakeRunner | None = None, **limits: object) -> LLMEngine:
    """An engine over `runner` with its sizes; `limits` override fields of EngineConfig."""
    runner = runner or FakeRunner()
    sizes = {
        "num_blocks": runner.num_blocks,
        "block_size": runner.block_size,
        "max_model_len": runner.max_model_len,
    }
    return LLMEngine(runner, EngineConfig(**{**sizes, **limits}))


def generated(sequence: Sequence) -> list[Token]:
    """The tokens after the prompt."""
    return sequence.token_ids[sequence.num_prompt_tokens :]


def check(engine: LLMEngine) -> None:
    """Every invariant of the blocks, against all sequences that the engine knows."""
    scheduler = engine.scheduler
    scheduler.block_manager.check_invariants([*scheduler.waiting, *scheduler.running, *scheduler.paused])


def run_all(engine: LLMEngine, max_steps: int = 5000) -> list[SequenceOutput]:
    """Steps until nothing is left, checking invariants after each; all outputs."""
    outputs: list[SequenceOutput] = []
    for _ in range(max_steps):
        if not engine.has_unfinished():
            return outputs
        outputs += engine.step()
        check(engine)
    raise AssertionError(f"unfinished after {max_steps} steps")
