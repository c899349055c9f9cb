"""S10, S11: what would run foreign code is not written anywhere: unpickling, evaluating, markup from text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = [
    path
    for room in (
        *(
            "engine",
            "models",
            "sockets",
            "telemetry",
            "worker",
            "gateway",
            "voxfleet",
            "scripts",
            "benchmarks",
        ),
    )
    for path in sorted((ROOT / room).rglob("*.py"))
]
PAGES = sorted((ROOT / "frontend").rglob("*.html"))
SCRIPTS = sorted((ROOT / "frontend" / "static" / "js").rglob("*.js"))
FORBIDDEN = {
    "eval", "exec", "compile", "pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load",
    "marshal.loads", "shelve.open", "yaml.load", "yaml.unsafe_load", "yaml.full_load", "os.system",
    "os.popen", "joblib.load",
}  # fmt: skip
MARKUP = re.compile(
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write(ln)?|createContextualFragment|setHTMLUnsafe"
    r"|srcdoc|parseFromString)\b|\beval\(|\bnew Function\b|\bset(Timeout|Interval)\(\s*[\"'`]|javascript:"
)


def calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def dangers(source: str) -> list[str]:
    """What in a source could run code that somebody else wrote."""
    found = []
    for name, call in calls(source):
        options = {option.arg: ast.unparse(option.value) for option in call.keywords}
        if name in FORBIDDEN:
            found.append(name)
        if name == "torch.load" and options.get("weights_only") != "True":
            found.append("torch.load without weights_only")
        if (
            options.get("allow_pickle", "False") != "False"
            or options.get("trust_remote_code", "False") != "False"
        ):
            found.append(f"{name} with foreign code")
        if options.get("shell", "False") != "False":
            found.append(f"{name} with a shell")
    return found


def test_no_source_runs_what_it_reads() -> None:
    assert len(SOURCES) > 200
    found = {str(path.relative_to(ROOT)): dangers(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize(
    "source",
    [
        "torch.load(path)", "torch.load(path, weights_only=False)", "pickle.loads(data)", "eval(text)",
        "np.load(path, allow_pickle=True)", "subprocess.run(line, shell=True)", "yaml.load(text)",
        "AutoModel.from_pretrained(name, trust_remote_code=True)",
    ],
)  # fmt: skip
def test_it_would_be_found(source: str) -> None:
    assert dangers(source)


def test_pages_make_no_markup_of_text() -> None:
    assert len(SCRIPTS) > 50
    found = {path.name: each[0] for path in SCRIPTS if (each := MARKUP.search(path.read_text("utf-8")))}
    assert found == {"sprite.js": "parseFromString"}, "which parses a file of ours, the icons"


def test_pages_have_no_script_in_them() -> None:
    """Their Content-Security-Policy allows none: what an attacker gets into a page does not run."""
    assert len(PAGES) >= 5
    for page in PAGES:
        markup = page.read_text(encoding="utf-8")
        assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>\s*\S", markup), page.name
        assert not re.search(r"<[^>]+\son\w+\s*=", markup), page.name
        assert not re.search(r"""(?:src|href)\s*=\s*["'](?:https?:)?//""", markup), page.name
        assert "<base" not in markup and "<iframe" not in markup


@pytest.mark.parametrize(
    "script", ["a.innerHTML = text", "eval(text)", 'setTimeout("x()")', "new Function(x)"]
)
def test_they_would_be_found(script: str) -> None:
    assert MARKUP.search(script)
