"""A graph of ES modules as one script, so that a page needs one request where its sources are eighty files.

    link(Path("frontend/static"), "js/studio/main.js", "index.js")

Each module becomes a function that is called once, dependencies first, and returns what the module exports:

    const $0 = (() => { ... return { h, icon }; })();
    const $1 = (() => { const { h } = $0; ... })();

A module that is imported when it is wanted, by `import("./sections.js")`, begins another script, with what it
needs beside. It takes the modules that are there from the scripts before it, so each still runs once:

    import { $0 } from "./index.js";
    const $2 = (() => { const { h } = $0; ... })();
    export { $2 };

Only statements that begin a line are read, in the forms that our sources have. Whatever else a module could
say (top-level await, circles, exported variables that change) raises LinkError, and the page stays modules.
JSDoc comments are left out: they are a fifth of what a browser would be sent.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

_IMPORT = re.compile(
    r"^import\s+(?:(?:(?P<default>[\w$]+)|\*\s+as\s+(?P<all>[\w$]+)|\{(?P<names>[^{}]*)\})\s*from\s*)?"
    r'"(?P<path>[^"]+)";$',
    re.MULTILINE,
)
_EXPORT_FROM = re.compile(r'^export\s+\{(?P<names>[^{}]*)\}\s*from\s*"(?P<path>[^"]+)";$', re.MULTILINE)
_EXPORT_NAMES = re.compile(r"^export\s+\{(?P<names>[^{}]*)\};$", re.MULTILINE)
_EXPORT_DEFAULT = re.compile(r"^export\s+default\s+(?!(?:async\s+)?(?:function|class)\b)", re.MULTILINE)
_EXPORT = re.compile(
    r"^export\s+(?P<kind>(?:async\s+)?function\*?|class|const)(?P<space>\s+)(?P<name>[\w$]+)", re.MULTILINE
)
_LATER = re.compile(r'(?<![.\w])import\("(?P<path>[^"]+)"\)')
_NAME = re.compile(r"(?P<name>[\w$]+)(?:\s+as\s+(?P<local>[\w$]+))?")
_COMMENT = re.compile(r"/\*.*?\*/|^\s*//.*?$", re.MULTILINE | re.DOTALL)
_JSDOC = re.compile(r"^[ \t]*/\*\*(?:(?!\*/).)*\*/[ \t]*\n", re.MULTILINE | re.DOTALL)
_UNKNOWN = (
    (re.compile(r"^(?:import|export)\b.*$", re.MULTILINE), "a form of import or export"),
    (re.compile(r"(?<![.\w])import\s*\((?!\"[^\"]+\"\)).*$", re.MULTILINE), "an import that is computed"),
    (re.compile(r"^\S.*\bawait\b(?!.*=>).*$", re.MULTILINE), "await outside of functions"),
)
_MOST_MODULES = 1000


class LinkError(Exception):
    """A module that cannot be linked; the message names it and the line."""


@dataclass
class _Module:
    path: str
    place: str
    """The variable that holds what it exports."""
    source: str
    imports: dict[str, str] = field(default_factory=dict)
    """Path of a module -> statements that name its exports here."""
    needs: set[tuple[str, str]] = field(default_factory=set)
    """(path of a module, name that it has to export)."""
    exports: dict[str, str] = field(default_factory=dict)
    """Exported name -> expression."""
    later: set[str] = field(default_factory=set)
    """Paths of the modules that are imported when they are wanted."""

    def as_function(self, importing: Callable[[str], str]) -> str:
        """importing: the expression that imports the module of a path when it is wanted."""
        given = ", ".join(
            name if name == value else f"{name}: {value}" for name, value in self.exports.items()
        )
        source = _LATER.sub(lambda match: importing(_resolved(self.path, match["path"])), self.source)
        lines = [*filter(None, self.imports.values()), source, f"return {{ {given} }};" if given else ""]
        body = "\n".join(lines)
        return f"// {self.path}\nconst {self.place} = (() => {{\n{body}\n}})();\n"


@dataclass
class _Script:
    file: str
    modules: list[_Module]
    """Dependencies first."""
    imports: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Name of a script -> variables that are taken from it."""
    exports: set[str] = field(default_factory=set)


def link(root: Path, entry: str, file: str) -> dict[str, str]:
    """The scripts that do what the module `entry` does, a path below `root`, by name: `file`, and one more
    for each module that is imported when it is wanted. They are for one folder of `root`. Raises LinkError.
    """
    modules = _Graph(root).walk(entry)
    for module in modules.values():
        for path, name in sorted(module.needs):
            if name not in modules[path].exports:
                raise LinkError(f"{module.path} imports {name!r}, which {path} does not export")
    scripts = _shared_out(modules, entry, file)
    home = {module.path: script for script in scripts for module in script.modules}
    for script in scripts:
        for module in script.modules:
            for path in module.imports:
                if home[path] is not script:
                    script.imports[home[path].file].add(modules[path].place)
                    home[path].exports.add(modules[path].place)
            for path in module.later:
                home[path].exports.add(modules[path].place)

    def importing(path: str) -> str:
        file, place = home[path].file, modules[path].place
        anew = f"import(`./{file}#${{Date.now()}}`)"  # browsers keep the failure of an address
        return f'import("./{file}").catch(() => {anew}).then((script) => script.{place})'

    return {script.file: _text(script, importing) for script in scripts}


