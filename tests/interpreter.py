"""Triton's interpreter, without what it does over and over: kernels run ten times as fast.

It patches `triton.language` member by member at every launch and at every call of a device function, makes
the type of every tensor anew, asks for every operator which types it may have and what comes of them, writes
operands out to their common shape, which NumPy does by itself, and looks for overflows that it does not tell
of. What is computed is the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any, ClassVar

import numpy as np
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

_patch = interpreter._patch_lang
_get_np_dtype = interpreter._get_np_dtype
_init_block_type = tl.block_type.__init__
_check_operands = TritonSemantic.binary_op_type_checking_impl
_broadcast = TritonSemantic.broadcast_impl_value
_scalar_constant = TritonSemantic.scalar_constant
_index = tl.tensor.__getitem__
_unwrap = tl.core._unwrap_if_constexpr
_equal_types = tl.dtype.__eq__

Change = tuple[object, str, object, object]
_known: dict[tuple[int, ...], list[Change]] = {}
"""What a launch changes: where, which name, from what, to what; by the modules that its kernel sees."""
_patched: list[int] = []
"""The modules that are patched now. Nothing is launched inside a launch."""
_left_behind: set[int] = set()
"""Those that device functions have patched, which nobody restores."""
_block_types: dict[tuple[Any, ...], dict[str, Any]] = {}
_numpy_types: dict[str, Any] = {}


@functools.cache
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
        _known[modules] = [(owner, name, old, _direct(vars(owner)[name])) for owner, name, old in changes]
    for owner, name, old, new in _known[modules]:
        setattr(owner, name, new)
        scope._changes.append((owner, name, old))
    _patched.extend(modules)
    return scope


def _direct(new: Any) -> Any:
    """The same member of `triton.language`, called without looking through its arguments."""
    member = (getattr(new, "__kwdefaults__", None) or {}).get("member")
    if member is None:
        return new
    function = getattr(member, "__wrapped__", member)

    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs["_semantic"] = interpreter.interpreter_semantic
        return function(*args, **kwargs)

    return call


def _call_device_function(function: Any, *args: Any, **kwargs: Any) -> Any:
    modules = set(_modules(function.fn))
    if not _patched or not modules <= {*_patched, *_left_behind}:
        for owner, name, _ in _patch(function.fn)._changes:
            setattr(owner, name, _direct(vars(owner)[name]))
        _left_behind.update(modules - {id(tl), *_patched})
    try:
        return function.rewrite()(*args, **kwargs)
    except Exception as error:
        raise interpreter.InterpreterError(repr(error)) from error


def _name_of(element: tl.dtype) -> Any:
    """Of pointers with their address space."""
    return element.name if element.__class__ is tl.dtype else (element.name, element.address_space)


def _make_block_type(self: tl.block_type, element: tl.dtype, shape: Any) -> None:
    lengths = tuple([length.value if length.__class__ is tl.constexpr else length for length in shape])
    key = (_name_of(element), lengths)
    if key not in _block_types:
        _init_block_type(self, element, shape)
        constants = [tl.constexpr(length) for length in lengths]
        of_tensors = tl.constexpr(self.numel), tl.tuple(constants)
        _block_types[key] = {**vars(self), "of_tensors": of_tensors, "lengths": lengths, "alike": {}}
    self.__dict__ = _block_types[key]  # which nobody changes


def _with_element(self: tl.block_type, element: tl.dtype) -> tl.block_type:
    """The block type of that element, and of the same shape."""
    if element is self.element_ty:
        return self
    key = _name_of(element)
    if key not in self.alike:
        self.alike[key] = tl.block_type(element, self.shape)
    return self.alike[key]


def _numpy_type(type: tl.dtype) -> Any:
    if type.name not in _numpy_types:
        _numpy_types[type.name] = _get_np_dtype(type)
    return _numpy_types[type.name]


_SCALAR = tl.constexpr(1), tl.tuple([])


def _make_tensor(self: tl.tensor, handle: Any, type: tl.dtype) -> None:
    self.handle, self.type, self.dtype = handle, type, type.scalar
    self.numel, self.shape = type.of_tensors if type.is_block() else _SCALAR


def _make_handle(self: interpreter.TensorHandle, data: np.ndarray, dtype: tl.dtype, attr: Any = None) -> None:
    if data.itemsize > 1 and dtype.__class__ is tl.dtype and data.itemsize > dtype.itemsize:
        raise ValueError(f"{data.dtype} does not fit into {dtype}")
    self.data, self.dtype, self.attr = data, dtype, {} if attr is None else attr


_types: dict[tuple[Any, ...], tl.block_type] = {}
_constants: dict[tuple[Any, ...], tl.tensor] = {}


def _operands(semantic: TritonSemantic, lhs: Any, rhs: Any, *flags: bool, **named: bool) -> Any:
    """In place of `binary_op_type_checking_impl`, whose answer depends on no element of a tensor."""
    left, right = _Rule.of(lhs, rhs, flags, named).operands(semantic, lhs, rhs)
    common = _common_type(left, right)
    return tuple(
        one
        if one.type.lengths == common.lengths
        else tl.tensor(one.handle, common.with_element_ty(one.dtype))
        for one in (left, right)
    )


@dataclass(frozen=True, slots=True)
class _Rule:
    """Of each operand: the constant that it becomes, or None, and the type that it is cast to, or None."""

    left: tl.tensor | None
    left_type: tl.dtype | None
    right: tl.tensor | None
    right_type: tl.dtype | None
    dtype: tl.dtype | None
    """Of both, when they are of one type and no pointers."""

    _known: ClassVar[dict[tuple[Any, ...], _Rule]] = {}

    @classmethod
    def of(cls, lhs: Any, rhs: Any, flags: tuple[bool, ...], named: dict[str, bool]) -> _Rule:
        key = (_kind(lhs), _kind(rhs), flags, *named.items())
        if key not in cls._known:
            given = [value if isinstance(value, Number) else _empty(value.dtype) for value in (lhs, rhs)]
            found = _check_operands(interpreter.interpreter_semantic, *given, *flags, **named)
            (left, left_type), (right, right_type) = map(_change, given, found)
            dtype, other = (one.dtype for one in found)
            alike = dtype.__class__ is tl.dtype and dtype.name == other.name
            cls._known[key] = cls(left, left_type, right, right_type, dtype if alike else None)
        return cls._known[key]

    def operands(self, semantic: TritonSemantic, lhs: Any, rhs: Any) -> tuple[tl.tensor, tl.tensor]:
        left, right = self.left, self.right
        if left is None:
            left = lhs if self.left_type is None else semantic.cast(lhs, self.left_type)
        if right is None:
            right = rhs if self.right_type is None else semantic.cast(rhs, self.right_type)
        return left, right


def _kind(value: Any) -> Any:
    return value.dtype.name if value.__class__ is tl.tensor else (value.__class__, value)


def _empty(dtype: tl.dtype) -> tl.tensor:
    return tl.tensor(interpreter.TensorHandle(np.zeros(1, _numpy_type(dtype)), dtype), dtype)


def _change(before: Any, after: tl.tensor) -> tuple[tl.tensor | None, tl.dtype | None]:
    if isinstance(before, Number):
        return after, None
    return None, None if after.dtype == before.dtype else after.dtype


def _common_type(left: tl.tensor, right: tl.tensor) -> tl.dtype:
    """Of their common shape, with the left one's elements; the elements themselves are left to NumPy."""
    of, other = left.type, right.type
    if of.lengths == other.lengths or not other.lengths:
        return of
    key = of.lengths, other.lengths, _name_of(left.dtype)
    if key not in _types:
        if of.lengths:
            _types[key] = _broadcast(interpreter.interpreter_semantic, left, right)[0].type
        else:
            _types[key] = other.with_element_ty(left.dtype)
    return _types[key]


