"""Machine code is compiled once, read back only where nobody else could have written it, and launched."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
import torch

from engine.kernels import launch
from engine.kernels.hopper import kept as module
from engine.kernels.hopper import program
from engine.kernels.hopper.kept import kept


class Compiler:
    def __init__(self) -> None:
        self.runs = 0

    def __call__(self) -> bytes:
        self.runs += 1
        return b"\x7fELF" + bytes(1000)


@pytest.fixture
def compiler() -> Compiler:
    return Compiler()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    return tmp_path / "triton" / "voxfleet"


def test_what_was_compiled_is_not_compiled_again(folder: Path, compiler: Compiler) -> None:
    made = [kept("source", compiler) for _ in range(3)]
    assert made == [compiler()] * 3 and compiler.runs == 2
    assert folder.stat().st_mode & 0o777 == 0o700
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_another_source_has_its_own_code(folder: Path) -> None:
    assert [kept(key, key.encode) for key in ("first", "second", "first")] == [b"first", b"second", b"first"]


@pytest.mark.parametrize("damage", ["cut", "empty", "changed", "of another", "written by others"])
def test_a_file_that_is_not_as_it_was_written_is_compiled_anew(
    damage: str, folder: Path, compiler: Compiler
) -> None:
    image = kept("source", compiler)
    (file,) = folder.iterdir()
    content = file.read_bytes()
    if damage == "of another":
        kept("another", lambda: b"code")
        (other,) = set(folder.iterdir()) - {file}
        content = other.read_bytes()
    elif damage == "written by others":
        file.chmod(0o620)
    else:
        content = {"cut": content[:-1], "empty": b"", "changed": content[:-1] + b"x"}[damage]
    file.write_bytes(content)
    assert kept("source", compiler) == image and compiler.runs == 2
    assert kept("source", compiler) == image and compiler.runs == 2
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_nothing_is_read_or_kept_where_others_may_write(mode: int, folder: Path, compiler: Compiler) -> None:
    kept("source", compiler)
    folder.chmod(mode)
    assert kept("source", compiler) == kept("another", compiler)
    assert compiler.runs == 3 and len(list(folder.iterdir())) == 1


def test_a_folder_or_a_file_of_another_user_is_not_read(
    folder: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept("source", compiler)
    monkeypatch.setattr(module.os, "geteuid", lambda: os.getuid() + 1)
    assert kept("source", compiler) and compiler.runs == 2


def test_a_link_that_somebody_put_there_is_not_followed(
    folder: Path, compiler: Compiler, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(0o700)
    folder.parent.mkdir()
    folder.symlink_to(elsewhere)
    assert kept("source", compiler) and list(elsewhere.iterdir()) == []


def test_a_disk_that_keeps_nothing_costs_only_time(
    folder: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mock.patch.object(module.os, "replace", side_effect=OSError("no space left")):
        assert kept("source", compiler) and compiler.runs == 1
    assert list(folder.iterdir()) == []
    monkeypatch.setenv("TRITON_CACHE_DIR", str(Path("/dev/null/cache")))
    assert kept("source", compiler) and compiler.runs == 2


def test_what_does_not_compile_is_not_kept(folder: Path) -> None:
    with pytest.raises(RuntimeError, match="words"):
        kept("source", mock.Mock(side_effect=RuntimeError("the compiler's words")))
    assert list(folder.iterdir()) == []


def test_code_depends_on_source_options_and_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = mock.Mock(side_effect=lambda *about: repr(about).encode())
    monkeypatch.setattr(program, "compiled", compiled)
    for version in ((13, 0), (13, 5)):
        monkeypatch.setattr(program, "nvrtc", SimpleNamespace(nvrtcVersion=lambda of=version: (0, *of)))
        for _ in range(2):
            for about in (("one", ()), ("two", ()), ("one", ("--maxrregcount=168",))):
                assert program.compiled_once(*about) == repr(about).encode()
    assert compiled.call_count == 6


def test_a_context_is_current_before_code_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = mock.Mock()
    for call in (calls.cudaSetDevice, calls.cuFuncSetAttribute):
        call.return_value = (0,)
    calls.cuModuleLoadData.return_value = calls.cuModuleGetFunction.return_value = (0, 7)
    monkeypatch.setattr(program, "driver", calls)
    monkeypatch.setattr(program, "runtime", calls)
    monkeypatch.setattr(program, "compiled_once", lambda source, options: b"code")
    monkeypatch.setattr(program, "on_device", calls.on_device)
    calls.on_device.return_value = nullcontext()
    device = torch.device("cuda", 1)
    program.Program("source", "name", device, 288, 1024, 168)
    assert calls.mock_calls[:3] == [
        mock.call.on_device(device),
        mock.call.cudaSetDevice(1),
        mock.call.cuModuleLoadData(b"code"),
    ]


@pytest.mark.parametrize("early", [False, True])
def test_the_kernel_is_launched_as_early_as_all_others(early: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Benchmarks compare with launches that wait, by the same rule."""
    attribute = SimpleNamespace(value=SimpleNamespace())
    driver = mock.Mock(CUlaunchAttribute=lambda: attribute, cuLaunchKernelEx=mock.Mock(return_value=(0,)))
    monkeypatch.setattr(program, "driver", driver)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=7))
    monkeypatch.setattr(launch, "pdl", lambda device: early)
    kernel = program.Program.__new__(program.Program)
    kernel._threads, kernel._shared_bytes, kernel._kernel = 288, 1024, object()
    kernel.launch(132, [1], torch.device("cpu"))
    assert attribute.value.programmaticStreamSerializationAllowed == int(early)
    driver.cuLaunchKernelEx.assert_called_once()
