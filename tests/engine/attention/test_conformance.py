"""Every attention backend that runs here, held to the same cases; on the CPU Triton is interpreted."""

from __future__ import annotations

import pytest
import torch

from engine.attention import AttentionBackend, AttentionBatch, StepShape
from engine.attention.selection import BACKENDS, build_backend
from engine.errors import EngineError
from tests.engine.attention import conformance as rules
from tests.engine.attention.conformance import Case
from tests.engine.attention.static import StaticBackend

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
RUNNABLE = [
    name for name in BACKENDS if not isinstance(build_backend(name, DEVICE, torch.bfloat16, 64, 256), str)
]
CAPTURABLE = [name for name in RUNNABLE if name != "sdpa"]


def backend_for(name: str, case: Case) -> AttentionBackend:
    backend = build_backend(name, DEVICE, case.dtype, case.head_dim, case.block_size)
    if isinstance(backend, str):
        pytest.skip(f"{name}: {backend}")
    return backend


def test_the_backends_of_this_machine_run() -> None:
    """Without a GPU Triton's kernels are interpreted; a suite that skips them would prove nothing."""
    assert {"sdpa", "triton"} <= set(RUNNABLE)


@pytest.mark.parametrize("case", list(rules.small_cases()), ids=str)
@pytest.mark.parametrize("name", RUNNABLE)
def test_a_step_equals_the_oracle(name: str, case: Case) -> None:
    rules.check_step(backend_for(name, case), case, DEVICE)


@pytest.mark.parametrize("case", list(rules.small_cases()), ids=str)
@pytest.mark.parametrize("name", RUNNABLE)
def test_rotating_on_the_way_is_rotating_before(name: str, case: Case) -> None:
    rules.check_rotation(backend_for(name, case), case, DEVICE)


@pytest.mark.parametrize("case", list(rules.small_cases()), ids=str)
@pytest.mark.parametrize("name", RUNNABLE)
def test_normalising_on_the_way_is_normalising_before(name: str, case: Case) -> None:
    backend = backend_for(name, case)
    if not backend.normalises:
        pytest.skip(f"{name} does not normalise")
    rules.check_head_norms(backend, case, DEVICE)


@pytest.mark.parametrize("name", RUNNABLE)
def test_views_of_a_fused_projection_are_accepted(name: str) -> None:
    case = Case("views", rules.MIXED)
    rules.check_fused_views(backend_for(name, case), case, DEVICE)


@pytest.mark.parametrize("name", RUNNABLE)
def test_rows_on_a_dummy_block_disturb_nobody(name: str) -> None:
    case = Case("dummies", rules.MIXES["decodes of unequal length"])
    rules.check_dummy_rows(backend_for(name, case), case, DEVICE)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", CAPTURABLE)
def test_buffers_of_decodes_serve_every_batch_that_fits(name: str, dtype: torch.dtype) -> None:
    case = Case("decodes", (), dtype=dtype)
    rules.check_replay(backend_for(name, case), case, rules.DECODE_BATCHES, rules.DECODE_SHAPE, DEVICE)


@pytest.mark.parametrize("name", CAPTURABLE)
def test_buffers_of_a_mixed_step_serve_every_batch_that_fits(name: str) -> None:
    case = Case("mixed", ())
    rules.check_replay(backend_for(name, case), case, rules.MIXED_BATCHES, rules.MIXED_SHAPE, DEVICE)


@pytest.mark.parametrize("name", CAPTURABLE)
def test_room_to_spare_is_written_to_by_nobody(name: str) -> None:
    case = Case("room", (), heads=(2, 1))
    rules.check_nothing_else_is_written(backend_for(name, case), case, DEVICE)


@pytest.mark.parametrize("num_splits", [1, 2, 8])
def test_the_number_of_splits_changes_nothing(num_splits: int) -> None:
    """Contexts of 1 to 300 positions in up to 8 parts: parts are full, partial or empty."""
    case = Case("splits", ((299, 1), (0, 1), (64, 1), (65, 1), (128, 1)), heads=(3, 1), head_dim=80)
    backend_for("triton", case)
    from engine.attention.triton_backend.backend import Launch, TritonBackend

    backend = TritonBackend(DEVICE, case.dtype, case.block_size, Launch(num_splits=num_splits))
    rules.check_step(backend, case, DEVICE)
    rules.check_replay(backend, case, rules.DECODE_BATCHES, rules.DECODE_SHAPE, DEVICE)


def test_splits_fill_the_device_and_are_never_smaller_than_a_tile() -> None:
    backend_for("triton", Case("splits", ()))
    from engine.attention.triton_backend.backend import TritonBackend

    backend = TritonBackend(DEVICE, torch.float32, 16)
    backend._processors = 132
    assert backend._splits(num_programs=2, max_context=8192, block_n=64) == 64
    assert backend._splits(num_programs=2, max_context=1024, block_n=64) == 16
    assert backend._splits(num_programs=2, max_context=64, block_n=64) == 1
    assert backend._splits(num_programs=32, max_context=8192, block_n=64) == 32
    assert backend._splits(num_programs=512, max_context=8192, block_n=64) == 2
    assert backend._splits(num_programs=1024, max_context=8192, block_n=64) == 2
    assert backend._splits(num_programs=1024, max_context=64, block_n=64) == 1
    assert backend._splits(num_programs=1408, max_context=8192, block_n=64) == 1


def test_a_batch_that_does_not_fit_the_buffers_is_refused() -> None:
    backend = backend_for("triton", Case("room", ()))
    room = backend.buffers(StepShape(num_decodes=1, num_chunks=1, num_chunk_tokens=4, max_context=32))
    for starts, counts in (([0], [5]), ([3, 4, 5], [1, 1, 1]), ([32], [1])):
        with pytest.raises(EngineError, match="does not fit into StepShape"):
            backend.plan(AttentionBatch(starts, counts, [[0, 1, 2]] * len(starts)), out=room)
    with pytest.raises(EngineError, match="2 queries for a step of 5"):
        backend.forward(*torch.zeros(3, 2, 4, 64), torch.zeros(2, 1, 16, 4, 64), room)


def test_what_cannot_be_captured_says_so() -> None:
    backend = build_backend("sdpa", DEVICE, torch.float32, 64, 16)
    assert not backend.capturable
    with pytest.raises(EngineError, match="cannot be captured"):
        backend.buffers(StepShape(num_decodes=1))


@pytest.mark.parametrize("case", list(rules.small_cases()), ids=str)
def test_the_backend_that_stands_in_for_triton_equals_the_oracle(case: Case) -> None:
    rules.check_step(StaticBackend(DEVICE, case.dtype, case.block_size), case, DEVICE)


def test_its_buffers_serve_every_batch_that_fits() -> None:
    case = Case("mixed", ())
    backend = StaticBackend(DEVICE, case.dtype, case.block_size)
    rules.check_replay(backend, case, rules.MIXED_BATCHES, rules.MIXED_SHAPE, DEVICE)
