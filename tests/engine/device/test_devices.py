"""Everything is launched on the device of its tensors, whichever is current. That is read in the source: it
takes two GPUs to see it (`tests/gpu/devices/test_second_device.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from engine.device import devices
from engine.errors import DeviceLostError, OptionsError
from engine.kernels import launch

ROOT = Path(__file__).parents[3]
SERVING = [
    path
    for path in sorted([*ROOT.glob("engine/**/*.py"), *ROOT.glob("models/**/*.py")])
    if "training" not in path.parts and path.name != "parity.py"
]
OF_THE_CURRENT_DEVICE = {
    "Stream", "current_stream", "default_stream", "get_device_capability", "get_device_name",
    "get_device_properties", "mem_get_info", "memory_reserved", "synchronize",
}  # fmt: skip
"""Functions of `torch.cuda` that ask the current device where nobody names one."""


def complaints(source: str) -> Iterator[str]:
    """What would happen on the current device, or wait for all that was launched on one."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        given = node.args or node.keywords
        if isinstance(node.func, ast.Subscript) and "kernel" in called and "kernel_on(" not in called:
            yield f"{node.lineno}: {called} is launched on the current device"
        name = called.removeprefix("torch.cuda.")
        if called.startswith("torch.cuda.") and name in OF_THE_CURRENT_DEVICE and not given:
            yield f"{node.lineno}: {called} without a device"
        if called.endswith(".record") and not given:
            yield f"{node.lineno}: {called} on the current device's stream"
        if called == "torch.cuda.graph" and {word.arg for word in node.keywords} < {"pool", "stream"}:
            yield f"{node.lineno}: a graph without a stream of its own"
        if called.startswith("torch.from_numpy(") and called.endswith((".to", ".cuda")):
            yield f"{node.lineno}: pageable memory is copied to a device"
        on = next((word.value for word in node.keywords if word.arg == "device"), None)
        if (
            called in ("torch.tensor", "torch.as_tensor")
            and on
            and ast.unparse(on) not in ("'cpu'", "'meta'")
        ):
            yield f"{node.lineno}: {called} copies pageable memory to a device"


@pytest.mark.parametrize("path", SERVING, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_depends_on_the_current_device_or_waits_for_all_of_it(path: Path) -> None:
    if path.name not in ("staging.py", "launch.py"):  # where `upload` and `kernel_on` are
        assert list(complaints(path.read_text())) == []


@pytest.mark.parametrize(
    "line",
    [
        "silu_mul_kernel[(rows, blocks)](x, out)",
        "kernels.store_kernel[(rows,)](x)",
        "torch.cuda.synchronize()",
        "event.record()",
        "torch.cuda.graph(graph)",
        "torch.from_numpy(x).to(device)",
        "torch.tensor([1], device=self.device)",
    ],
)
def test_that_would_be_noticed(line: str) -> None:
    assert len(list(complaints(line))) == 1


def test_a_kernel_is_launched_on_the_device_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    current: list[torch.device] = []

    @contextmanager
    def on_device(device: torch.device) -> Iterator[None]:
        current.append(device)
        yield
        current.pop()

    class Kernel:
        def __getitem__(self, grid: tuple[int, ...]) -> object:
            return lambda *args, **options: launches.append((grid, args, options, current[-1]))

    launches: list[object] = []
    monkeypatch.setattr(launch, "on_device", on_device)
    second = torch.device("cuda", 1)
    launch.kernel_on(second, Kernel())[(3,)]("x", BLOCK=4)
    assert launches == [((3,), ("x",), {"BLOCK": 4}, second)] and not current


def test_a_device_that_computes_is_not_lost() -> None:
    devices.check_device(torch.device("cpu"))


def test_a_device_that_cannot_is_lost_and_one_without_memory_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(torch, "ones", fail)
    error: Exception = torch.OutOfMemoryError("CUDA out of memory")
    devices.check_device(torch.device("cpu"))
    error = RuntimeError("CUDA error: an illegal memory access was encountered\nCompile with ...")
    with pytest.raises(
        DeviceLostError, match=r"cpu computes no more: CUDA error: an illegal .* encountered$"
    ):
        devices.check_device(torch.device("cpu"))


def test_cuda_where_there_is_none_is_a_wrong_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("cuda", "cuda:1"):
        with pytest.raises(OptionsError, match=f"device {device}, but PyTorch sees no CUDA device here"):
            devices.select_device(device)
    assert devices.select_device("auto") == torch.device("cpu")


@pytest.mark.parametrize("device", ["gpu", "", "mps", "cuda:x", "meta", None, True, -1, 1.0])
def test_a_device_that_there_is_not_is_a_wrong_option(device: object) -> None:
    with pytest.raises(OptionsError, match=r"there is no device .*, only 'auto', 'cpu', "):
        devices.select_device(device)


def test_a_number_is_that_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for device in (1, "cuda:1", torch.device("cuda:1")):
        assert devices.select_device(device) == torch.device("cuda:1")
    with pytest.raises(OptionsError, match="device cuda:2, but PyTorch sees 2 CUDA devices here"):
        devices.select_device("cuda:2")
