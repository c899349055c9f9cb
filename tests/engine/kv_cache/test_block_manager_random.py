"""BlockManager under random life cycles, against a record of what each block was last computed for."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from engine.kv_cache.block_manager import BlockManager
from engine.sequence import Sequence


class BlockManagerAgainstTruth(RuleBasedStateMachine):
    """A pool of six blocks of two positions, prompts over two tokens."""

    live = Bundle("live")

    def __init__(self) -> None:
        super().__init__()
        self.manager = BlockManager(6, 2)
        self.sequences: dict[str, Sequence] = {}
        self.truth: dict[int, tuple[bytes, list[int]]] = {}
        self.count = 0

    def available(self, sequence: Sequence) -> int:
        """Positions of the longest prefix that some chain of blocks holds, by the record."""
        length = 0
        while length + 2 < len(sequence):
            wanted = (sequence.salt, sequence.token_ids[: length + 2])
            if wanted not in self.truth.values():
                break
            length += 2
        return length

    @rule(
        target=live,
        tokens=st.lists(st.integers(0, 1), min_size=1, max_size=9),
        salt=st.sampled_from([b"", b"x"]),
        reserve=st.integers(0, 2),
    )
    def allocate(self, tokens: list[int], salt: bytes, reserve: int) -> str:
        self.count += 1
        sequence = Sequence(f"s{self.count}", tokens, max_new_tokens=99, salt=salt)
        expected = self.available(sequence)
        free_before = self.manager.num_free_blocks
        if not self.manager.allocate(sequence, reserve):
            assert self.manager.blocks_for(len(sequence)) + reserve > free_before
            return sequence.request_id
        assert sequence.num_cached_tokens == expected
        for number, index in enumerate(sequence.block_table):
            if number < expected // 2:
                assert self.truth[index] == (salt, sequence.token_ids[: (number + 1) * 2])
            else:
                self.truth.pop(index, None)
        self.sequences[sequence.request_id] = sequence
        return sequence.request_id

    @rule(name=live, data=st.data())
    def compute_some(self, name: str, data: st.DataObject) -> None:
        sequence = self.sequences.get(name)
        if sequence is None or sequence.num_uncomputed_tokens == 0:
            return
        end = data.draw(st.integers(sequence.num_computed_tokens + 1, len(sequence)))
        self.manager.commit(sequence, end)
        for number in range(end // 2):
            self.truth[sequence.block_table[number]] = (sequence.salt, sequence.token_ids[: (number + 1) * 2])

    @rule(name=live, token=st.integers(0, 1))
    def generate(self, name: str, token: int) -> None:
        sequence = self.sequences.get(name)
        if sequence is None or sequence.num_uncomputed_tokens:
            return
        sequence.token_ids.append(token)
        if not self.manager.can_append(sequence):
            sequence.token_ids.pop()
            return
        before = list(sequence.block_table)
        self.manager.append(sequence)
        for index in sequence.block_table[len(before) :]:
            self.truth.pop(index, None)

    @rule(name=consumes(live))
    def free(self, name: str) -> None:
        sequence = self.sequences.pop(name, None)
        if sequence is not None:
            self.manager.free(sequence)

    @invariant()
    def holds(self) -> None:
        self.manager.check_invariants(self.sequences.values())
        for sequence in self.sequences.values():
            for number in range(sequence.num_computed_tokens // 2):
                held = self.truth[sequence.block_table[number]]
                assert held == (sequence.salt, sequence.token_ids[: (number + 1) * 2])


TestBlockManagerAgainstTruth = BlockManagerAgainstTruth.TestCase
TestBlockManagerAgainstTruth.settings = settings(stateful_step_count=40)
