"""Where a tensor lies, as the memory engine of Hopper (TMA) wants to be told.

The engine brings boxes of a tensor to shared memory and back. A box's rows of 128 or 64 bytes lie there so
that tensor cores read them without conflicts ("swizzled"). What a box has outside the tensor is zero, and is
not written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from torch import Tensor

from engine.device.bindings import driver

TENSOR_MAP_BYTES, TENSOR_MAP_ALIGNMENT = 128, 64


class TensorMap:
    """Boxes of a bf16 tensor.

    Args:
        tensor: whose memory it is; the caller keeps that. Contiguous in its last dimension.
        shape, strides: of what the engine sees from `offset` on, in elements, the innermost dimension first.
            Its stride is 1 and not among `strides`, which are multiples of 8.
        box: the shape of a box, likewise.
        swizzled: the bytes of a box's rows, 128 or 64, or 0 for rows one behind the other.

    Raises RuntimeError where CUDA refuses them.
    """

    def __init__(
        self,
        tensor: Tensor,
        shape: Sequence[int],
        strides: Sequence[int],
        box: Sequence[int],
        offset: int = 0,
        swizzled: int = 128,
    ) -> None:
        size, kinds = tensor.element_size(), driver.CUtensorMapSwizzle
        swizzle = {
            0: kinds.CU_TENSOR_MAP_SWIZZLE_NONE,
            64: kinds.CU_TENSOR_MAP_SWIZZLE_64B,
            128: kinds.CU_TENSOR_MAP_SWIZZLE_128B,
        }[swizzled]
        error, made = driver.cuTensorMapEncodeTiled(
            driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            len(shape),
            tensor.data_ptr() + offset * size,
            [driver.cuuint64_t(length) for length in shape],
            [driver.cuuint64_t(stride * size) for stride in strides],
            [driver.cuuint32_t(length) for length in box],
            [driver.cuuint32_t(1)] * len(shape),
            driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
        if error != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"no tensor map of {tuple(shape)} in boxes of {tuple(box)}: {error.name}")
        self._memory = (ctypes.c_char * (TENSOR_MAP_BYTES + TENSOR_MAP_ALIGNMENT))()
        address = ctypes.addressof(self._memory)
        self.address = address + -address % TENSOR_MAP_ALIGNMENT
        ctypes.memmove(self.address, int(made.getPtr()), TENSOR_MAP_BYTES)
