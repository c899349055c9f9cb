"""LLMEngine over a runner whose tokens depend on every key and value it reads; see `fakes`."""

from __future__ import annotations

from collections.abc import Sequence as Rows

import pytest

from engine.errors import EngineError, RequestError
from engine.model_runner import StepResult
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence, SequenceStatus
from tests.engine.fakes import FakeRunner, Token, check, expected_tokens, generated, make_engine, run_all


def prompt_of(number: int, length: int) -> list[Token]:
    return [number * 1000 + i if i % 3 else f"{number}/{i}".encode() for i in range(length)]


def test_one_request_generates_what_its_prompt_determines() -> None:
    engine = make_engine()
    sequence = Sequence("a", prompt_of(1, 9), 30)
    engine.add(sequence)
    outputs = run_all(engine)
    assert generated(sequence) == expected_tokens(prompt_of(1, 9), 30)
    assert [output.result.token for output in outputs if output.result] == generated(sequence)
    assert [output.finish_reason for output in outputs] == [None] * 29 + ["length"]
    assert engine.step_count == 30
    assert sequence.status is SequenceStatus.FINISHED and sequence.stopped


def test_a_batch_of_everything_gives_each_request_what_it_gets_alone() -> None:
    engine = make_engine(FakeRunner(num_blocks=200), max_prefill_tokens=7, max_num_seqs=6)
    sequences = [Sequence(str(i), prompt_of(i, 1 + 5 * i), 5 + i) for i in range(12)]
    for number, sequence in enumerate(sequences):
        engine.add(sequence)
        if number % 3 == 0:
            engine.step()
            check(engine)
    run_all(engine)
    for number, sequence in enumerate(sequences):
        assert generated(sequence) == expected_tokens(prompt_of(number, 1 + 5 * number), 5 + number)
    kinds = [{count == 1 for _, _, count in batch} for batch in engine.runner.batches]
    assert {True, False} in kinds