def _written_out(semantic: TritonSemantic, lhs: tl.tensor, rhs: tl.tensor) -> tuple[tl.tensor, tl.tensor]:
    """In place of `broadcast_impl_value`, which compares shapes element by element."""
    if lhs.type.lengths == rhs.type.lengths:
        return lhs, rhs
    return _broadcast(semantic, lhs, rhs)


def _constant(semantic: TritonSemantic, value: Any, dtype: tl.dtype) -> tl.tensor:
    if type(value) not in (int, float, bool):
        return _scalar_constant(semantic, value, dtype)
    key = type(value), value, dtype.name
    if key not in _constants:
        _constants[key] = _scalar_constant(semantic, value, dtype)
    return _constants[key]


def _with_axes(self: tl.tensor, slices: Any) -> tl.tensor:
    """In place of `tensor.__getitem__`, which can add axes and nothing else, one after the other."""
    whole = isinstance(slices, tuple) and all(
        each is None or (isinstance(each, slice) and each == slice(None)) for each in slices
    )
    if not whole or not self.type.lengths:
        return _index(self, slices, _semantic=interpreter.interpreter_semantic)
    data = self.handle.data[slices]
    return tl.tensor(interpreter.TensorHandle(data, self.dtype), tl.block_type(self.dtype, list(data.shape)))


