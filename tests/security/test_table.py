"""README.md beside this file says which tests hold which promise; this holds it to the tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROW = re.compile(r"^\| (S\d+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
TEST = re.compile(r"`([\w/.]+\.py)::(\w+)`")
TABLE = {
    number: TEST.findall(tests)
    for number, _, tests in ROW.findall((HERE / "README.md").read_text(encoding="utf-8"))
}


def numbers_in(docstring: str | None) -> set[str]:
    return set(re.findall(r"\bS\d+\b", docstring or ""))


def numbers_of(path: Path) -> dict[str, set[str]]:
    """Name of each test of a file, and the numbers that it or the file names."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    of_file = numbers_in(ast.get_docstring(module))
    functions = (node for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {node.name: of_file | numbers_in(ast.get_docstring(node)) for node in functions}


def test_every_number_has_a_row() -> None:
    assert list(TABLE) == [f"S{number}" for number in range(1, 30)]


@pytest.mark.parametrize("number", TABLE)
def test_every_test_exists_and_names_its_number(number: str) -> None:
    assert TABLE[number]
    for file, name in TABLE[number]:
        numbers = numbers_of(ROOT / file).get(name)
        assert numbers is not None, f"{file} has no {name}"
        assert name.startswith("test_") and number in numbers, f"{file}::{name} does not name {number}"


def test_every_number_that_a_file_here_names_is_in_the_table_with_it() -> None:
    for path in sorted(HERE.rglob("test_*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        for number in numbers_in(docstring):
            files = {file for file, _ in TABLE[number]}
            assert str(path.relative_to(ROOT)) in files, f"{path.name} names {number}, its row another file"


def test_every_file_here_is_of_a_promise() -> None:
    named = {Path(file).name for tests in TABLE.values() for file, _ in tests}
    here = {path.name for path in HERE.rglob("test_*.py")} - {Path(__file__).name}
    assert here == here & named
