"""Under which keys Triton caches the kernels of the product, each met first and each met after all others.

    python -m tests.engine.kernels.compiling.order_keys

A line of JSON: how many functions there are, and the names of those with more than one key. The interpreter
has to be off (TRITON_INTERPRET unset), hence a program of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import import_module

from triton.runtime.jit import JITFunction

from tests.engine.compiler import ROOT


def all_functions() -> dict[str, JITFunction]:
    functions = {}
    for file in [*ROOT.glob("engine/**/*.py"), *ROOT.glob("models/**/*.py")]:
        if "@triton.jit" in file.read_text():
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            values = vars(import_module(module)).values()
            found = {value for value in values if isinstance(value, JITFunction)}
            functions |= {f"{value.module}.{value.__name__}": value for value in found}
    return functions


def keys(functions: dict[str, JITFunction], names: Iterable[str]) -> dict[str, str]:
    """In this order, in a process that has met none of them."""
    for function in functions.values():
        function.hash, function.used_global_vals = None, {}
    return {name: functions[name].cache_key for name in names}


def main() -> None:
    functions = all_functions()
    orders = [sorted(functions), sorted(functions, reverse=True)]
    seen = [keys(functions, names) for names in orders]
    seen.append({name: keys(functions, [name])[name] for name in functions})
    several = [name for name in functions if len({one[name] for one in seen}) > 1]
    print(json.dumps({"functions": len(functions), "several": several}))


if __name__ == "__main__":
    main()
