"""Which products the kernel of CUDA C++ serves; what it computes is tested where there is a GPU."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from engine.kernels.hopper import linear as hopper
from engine.kernels.hopper import program, sources
from engine.layers.low_rank import LowRankPlace
from tests.engine.kernels.adapted_rows import H200, MOST_SHARED, rows_of

ROOT = Path(__file__).parents[3]
QKV, OUTPUT = LowRankPlace(0, 98304, 1024, (2048, 256, 256)), LowRankPlace(0, 65536, 2048, (1024,))


def shape(place: LowRankPlace, residual: bool = False) -> hopper.LinearShape:
    found = hopper.shape_of(torch.empty(sum(place.outputs), place.size), place, residual)
    assert found is not None
    return found


@pytest.mark.parametrize(("place", "residual", "tiles"), [(QKV, False, 110), (OUTPUT, True, 110)])
def test_products_of_64_streams_leave_processors_to_adapters(
    place: LowRankPlace, residual: bool, tiles: int
) -> None:
    of_product, rows = shape(place, residual), rows_of(place)
    assert of_product.tiles(1408) == tiles
    assert of_product.shared_bytes <= MOST_SHARED
    assert hopper._serves_rows(1408, rows, of_product, H200)
    assert not hopper._serves_rows(1408, rows, of_product, tiles + hopper.MIN_SIDE - 1)
    assert not hopper._serves_rows(1408, rows, of_product, 0)


@pytest.mark.parametrize(
    ("streams", "served"), [(16, False), (32, False), (48, True), (64, True), (72, False), (96, False)]
)
def test_few_tiles_are_left_to_the_matrix_library_and_many_leave_no_room(streams: int, served: bool) -> None:
    rows = rows_of(QKV, streams)
    assert hopper._serves_rows(22 * streams, rows, shape(QKV), H200) == served


def test_what_the_kernel_is_not_made_for_is_not_served() -> None:
    of_product = shape(QKV)
    assert not hopper._serves_rows(1408, rows_of(QKV, 128, branches=1), of_product, H200)
    assert not hopper._serves_rows(1408, rows_of(QKV, 32), of_product, H200)  # 22 rows in a branch
    assert not hopper._serves_rows(1408, rows_of(QKV, 176), of_product, H200)  # 4 of them
    weight = torch.empty(2560, 1024, dtype=torch.bfloat16)
    assert not hopper.serves(1408, weight, rows_of(QKV))  # no such device


def test_entries_for_whom_there_are_no_signals_are_not_served() -> None:
    few, many = rows_of(OUTPUT, 1023), rows_of(OUTPUT, 1024)
    processors = shape(OUTPUT).tiles(10240) + hopper.MIN_SIDE
    assert hopper._serves_rows(10230, few, shape(OUTPUT), processors)
    assert not hopper._serves_rows(10240, many, shape(OUTPUT), processors)
    assert len(many.slots.signals.turns) < 1 + 1024


def test_rows_that_do_not_lie_as_the_memory_engine_is_told_are_refused() -> None:
    rows = rows_of(OUTPUT)
    x, y, weight = (torch.empty(*size, dtype=torch.bfloat16) for size in ((8, 2048), (8, 1024), (1024, 2048)))
    for others in (
        (y, torch.empty(8, 4096, dtype=torch.bfloat16)[:, :2048]),
        (torch.empty(8, 2048, dtype=torch.bfloat16)[:, ::2], x),
        (y[:7], x),
        (y, x[:, :1024].contiguous()),
        (y, x.float()),
    ):
        with pytest.raises(ValueError, match="are not contiguous ones"):
            hopper.add_linear_with_adapters_(*others, weight, rows, 1.0)


class Launches:
    """Stands in for a compiled kernel and a device."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.programs: list[int] = []
        self.devices: list[str] = []
        """Those that are current where the memory engine is told of a tensor."""
        self._current = ""
        monkeypatch.setattr(sources, "processors", lambda device: H200)
        monkeypatch.setattr(hopper, "_program", lambda shape, device: self)
        monkeypatch.setattr(hopper, "on_device", self._on_device)
        monkeypatch.setattr(hopper, "TensorMap", self._tensor_map)

    def launch(self, num_programs: int, parameters: Sequence[int], device: torch.device) -> None:
        assert len(parameters) == 7 and all(parameters)
        self.programs.append(num_programs)

    @contextmanager
    def _on_device(self, device: torch.device) -> Iterator[None]:
        self._current = device.type
        yield
        self._current = ""

    def _tensor_map(self, tensor: torch.Tensor, *layout: object, **more: int) -> SimpleNamespace:
        self.devices.append(self._current)
        return SimpleNamespace(address=1)