_PLAIN = frozenset((tl.tensor, tl.dtype, tl.block_type, int, float, bool, type(None)))


def _value(given: Any) -> Any:
    """In place of `_unwrap_if_constexpr`, which asks for everything else first."""
    kind = given.__class__
    if kind in _PLAIN:
        return given
    return given.value if kind is tl.constexpr else _unwrap(given)


def _is_same_type(self: tl.dtype, other: Any) -> bool:
    return self is other or _equal_types(self, other)


def _quick(of_semantic: str, function: np.ufunc, compares: bool, *flags: bool) -> Callable[..., tl.tensor]:
    """An operator of `TritonSemantic`: NumPy's, unless it is one of pointers."""
    whole, bits = getattr(TritonSemantic, of_semantic), of_semantic.endswith("_")
    rules: dict[tuple[Any, Any], _Rule] = {}

    def operator(semantic: TritonSemantic, lhs: Any, rhs: Any, *more: Any, **named: Any) -> tl.tensor:
        key = _kind(lhs), _kind(rhs)
        rule = rules.get(key) or rules.setdefault(key, _Rule.of(lhs, rhs, flags, {}))
        dtype = rule.dtype
        if dtype is None or (bits and dtype.is_floating()):
            return whole(semantic, lhs, rhs, *more, **named)
        left, right = rule.operands(semantic, lhs, rhs)
        of = _common_type(left, right)
        handle = interpreter.TensorHandle(function(left.handle.data, right.handle.data), dtype)
        return tl.tensor(handle, of.with_element_ty(tl.int1) if compares else of)

    return operator


def _of_tensors(name: str, turned: bool = False) -> Callable[..., tl.tensor]:
    function = getattr(TritonSemantic, name)

    def operator(self: tl.tensor, other: Any) -> tl.tensor:
        operands = (_value(other), self) if turned else (self, _value(other))
        return function(interpreter.interpreter_semantic, *operands, True)

    return operator


_OPERATORS = [  # with what `TritonSemantic` lets its operands be
    ("add", np.add, False, True, True),
    ("sub", np.subtract, False, True, False),
    ("mul", np.multiply, False),
    ("and_", np.bitwise_and, False),
    ("or_", np.bitwise_or, False),
    ("less_than", np.less, True),
    ("less_equal", np.less_equal, True),
    ("greater_than", np.greater, True),
    ("greater_equal", np.greater_equal, True),
    ("equal", np.equal, True),
]


def hasten() -> None:
    """From now on, in this process."""
    interpreter._patch_lang = _patch_for_launch
    interpreter.InterpretedFunction.__call__ = _call_device_function
    interpreter._get_np_dtype = _numpy_type
    interpreter.TensorHandle.__init__ = _make_handle
    tl.dtype.lengths = ()
    tl.block_type.__init__ = _make_block_type
    tl.block_type.with_element_ty = _with_element
    tl.tensor.__init__ = _make_tensor
    tl.tensor.__getitem__ = _with_axes
    tl.dtype.__eq__ = _is_same_type
    for name, *how in _OPERATORS:
        setattr(TritonSemantic, name, _quick(name, *how))
    for name in ("add", "sub", "mul"):
        setattr(tl.tensor, f"__{name}__", _of_tensors(name))
        setattr(tl.tensor, f"__r{name}__", _of_tensors(name, turned=True))
    tl.core._unwrap_if_constexpr = _value
    TritonSemantic.binary_op_type_checking_impl = _operands
    TritonSemantic.broadcast_impl_value = _written_out
    TritonSemantic.scalar_constant = _constant
    options = interpreter.interpreter_builder.options  # an overflow is told with `debug` only
    interpreter.interpreter_builder.options = replace(options, sanitize_overflow=options.debug)
