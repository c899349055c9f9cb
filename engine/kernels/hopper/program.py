"""Sources of this room, compiled for the device by NVRTC, which PyTorch's builds for CUDA bring along."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from engine.device.bindings import driver, given, nvrtc, runtime
from engine.device.devices import on_device
from engine.kernels.hopper.kept import kept
from engine.kernels.launch import launch_options

SOURCES = Path(__file__).parent
_OPTIONS = ("--gpu-architecture=sm_90a", "-std=c++17", "-default-device")


class Program:
    """A kernel, loaded on `device`.

    Args:
        source: all of it.
        threads, shared_bytes: of a program.
        max_registers: of a thread.

    Raises RuntimeError with the compiler's words where it does not compile.
    """

    def __init__(
        self,
        source: str,
        name: str,
        device: torch.device,
        threads: int,
        shared_bytes: int,
        max_registers: int,
    ) -> None:
        self._threads, self._shared_bytes = threads, shared_bytes
        image = compiled_once(source, (f"--maxrregcount={max_registers}",))
        with on_device(device):
            given(runtime.cudaSetDevice(device.index))  # unlike PyTorch's, it makes a context current at once
            (self._module,) = given(driver.cuModuleLoadData(image))
            (self._kernel,) = given(driver.cuModuleGetFunction(self._module, name.encode()))
            limit = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            given(driver.cuFuncSetAttribute(self._kernel, limit, shared_bytes))

    def launch(self, num_programs: int, parameters: Sequence[int], device: torch.device) -> None:
        """On the current stream, as early as `engine.kernels.launch` says.

        parameters: the addresses of what the kernel takes. They are copied.
        """
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        early = launch_options(device, num_programs)["PDL"]
        attribute.value.programmaticStreamSerializationAllowed = int(early)
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = num_programs, 1, 1
        config.blockDimX, config.blockDimY, config.blockDimZ = self._threads, 1, 1
        config.sharedMemBytes = self._shared_bytes
        config.hStream = torch.cuda.current_stream(device).cuda_stream
        config.attrs, config.numAttrs = [attribute], 1
        places = (ctypes.c_void_p * len(parameters))(*parameters)
        with on_device(device):
            given(driver.cuLaunchKernelEx(config, self._kernel, ctypes.addressof(places), 0))


def with_constants(source: str, constants: Mapping[str, int]) -> str:
    return "".join(f"#define {name} {value}\n" for name, value in constants.items()) + source


def compiled_once(source: str, options: Sequence[str] = ()) -> bytes:
    """As `compiled`, from disk where an earlier start left it."""
    about = (given(nvrtc.nvrtcVersion()), torch.__version__, _OPTIONS, options, source)
    return kept(repr(about), lambda: compiled(source, options))


def compiled(source: str, options: Sequence[str] = ()) -> bytes:
    """Machine code. Raises RuntimeError with the compiler's words."""
    (program,) = given(nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], []))
    flags = [flag.encode() for flag in (*_OPTIONS, *options)]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(flags), flags)
    if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        (size,) = given(nvrtc.nvrtcGetProgramLogSize(program))
        log = b" " * size
        given(nvrtc.nvrtcGetProgramLog(program, log))
        raise RuntimeError(f"a kernel does not compile: {_text(log)}")
    (size,) = given(nvrtc.nvrtcGetCUBINSize(program))
    image = b" " * size
    given(nvrtc.nvrtcGetCUBIN(program, image))
    given(nvrtc.nvrtcDestroyProgram(program))
    return image


def _text(log: bytes) -> str:
    """Of a text that C ends with a zero."""
    return log.rstrip(b"\0").decode(errors="replace").strip()
