"""Which products of single rows the CUDA C++ kernel serves; what it computes is tested on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from engine.kernels.hopper import program, row_linear, sources
from engine.kernels.hopper.row_linear import RowShape
from engine.layers.low_rank import LowRankPlace
from tests.engine.kernels.adapted_rows import H200, MOST_SHARED, rows_of

QKV, OUTPUT = LowRankPlace(0, 196608, 2048, (2048, 256, 256)), LowRankPlace(0, 65536, 2048, (2048,))


def shape(place: LowRankPlace, floats: bool = False) -> RowShape:
    found = row_linear.shape_of(torch.empty(sum(place.outputs), place.size), place, floats)
    assert found is not None
    return found


@pytest.mark.parametrize(("place", "tiles"), [(QKV, 80), (OUTPUT, 64)])
def test_products_of_single_rows_leave_processors_to_adapters(place: LowRankPlace, tiles: int) -> None:
    of_product, rows = shape(place), rows_of(place, branches=1)
    assert of_product.tiles == tiles and of_product.shared_bytes <= MOST_SHARED
    assert row_linear._serves_rows(64, rows, of_product, H200)
    assert not row_linear._serves_rows(64, rows, of_product, tiles + 31)
    assert not row_linear._serves_rows(64, rows, of_product, 0)


def test_what_the_kernel_is_not_made_for_is_not_served() -> None:
    of_product = shape(QKV)
    for streams, served in ((48, False), (49, True), (64, True), (65, False)):
        rows = rows_of(QKV, streams, branches=1)
        assert row_linear._serves_rows(streams, rows, of_product, H200) == served
    assert not row_linear._serves_rows(64, rows_of(QKV, 32, branches=2), of_product, H200)
    assert not row_linear._serves_rows(64, rows_of(QKV, 32, branches=1), of_product, H200)  # two rows of each
    assert not row_linear.serves(64, torch.empty(2560, 2048, dtype=torch.bfloat16), rows_of(QKV, branches=1))


def test_more_slots_than_a_tile_has_room_for_are_not_served() -> None:
    rows = rows_of(OUTPUT, branches=1)
    for slots in (row_linear.MAX_SLOTS, row_linear.MAX_SLOTS + 1):
        storage = rows.slots.storage.expand(slots, -1)
        of_slots = replace(rows, slots=replace(rows.slots, storage=storage))
        assert row_linear._serves_rows(64, of_slots, shape(OUTPUT), H200) == (slots <= row_linear.MAX_SLOTS)


@pytest.mark.parametrize("other", ["rank", "signals", "type", "hidden"])
def test_other_slots_have_no_kernel(other: str) -> None:
    rows = rows_of(QKV, branches=1)
    slots = replace(rows.slots, storage=rows.slots.storage.bfloat16())
    weight = SimpleNamespace(device=torch.device("cuda"), dtype=torch.bfloat16, is_contiguous=lambda: True)
    assert sources.could_serve(weight, replace(rows, slots=slots))
    changed = {
        "rank": replace(rows, slots=replace(slots, rank=16)),
        "signals": replace(rows, slots=replace(slots, signals=None)),
        "type": rows,
        "hidden": replace(rows, slots=slots).with_hidden(torch.empty(0)),
    }
    assert not sources.could_serve(weight, changed[other])


@pytest.mark.parametrize(
    ("outputs", "size"),
    [
        ((2048, 256, 256), 2048 + 128),
        ((2048, 80, 80), 2048),
        ((2056,), 2048),
        ((2048,), 512),
        ((2048, 2048), 2048),
        ((4096, 1024, 1024), 4096),
    ],
)
def test_other_shapes_have_no_kernel(outputs: tuple[int, ...], size: int) -> None:
    place = LowRankPlace(0, 0, size, outputs)
    assert row_linear.shape_of(torch.empty(sum(outputs), size), place, False) is None


def test_a_weight_has_the_size_of_what_is_added() -> None:
    assert row_linear.shape_of(torch.empty(2560, 2048), OUTPUT, False) is None


@pytest.mark.parametrize(("floats", "kind"), [(False, torch.bfloat16), (True, torch.float32)])
def test_a_launch_takes_every_processor(
    floats: bool, kind: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[int] = []

    def launch(num_programs: int, parameters: Sequence[int], device: torch.device) -> None:
        assert len(parameters) == 5 and all(parameters)
        launched.append(num_programs)

    monkeypatch.setattr(sources, "processors", lambda device: H200)
    monkeypatch.setattr(row_linear, "_program", lambda shape, device: SimpleNamespace(launch=launch))
    monkeypatch.setattr(row_linear, "TensorMap", lambda *layout: SimpleNamespace(address=1))
    x, weight = (torch.empty(*size, dtype=torch.bfloat16) for size in ((1, 64, 2048), (2560, 2048)))
    y = row_linear.row_linear(x, weight, rows_of(QKV, branches=1), floats)
    assert y.shape == (64, 2560) and y.dtype == kind and launched == [H200]
    with pytest.raises(ValueError, match="are not contiguous ones"):
        row_linear.row_linear(x.float(), weight, rows_of(QKV, branches=1))
    with pytest.raises(ValueError, match="are not contiguous ones"):
        row_linear.row_linear(x[:, :60], weight, rows_of(QKV, branches=1))
    with pytest.raises(ValueError, match="no kernel for a weight"):
        row_linear.row_linear(x, weight[:2048], rows_of(QKV, branches=1))


def test_the_source_is_whole_and_names_what_it_is_compiled_for() -> None:
    source = row_linear.source_of(shape(OUTPUT, floats=True))
    assert "#define FLOATS 1\n" in source and "#define SIDE_STAGES 32\n" in source
    assert "@" not in source.replace('"@p', "").replace("@p bra", "")
    for name in ("product_of_tile", "make_tile", "make_items", "read_hidden", "row_linear_with_adapters"):
        assert f" {name}(" in source


@pytest.mark.parametrize(
    ("outputs", "size", "floats"),
    [
        ((2048, 256, 256), 2048, False),
        ((2048,), 2048, True),
        ((1024, 512, 512), 1024, True),
        ((96,), 8192, False),
    ],
)
def test_whatever_shape_is_served_compiles(outputs: tuple[int, ...], size: int, floats: bool) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    made = program.compiled(row_linear.source_of(shape(LowRankPlace(0, 0, size, outputs), floats)))
    assert made.startswith(b"\x7fELF")


def test_shapes_whose_steps_do_not_come_out_do_not_compile() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    with pytest.raises(RuntimeError, match="static assertion"):
        program.compiled(row_linear.source_of(replace(shape(OUTPUT), STAGES=5)))
