"""The documents stay true: every setting stands in docs/settings.md, every path and link they name exists."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from gateway.app import create_app
from gateway.live.messages import Start
from gateway.requests import ClipRequest
from gateway.settings import GatewaySettings
from tests.security.access.route_table import routes_of
from voxfleet.cli import app
from voxfleet.fleet.file import WorkersSection
from voxfleet.settings import ServeSettings
from worker.settings import WorkerSettings

ROOT = Path(__file__).parent.parent
API = (ROOT / "docs" / "api.md").read_text()
SETTINGS = (ROOT / "docs" / "settings.md").read_text()
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
PACKAGES = ["engine", "gateway", "models", "sockets", "telemetry", "voxfleet", "worker"]
DOCUMENTS += ["tests/security/README.md", *sorted(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")
PATH = re.compile(
    r"`((?:engine|models|worker|gateway|voxfleet|frontend|tests|benchmarks|configs|scripts|deploy)/[\w/.-]*)`"
)


def literals(node: ast.AST, sort: type) -> set:
    """The constants of that very type that stand in an expression."""
    found = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    return {value for value in found if type(value) is sort}


def codes_raised() -> dict[str, set[int]]:
    """The codes in the gateway's sources, with their statuses, but for those in other services' shapes."""
    statuses: dict[str, set[int]] = defaultdict(set)
    for path in (ROOT / "gateway").rglob("*.py"):
        if "protocols" in path.parts and path.parent.name not in ("protocols", "openai"):
            continue
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        for call in calls:
            name = ast.unparse(call.func)
            if name == "ApiError" and not isinstance(call.args[1], ast.JoinedStr):
                for code in literals(call.args[1], str):
                    statuses[code] |= literals(call.args[0], int)
            elif name in ("FieldError", "Refusal"):
                code = call.args[1 if name == "FieldError" else 0]
                for each in literals(code, str):
                    statuses[each].add(422)
    return {code: those for code, those in statuses.items() if those}


def codes_told() -> dict[str, set[int]]:
    """Those of docs/errors.md."""
    rows = re.findall(r"^\| (`.+`) \| ([\d, ]+) \| ", (ROOT / "docs" / "errors.md").read_text(), re.MULTILINE)
    told = [(code, statuses) for codes, statuses in rows for code in re.findall(r"`(\w+)`", codes)]
    assert len(told) == len(dict(told)), "a code stands in two rows"
    return {code: {int(status) for status in statuses.split(", ")} for code, statuses in told}


def test_every_code_of_an_error_is_explained_with_its_statuses() -> None:
    raised, told = codes_raised(), codes_told()
    assert len(raised) > 100
    assert {code: those for code, those in raised.items() if told.get(code) != those} == {}


def test_every_code_that_is_explained_is_one_of_the_service() -> None:
    composed = re.compile(
        r"(unknown|too_many)_(voice|adapter)s?|too_many_(jobs|books|trainings)|job_state|\w+s_unavailable"
    )
    sources = "".join(path.read_text() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    told = [code for code in codes_told() if not composed.fullmatch(code)]
    assert [code for code in told if f'"{code}"' not in sources] == []


@pytest.mark.parametrize("settings", [ServeSettings, GatewaySettings, WorkerSettings])
def test_every_setting_has_a_row_in_the_table(settings: type) -> None:
    prefix = settings.model_config["env_prefix"]
    missing = [
        name for name in settings.model_fields if f"| `{name}` | `{prefix}{name.upper()}` |" not in SETTINGS
    ]
    assert missing == []


def as_written(default: Any) -> set[str]:
    """How the table may write a default."""
    if default in (None, "") or (isinstance(default, list | dict) and not default):
        return {"–", "none"}
    if isinstance(default, Path):
        return {f"{default.name}/"}
    if isinstance(default, bool):
        return {str(default), str(default).lower()}
    if isinstance(default, tuple):
        return {",".join(default)}
    if isinstance(default, int | float):
        sizes = {f"{default / unit:g} {name}" for name, unit in (("MiB", 2**20), ("GiB", 2**30))}
        return {str(default), f"{default:g}"} | sizes
    return {str(default)}


@pytest.mark.parametrize("settings", [ServeSettings, GatewaySettings, WorkerSettings])
def test_every_default_in_the_table_is_that_of_the_code(settings: type) -> None:
    section = settings.__name__.removesuffix("Settings").lower()
    rows = re.findall(rf"^\| {section} \| `(\w+)` \| `\w+` \| (.*?) \|", SETTINGS, re.MULTILINE)
    told = dict(rows)
    assert len(told) == len(rows) == len(settings.model_fields)
    wrong = {
        name: told.get(name)
        for name, field in settings.model_fields.items()
        if name != "worker_networks"
        and told.get(name) not in as_written(field.get_default(call_default_factory=True))
    }
    assert wrong == {}


def test_every_default_that_a_document_names_behind_a_setting_is_that_of_the_code() -> None:
    """As in `max_jobs` (1000) and `max_document_bytes` (50 MiB)."""
    units = {"": 1, " MiB": 2**20, " s": 1, " ms": 1e-3}
    named = re.compile(rf"`(\w+)` \(([\d,.]+)({'|'.join(filter(None, units))}|)\)")
    defaults: dict[str, set[Any]] = defaultdict(set)
    for settings in (ServeSettings, GatewaySettings, WorkerSettings, WorkersSection):
        for name, field in settings.model_fields.items():
            defaults[name].add(field.default)
    told = [
        (document, name, float(number.replace(",", "")) * units[unit])
        for document in DOCUMENTS
        for name, number, unit in named.findall((ROOT / document).read_text())
        if any(isinstance(default, int | float) for default in defaults.get(name, ()))
    ]
    assert len(told) > 20
    assert [each for each in told if each[2] not in defaults[each[1]]] == []


def test_every_field_of_a_clip_is_in_the_table_of_fields() -> None:
    rows = API.partition("\n## A clip")[2].partition("\n### ")[0]
    cells = "".join(re.findall(r"^\| (`.*?) \|", rows, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", cells)) - {"input"} == set(ClipRequest.model_fields)


def test_every_field_of_a_live_session_is_told() -> None:
    sentence = API.partition('The first message is `{"type":"start"}`')[2].partition(". ")[0]
    assert {"type", *re.findall(r"`(\w+)`", sentence)} == set(Start.model_fields)


def test_every_route_of_the_service_is_in_a_document(tmp_path: Path) -> None:
    """By its whole path or, behind three dots, by its end."""
    documents = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    gateway = create_app(GatewaySettings(data_dir=tmp_path, worker_urls=["http://localhost:1"]))
    paths = {path for method, path in routes_of(gateway.routes) if method != "MOUNT"}

    def is_told(path: str) -> bool:
        whole = re.sub(r"\\{\w+(:path)?\\}", lambda _: r"(?:\{\w+\}|[\w.]+)", re.escape(path))
        end = re.escape(path.rpartition("}")[2] or path)
        return re.search(rf"{whole}(?![\w/{{])|\.\.\.{end}`", documents) is not None

    assert len(paths) > 80
    assert [path for path in sorted(paths) if not is_told(path)] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_a_document_names_exists(document: str) -> None:
    named = PATH.findall((ROOT / document).read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("folder", [*PACKAGES, "benchmarks", "frontend", "tests"])
def test_every_source_that_another_one_names_exists(folder: str) -> None:
    named = re.compile(
        rf"(?<![\w./-])(?:{'|'.join([*PACKAGES, 'benchmarks', 'frontend', 'tests'])})/[\w/.-]+\.(?:py|js)\b"
    )
    sources = [path for kind in ("py", "js", "mjs") for path in (ROOT / folder).rglob(f"*.{kind}")]
    sources = [path for path in sources if "node_modules" not in path.parts]
    assert sources
    told = {(path.name, name) for path in sources for name in named.findall(path.read_text())}
    assert [name for name in sorted(told) if not (ROOT / name[1]).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_of_a_document_leads_somewhere(document: str) -> None:
    path = ROOT / document
    assert [link for link in LINK.findall(path.read_text()) if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_lists_its_files(package: str) -> None:
    unlisted = []
    for room in (ROOT / package).rglob("__init__.py"):
        inside = [path.stem for path in room.parent.glob("*.py") if path != room]
        inside += [path.parent.name for path in room.parent.glob("*/__init__.py")]
        listed = set(re.findall(r"\w+", room.read_text()))
        # Those of the gateway itself stand in ARCHITECTURE.md.
        rooms = (ROOT / "ARCHITECTURE.md").read_text() if room.parent == ROOT / "gateway" else ""
        unlisted += [
            str(room.parent.relative_to(ROOT) / name)
            for name in inside
            if name not in listed and f"`gateway/{name}/`" not in rooms
        ]
    assert unlisted == []


@pytest.mark.parametrize("package", [*PACKAGES, "benchmarks"])
def test_every_file_that_a_room_lists_is_there(package: str) -> None:
    gone = [
        f"{room.parent.relative_to(ROOT)}/{name}"
        for room in (ROOT / package).rglob("__init__.py")
        for name in re.findall(r"^(?:\* `)?(\w+\.py)", room.read_text(), re.MULTILINE)
        if not (room.parent / name).exists()
    ]
    assert gone == []


def test_extras_are_installed_by_a_command_that_finds_them() -> None:
    """No package index has VoxFleet, so none of `pip install 'voxfleet[...]'`."""
    texts = [ROOT / document for document in DOCUMENTS if document != "CHANGELOG.md"]
    texts += [path for package in (*PACKAGES, "benchmarks") for path in (ROOT / package).rglob("*.py")]
    assert [text.name for text in texts if re.search(r"\bvoxfleet\[\w", text.read_text())] == []


def test_every_command_and_its_options_are_in_the_table_of_commands() -> None:
    """In the rows of the command, by a long or a short name; those of finetune are in docs/finetuning.md."""
    table = (ROOT / "docs" / "operating.md").read_text().partition("\n## Watching")[0]
    commands = get_command(app).commands
    for name, command in commands.items():
        rows = "".join(row for row in table.splitlines() if re.search(rf"`voxfleet {name}\b", row))
        assert rows, name
        told = [given.opts for given in command.params if given.param_type_name == "option"]
        missing = [names for names in told if not any(re.search(rf"{each}\b", rows) for each in names)]
        assert missing == [] or name == "finetune"
    for server in ("serve", "gateway", "worker"):
        row = next(line for line in table.splitlines() if f"`voxfleet {server} " in line)
        options = [option for given in commands[server].params for option in given.opts]
        assert [option for option in options if f"[{option} " not in row] == []
