"""Files of tensors that somebody sent: what has to be known of one before PyTorch or safetensors reads it.

`torch.load(weights_only=True)` runs no code, but a pickle of a few bytes has it take any amount of memory, or
hash tuples within tuples for ever, or so deep that the process dies. A head with very many tensors stops all
other threads while it is read.
"""

from __future__ import annotations

import io
import pickletools
import shutil
import struct
import zipfile
from collections.abc import Sequence
from typing import Any

from engine.errors import WeightError

MOST_HEAD_BYTES = 1 << 20
"""Bytes of the head, which has names and shapes; that of the largest adapters is a fifth of this."""
_MOST_MEMBERS = 10_000
_MEMBER = b"PK\x01\x02"
"""What the directory of a zip has before each of its files."""
_PIECE_BYTES = 1 << 20
_LENGTH = struct.Struct("<Q")
_REBUILT = frozenset(
    (
        *("collections OrderedDict", "torch._utils _rebuild_tensor_v2"),
        *("torch._utils _rebuild_parameter", "torch.nn.parameter Parameter"),
    )
)
"""What plain tensors in dictionaries are made with, beside their storages."""
_MOST_IN_A_TUPLE = 64
"""Counted with what is in the tuples in it. A tensor has a dozen, and its dimensions."""


def check_head(content: bytes) -> None:
    """Check the head of a safetensors file before it is read. Raises WeightError."""
    if len(content) >= _LENGTH.size and _LENGTH.unpack_from(content)[0] > MOST_HEAD_BYTES:
        wanted = f"PyTorch's archive nor safetensors with a head of at most {MOST_HEAD_BYTES} bytes"
        raise WeightError(f"the weights are neither {wanted}")


def checked_archive(content: bytes) -> io.BytesIO:
    """A PyTorch archive, packed again, so that PyTorch finds in it what was looked at here.

    Raises WeightError for one that unpacks to more than it is, or holds more than plain tensors, and what
    `zipfile` and `pickletools` raise for a damaged one.
    """
    if _count(content, _MEMBER) > _MOST_MEMBERS:
        raise WeightError(f"the archive of the weights holds more than {_MOST_MEMBERS} files")
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        _check_members(members, len(content))
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as again:
            for member in members:
                if member.filename.rpartition("/")[2] == "data.pkl":
                    _check_pickle(archive.read(member))
                with archive.open(member) as held, again.open(zipfile.ZipInfo(member.filename), "w") as copy:
                    shutil.copyfileobj(held, copy, _PIECE_BYTES)
    packed.seek(0)
    return packed


def _count(content: bytes, mark: bytes) -> int:
    """In pieces: other threads go on between them."""
    starts = range(0, len(content), _PIECE_BYTES)
    return sum(content.count(mark, start, start + _PIECE_BYTES + len(mark) - 1) for start in starts)


def _check_members(members: Sequence[zipfile.ZipInfo], size: int) -> None:
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise WeightError("the archive of the weights is compressed, which PyTorch's are not")
    if sum(member.file_size for member in members) > size:
        raise WeightError("the archive of the weights holds more than its size")
    if len({member.filename for member in members}) < len(members):
        raise WeightError("the archive of the weights holds two files of one name")


def _check_pickle(pickled: bytes) -> None:
    """Raises WeightError for one that does more than tell of tensors."""
    if len(pickled) > MOST_HEAD_BYTES:
        raise WeightError(f"the pickle of the weights has more than {MOST_HEAD_BYTES} bytes")
    stack = _Stack()
    for code, argument, _ in pickletools.genops(pickled):
        if code.name in ("GLOBAL", "STACK_GLOBAL", "INST") and not _is_needed(argument):
            raise _more_than_tensors()
        stack.follow(code, argument)


def _is_needed(name: str | None) -> bool:
    return name is not None and (name in _REBUILT or (name.startswith("torch ") and name.endswith("Storage")))


def _more_than_tensors() -> WeightError:
    return WeightError("the archive of the weights cannot be read: it holds more than plain tensors")


class _Stack:
    """What a pickle would put together, with the size of each object in its place."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._marks: list[int] = []
        self._memo: dict[int, int] = {}

    def follow(self, code: pickletools.OpcodeInfo, argument: Any) -> None:
        """One instruction. Raises WeightError for a tuple of too many, and IndexError, KeyError."""
        if code.name == "MARK":
            self._marks.append(len(self._sizes))
        elif code.name.endswith("PUT"):
            self._memo[argument] = self._sizes[-1]
        elif code.name.endswith("GET"):
            self._sizes.append(self._memo[argument])
        else:
            taken = self._taken(code.stack_before)
            size = 1 + sum(taken) if "TUPLE" in code.name else 1
            if size > _MOST_IN_A_TUPLE:
                raise _more_than_tensors()
            self._sizes += [size] * len(code.stack_after)

    def _taken(self, needed: Sequence[pickletools.StackObject]) -> list[int]:
        """What an instruction takes: the last ones, or those behind the last mark and some before it."""
        if pickletools.markobject in needed:
            first = self._marks.pop() - needed.index(pickletools.markobject)
        else:
            first = len(self._sizes) - len(needed)
        if first < 0:
            raise IndexError("a pickle takes more than there is")
        taken = self._sizes[first:]
        del self._sizes[first:]
        return taken