def _shared_out(modules: dict[str, _Module], entry: str, file: str) -> list[_Script]:
    """A module is in the first script that needs it."""
    scripts: list[_Script] = []
    there: set[str] = set()
    waiting = [entry]
    for path in waiting:
        if path not in there:
            own = [modules[each] for each in _in_order(modules, path) if each not in there]
            there.update(module.path for module in own)
            scripts.append(_Script(f"{file.removesuffix('.js')}-{len(scripts)}.js" if scripts else file, own))
            waiting.extend(later for module in own for later in sorted(module.later))
    return scripts


def _in_order(modules: dict[str, _Module], entry: str) -> list[str]:
    """What a module needs to run, and itself, dependencies first."""
    needed, waiting = {entry}, [entry]
    for path in waiting:
        more = [each for each in modules[path].imports if each not in needed]
        needed.update(more)
        waiting.extend(more)
    try:
        return list(TopologicalSorter({path: modules[path].imports for path in waiting}).static_order())
    except CycleError as error:
        raise LinkError(f"modules import each other in a circle: {', '.join(error.args[1])}") from None


def _text(script: _Script, importing: Callable[[str], str]) -> str:
    taken = [
        f'import {{ {", ".join(sorted(places))} }} from "./{file}";\n'
        for file, places in sorted(script.imports.items())
    ]
    given = f"export {{ {', '.join(sorted(script.exports))} }};\n" if script.exports else ""
    return "".join([*taken, *(module.as_function(importing) for module in script.modules), given])


class _Graph:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._places: dict[str, str] = {}

    def walk(self, entry: str) -> dict[str, _Module]:
        """All modules that `entry` needs, at once or later, by path."""
        modules: dict[str, _Module] = {}
        waiting = [entry]
        while waiting:
            path = waiting.pop()
            if path in modules:
                continue
            if len(modules) == _MOST_MODULES:
                raise LinkError(f"{entry} needs more than {_MOST_MODULES} modules")
            modules[path] = self._read(path)
            waiting.extend([*modules[path].imports, *sorted(modules[path].later)])
        return modules

    def _place(self, path: str) -> str:
        return self._places.setdefault(path, f"${len(self._places)}")

    def _read(self, path: str) -> _Module:
        try:
            source = (self._root / path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise LinkError(f"{path} cannot be read: {error}") from None
        module = _Module(path, self._place(path), _JSDOC.sub("", source))
        for form, action in (
            (_IMPORT, self._import),
            (_EXPORT_FROM, self._export_from),
            (_EXPORT_NAMES, _export_names),
            (_EXPORT_DEFAULT, _export_default),
            (_EXPORT, _export),
        ):
            module.source = form.sub(partial(action, module), module.source)
        _check(module)
        module.later = {_resolved(path, match["path"]) for match in _LATER.finditer(module.source)}
        module.source = module.source.replace(
            "import.meta.url", f'new URL("../{path}", import.meta.url).href'
        )
        return module

    def _import(self, module: _Module, match: re.Match[str]) -> str:
        target = _resolved(module.path, match["path"])
        place, named = self._place(target), ""
        if match["default"]:
            module.needs.add((target, "default"))
            named = f"const {match['default']} = {place}.default;"
        elif match["all"]:
            named = f"const {match['all']} = {place};"
        elif match["names"]:
            pairs = _pairs(match["names"])
            module.needs.update((target, name) for name, _ in pairs)
            named = f"const {{ {', '.join(f'{name}: {local}' for name, local in pairs)} }} = {place};"
        module.imports[target] = f"{module.imports.get(target, '')}{named}"
        return ""

    def _export_from(self, module: _Module, match: re.Match[str]) -> str:
        target = _resolved(module.path, match["path"])
        module.imports.setdefault(target, "")
        for name, local in _pairs(match["names"]):
            module.needs.add((target, name))
            module.exports[local] = f"{self._place(target)}.{name}"
        return ""


def _export_names(module: _Module, match: re.Match[str]) -> str:
    module.exports.update((local, name) for name, local in _pairs(match["names"]))
    return ""


def _export_default(module: _Module, _: re.Match[str]) -> str:
    module.exports["default"] = "$default"
    return "const $default = "


def _export(module: _Module, match: re.Match[str]) -> str:
    module.exports[match["name"]] = match["name"]
    return f"{match['kind']}{match['space']}{match['name']}"


def _check(module: _Module) -> None:
    """Raises LinkError for what a function cannot hold."""
    bare = _COMMENT.sub("", module.source)
    for form, what in _UNKNOWN:
        if (match := form.search(bare)) is not None:
            raise LinkError(f"{module.path} has {what}: {match[0][:80]}")


def _pairs(names: str) -> list[tuple[str, str]]:
    """`a, b as c` -> [("a", "a"), ("b", "c")]"""
    found = [_NAME.fullmatch(part.strip()) for part in names.split(",") if part.strip()]
    if not all(found):
        raise LinkError(f"these are no names: {names.strip()[:80]}")
    return [(match["name"], match["local"] or match["name"]) for match in found if match]


def _resolved(path: str, address: str) -> str:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), address))
    if not address.startswith(("./", "../")) or target.startswith(".."):
        raise LinkError(f"{path} imports {address!r}, which is none of our files")
    return target