@pytest.mark.parametrize("streams", [48, 64])
def test_a_launch_takes_every_processor_on_the_device_of_its_tensors(
    streams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches, rows = Launches(monkeypatch), rows_of(QKV, streams)
    x, weight = (torch.empty(*size, dtype=torch.bfloat16) for size in ((2 * streams, 11, 1024), (2560, 1024)))
    assert hopper.linear_with_adapters(x, weight, rows).shape == (2 * streams, 11, 2560)
    assert launches.programs == [H200]
    assert launches.devices == ["cpu"] * 6


@pytest.mark.parametrize(
    ("outputs", "size", "residual"),
    [
        ((2048, 256, 256), 2048 + 64, False),
        ((2048, 128, 128), 1024, False),
        ((516,), 1024, True),
        ((1024,), 256, True),
        ((4096, 4096), 1024, False),
        ((1024,), 320, False),
        ((2048,), 2048, True),
    ],
)
def test_other_shapes_have_no_kernel(outputs: tuple[int, ...], size: int, residual: bool) -> None:
    place = LowRankPlace(0, 0, size, outputs)
    assert hopper.shape_of(torch.empty(sum(outputs), size), place, residual) is None


def test_a_weight_has_the_size_of_what_is_added() -> None:
    assert hopper.shape_of(torch.empty(2048, 2048), OUTPUT, False) is None
    assert hopper.shape_of(torch.empty(1024, 4096), OUTPUT, False) is None


def test_the_source_is_whole_and_names_what_it_is_compiled_for() -> None:
    source = hopper.source_of(shape(OUTPUT, residual=True))
    assert "#define RESIDUAL 1\n" in source and "#define TILE_N 104\n" in source
    assert "@" not in source.replace('"@p', "").replace("@p bra", "")
    for name in ("product_of_tile", "product_of_entry", "make_tile", "make_entries", "linear_with_adapters"):
        assert f" {name}(" in source
    assert source != hopper.source_of(replace(shape(OUTPUT, residual=True), STAGES=5))


@pytest.mark.parametrize(
    ("outputs", "size", "residual"),
    [
        ((2048, 256, 256), 1024, False),
        ((1024,), 2048, True),
        ((512, 256, 256), 1152, False),
        ((520,), 1024, True),
        ((2056,), 1280, False),
    ],
)
def test_whatever_shape_is_served_compiles(outputs: tuple[int, ...], size: int, residual: bool) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    made = program.compiled(hopper.source_of(shape(LowRankPlace(0, 0, size, outputs), residual)))
    assert made.startswith(b"\x7fELF")


def test_what_does_not_compile_is_told_in_the_compilers_words() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    source = hopper.source_of(replace(shape(OUTPUT), K=2048 + 32))
    with pytest.raises(RuntimeError, match="does not compile") as raised:
        program.compiled(source)
    assert "static assertion" in str(raised.value) and "\0" not in str(raised.value)


def test_sources_of_kernels_are_part_of_the_package() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    sources = [file.name for file in program.SOURCES.iterdir() if file.suffix not in (".py", "")]
    assert {"linear.cu", "tiles.cuh"} <= set(sources)
    assert all(any(fnmatch(name, kind) for kind in told["engine.kernels.hopper"]) for name in sources)