def test_prefixes_of_a_prompt_are_hashed_while_it_is_computed() -> None:
    class Launching(FakeRunner):
        """Tells how many prefixes were known before it has results."""

        def run(self, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
            self.meanwhile(batch)
            known.append([len(row.sequence.prefixes) for row in batch])
            return super().run(batch)

    known: list[list[int]] = []
    engine = make_engine(Launching(block_size=4), max_num_batched_tokens=16)
    engine.add(Sequence("a", prompt_of(1, 22), 2))
    run_all(engine)
    assert known == [[4], [5], [5]]
    cold = make_engine(Launching(block_size=4), enable_prefix_caching=False)
    cold.add(Sequence("a", prompt_of(1, 22), 1))
    run_all(cold)
    assert known[3:] == [[0]]


def test_preempted_equals_uninterrupted() -> None:
    engine = make_engine(FakeRunner(num_blocks=12), enable_prefix_caching=False)
    sequences = [Sequence(str(i), prompt_of(i, 6), 30) for i in range(4)]
    for sequence in sequences:
        engine.add(sequence)
    run_all(engine)
    assert engine.scheduler.num_preemptions > 0
    for number, sequence in enumerate(sequences):
        assert generated(sequence) == expected_tokens(prompt_of(number, 6), 30)
    assert sorted(engine.runner.released) == ["0", "1", "2", "3"]


def test_the_same_prompt_again_hits_the_cache_and_gives_the_same() -> None:
    engine = make_engine()
    for name in ("first", "second"):
        sequence = Sequence(name, prompt_of(1, 22), 6)
        engine.add(sequence)
        run_all(engine)
        assert generated(sequence) == expected_tokens(prompt_of(1, 22), 6)
        assert sequence.num_cached_tokens == (0 if name == "first" else 20)
    assert ("second", 20, 2) in [row for batch in engine.runner.batches for row in batch]


@pytest.mark.parametrize("length", [4, 8, 12])
def test_a_fully_cached_prompt_of_whole_blocks_still_computes_a_query(length: int) -> None:
    engine = make_engine()
    for name in ("first", "second"):
        sequence = Sequence(name, prompt_of(1, length), 3)
        engine.add(sequence)
        run_all(engine)
        assert generated(sequence) == expected_tokens(prompt_of(1, length), 3)


def test_equal_prompts_in_one_step_and_again_later_give_the_same() -> None:
    engine = make_engine(FakeRunner(num_blocks=20))
    for round_number in range(4):
        sequences = [Sequence(f"{round_number}/{i}", prompt_of(7, 13), 5) for i in range(3)]
        for sequence in sequences:
            engine.add(sequence)
        run_all(engine)
        for sequence in sequences:
            assert generated(sequence) == expected_tokens(prompt_of(7, 13), 5)


def test_a_resumed_request_continues_where_it_stopped() -> None:
    """A request that starts with tokens made elsewhere is a longer prompt and fewer tokens to make."""
    prompt = prompt_of(3, 5)
    whole = expected_tokens(prompt, 20)
    engine = make_engine()
    resumed = Sequence("resumed", prompt + whole[:9], 11)
    engine.add(resumed)
    run_all(engine)
    assert generated(resumed) == whole[9:]


def test_another_salt_changes_the_tokens_and_shares_no_block() -> None:
    engine = make_engine()
    for salt in (b"one", b"two", b"one"):
        sequence = Sequence("s", prompt_of(1, 12), 4, salt=salt)
        engine.add(sequence)
        run_all(engine)
        assert generated(sequence) == expected_tokens(prompt_of(1, 12), 4, salt)


def test_cancel_while_waiting_prefilling_and_decoding_frees_everything() -> None:
    engine = make_engine(max_num_seqs=2, max_num_batched_tokens=8, max_prefill_tokens=4)
    decoding = Sequence("decoding", prompt_of(1, 3), 50)
    prefilling = Sequence("prefilling", prompt_of(2, 30), 50)
    waiting = Sequence("waiting", prompt_of(3, 3), 50)
    for sequence in (decoding, prefilling, waiting):
        engine.add(sequence)
    engine.step()
    engine.step()
    assert decoding.num_new_tokens and 0 < prefilling.num_computed_tokens < 30
    assert waiting.status is SequenceStatus.WAITING
    for sequence in (waiting, prefilling, decoding):
        assert engine.cancel(sequence.request_id)
        assert not engine.cancel(sequence.request_id)
        assert sequence.finish_reason == "cancelled" and sequence.block_table == []
        check(engine)
    assert not engine.has_unfinished() and engine.step() == []
    assert engine.scheduler.block_manager.num_free_blocks == 64
    assert engine.runner.released == ["waiting", "prefilling", "decoding"]


def test_cancelling_between_preemption_and_resumption_releases_once() -> None:
    engine = make_engine(FakeRunner(num_blocks=6), enable_prefix_caching=False)
    for name in "ab":
        engine.add(Sequence(name, prompt_of(ord(name), 6), 15))
    while engine.scheduler.num_preemptions == 0:
        engine.step()
    assert engine.runner.released == []
    assert engine.cancel("b")
    check(engine)
    run_all(engine)
    assert engine.runner.released == ["b", "a"]


def test_an_aborted_prefill_leaves_no_shared_block_behind() -> None:
    engine = make_engine()
    engine.add(Sequence("aborted", prompt_of(1, 20), 5))
    engine.scheduler.schedule()
    assert engine.cancel("aborted")
    sequence = Sequence("again", prompt_of(1, 20), 5)
    engine.add(sequence)
    run_all(engine)
    assert sequence.num_cached_tokens == 0
    assert generated(sequence) == expected_tokens(prompt_of(1, 20), 5)


def test_a_failing_step_fails_its_batch_alone() -> None:
    def fail_for_bad(batch: Rows[ScheduledSequence]) -> None:
        if any(row.sequence.request_id == "bad" for row in batch):
            raise MemoryError("no room")

    engine = make_engine(FakeRunner(fail=fail_for_bad), max_num_seqs=2)
    survivor = Sequence("survivor", prompt_of(3, 20), 5)
    for sequence in (Sequence("bad", prompt_of(1, 20), 5), Sequence("victim", prompt_of(2, 20), 5), survivor):
        engine.add(sequence)
    outputs = run_all(engine)
    failed = {output.sequence.request_id: output.error for output in outputs if output.error}
    assert failed == {"bad": "MemoryError: no room", "victim": "MemoryError: no room"}
    assert all(output.finish_reason == "error" for output in outputs if output.error)
    assert generated(survivor) == expected_tokens(prompt_of(3, 20), 5)
    assert engine.runner.released == ["bad", "victim", "survivor"]


def test_blocks_of_a_failed_step_are_not_shared() -> None:
    runner = FakeRunner()

    def corrupt(batch: Rows[ScheduledSequence]) -> None:
        for row in batch:
            for block in row.sequence.block_table:
                runner.store[block] = [b"garbage"] * runner.block_size
        runner.fail = None
        raise RuntimeError("device error")

    runner.fail = corrupt
    engine = make_engine(runner)
    engine.add(Sequence("broken", prompt_of(1, 20), 5))
    assert [output.error for output in engine.step()] == ["RuntimeError: device error"]
    again = Sequence("again", prompt_of(1, 20), 5)
    engine.add(again)
    run_all(engine)
    assert generated(again) == expected_tokens(prompt_of(1, 20), 5)


def test_what_a_sequence_computed_that_the_model_gave_up_is_not_shared() -> None:
    """Values that are not finite are noticed where a token is due, steps after they entered the cache."""
    runner = FakeRunner()
    engine = make_engine(runner, max_num_seqs=2, max_num_batched_tokens=8)
    sound = Sequence("sound", prompt_of(2, 8), 20)
    for sequence in (sound, Sequence("broken", [*prompt_of(2, 4), *prompt_of(1, 20)], 5)):
        engine.add(sequence)
    compute = runner.run

    def run(batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        results = compute(batch)
        for place, row in enumerate(batch):
            if row.sequence.request_id == "broken":
                for block in row.sequence.block_table[1:]:
                    runner.store[block] = [b"garbage"] * runner.block_size
                results[place] = results[place] and StepResult(b"", True, "error")
        return results

    runner.run = run  # type: ignore[method-assign]
    while "broken" in engine.scheduler:
        engine.step()
        check(engine)
    again = Sequence("again", [*prompt_of(2, 4), *prompt_of(1, 20)], 5)
    engine.add(again)
    run_all(engine)
    assert again.num_cached_tokens == 4  # what it shared with a sequence that is sound
    assert generated(again) == expected_tokens(again.token_ids[:24], 5)
    assert generated(sound) == expected_tokens(prompt_of(2, 8), 20)


@pytest.mark.parametrize("results", [[], [None], [StepResult(1.5)], [StepResult(1), StepResult(1)]])
def test_results_that_do_not_fit_the_batch_fail_it(results: list[StepResult | None]) -> None:
    engine = make_engine()
    engine.runner.run = lambda batch: results  # type: ignore[method-assign]
    engine.add(Sequence("a", [1, 2], 5))
    (output,) = engine.step()
    assert output.finish_reason == "error" and output.error.startswith("EngineError: the runner returned")
    assert not engine.has_unfinished()


def test_a_release_that_raises_stops_nobody() -> None:
    engine = make_engine()

    def release(sequence: Sequence) -> None:
        raise RuntimeError("cannot release")

    engine.runner.release = release  # type: ignore[method-assign]
    sequences = [Sequence(name, prompt_of(1, 3), 2) for name in "ab"]
    for sequence in sequences:
        engine.add(sequence)
    run_all(engine)
    assert all(sequence.finish_reason == "length" for sequence in sequences)


def test_the_model_ends_a_request_before_its_limit() -> None:
    engine = make_engine(FakeRunner(stop_after={"a": 4}))
    sequence = Sequence("a", prompt_of(1, 3), 50)
    engine.add(sequence)
    outputs = run_all(engine)
    assert [output.finish_reason for output in outputs] == [None, None, None, "stop"]
    assert sequence.finish_reason == "stop" and sequence.num_new_tokens == 4


def test_the_smallest_request_is_one_token_after_one() -> None:
    engine = make_engine()
    sequence = Sequence("a", [5], 1)
    engine.add(sequence)
    assert len(run_all(engine)) == 1
    assert generated(sequence) == expected_tokens([5], 1)


def test_a_refused_request_leaves_the_others_alone() -> None:
    engine = make_engine(FakeRunner(num_blocks=4))
    sequence = Sequence("fits", prompt_of(1, 8), 4)
    engine.add(sequence)
    with pytest.raises(RequestError, match="the KV cache holds 16"):
        engine.add(Sequence("too long", prompt_of(2, 17), 1))
    run_all(engine)
    assert generated(sequence) == expected_tokens(prompt_of(1, 8), 4)


def test_a_name_can_be_used_again_after_its_request_ended() -> None:
    engine = make_engine()
    for prompt in ([1, 2, 3], [4, 5]):
        sequence = Sequence("same", prompt, 2)
        engine.add(sequence)
        run_all(engine)
        assert generated(sequence) == expected_tokens(prompt, 2)


def test_two_engines_in_one_process_do_not_meet() -> None:
    engines = [make_engine(FakeRunner(num_blocks=8)) for _ in range(2)]
    sequences = [Sequence("same name", prompt_of(i, 7), 9) for i in range(2)]
    for engine, sequence in zip(engines, sequences, strict=True):
        engine.add(sequence)
    while any(engine.has_unfinished() for engine in engines):
        for engine in engines:
            engine.step()
    for number, sequence in enumerate(sequences):
        assert generated(sequence) == expected_tokens(prompt_of(number, 7), 9)


@pytest.mark.parametrize("limits", [{"block_size": 8}, {"num_blocks": 65}, {"max_model_len": 1001}])
def test_a_config_beyond_the_runner_is_refused(limits: dict[str, int]) -> None:
    with pytest.raises(EngineError, match=next(iter(limits))):
        make_engine(**limits)
