"""Modules that are linked do what they did apart; what cannot be linked is refused by name."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from gateway.site.markup import SCRIPT
from gateway.site.modules import LinkError, link

FRONTEND = Path(__file__).resolve().parents[3] / "frontend"
MODULES = {
    "js/main.js": """
import words from "./words.js";
import { shout as loud } from "./words.js";
import * as numbers from "./numbers.js";
import { again, count } from "./shared/again.js";
import "./effect.js";

const { SUM, Box } = numbers;
console.log(JSON.stringify([loud(words.hello), SUM, Box.name, again, count(), globalThis.effect]));
console.log(JSON.stringify(again === loud));
""",
    "js/words.js": """
/** import { nothing } from "./nowhere.js"; await nothing */
export default { hello: "hello" };
export function shout(text) {
  return `${text}!
 import { quoted } from "a text";`;
}
""",
    "js/numbers.js": """
import { one,
  two } from "./parts.js";

export const SUM = one + two;
export class Box {}
""",
    "js/parts.js": "const one = 1;\nconst second = 2;\nexport { one, second as two };\n",
    "js/shared/again.js": """
export { shout as again } from "../words.js";
let called = 0;
export function count() {
  called += 1;
  return [called, new URL("./x.js", import.meta.url).pathname.split("/").slice(-3).join("/")];
}
""",
    "js/effect.js": "globalThis.effect = (globalThis.effect ?? 0) + 1;\n",
}


def write(folder: Path, modules: dict[str, str]) -> Path:
    for name, source in modules.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(source, encoding="utf-8")
    return folder


def printed(script: Path) -> list[str]:
    done = subprocess.run(["node", str(script)], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


def test_a_linked_script_does_what_its_modules_do(tmp_path: Path) -> None:
    root = write(tmp_path, {**MODULES, "package.json": '{"type": "module"}'})
    write(root, {f"pages/{name}": text for name, text in link(root, "js/main.js", "main.js").items()})
    apart, linked = printed(root / "js/main.js"), printed(root / "pages/main.js")
    assert linked == apart
    assert json.loads(linked[0])[4] == [1, "js/shared/x.js"], "addresses are those of the module's own file"
    assert json.loads(linked[0])[5] == 1, "a module runs once"


def test_what_is_imported_when_it_is_wanted_is_a_script_of_its_own_and_shares_what_is_there(
    tmp_path: Path,
) -> None:
    root = write(
        tmp_path,
        {
            "package.json": '{"type": "module"}',
            "js/main.js": """
import { count } from "./count.js";
async function say() {
  const { default: first } = await import("./late/first.js");
  const { second } = await import("./late/second.js");
  const same = await import("./count.js");
  console.log(JSON.stringify([first(), second(), same.count(), count()]));
}
say();
""",
            "js/count.js": "/** How often. */\nlet called = 0;\nexport const count = () => (called += 1);\n",
            "js/late/first.js": """
import { count } from "../count.js";
import { two } from "./two.js";
const first = () => [two, count()];
export default first;
""",
            "js/late/second.js": 'import { two } from "./two.js";\nexport const second = () => two;\n',
            "js/late/two.js": """
globalThis.made = (globalThis.made ?? 0) + 1;
export const two = ["two", globalThis.made];
""",
        },
    )
    linked = link(root, "js/main.js", "main.js")
    write(root, {f"pages/{name}": text for name, text in linked.items()})
    apart = printed(root / "js/main.js")
    assert json.loads(apart[0]) == [[["two", 1], 1], ["two", 1], 2, 3]
    assert printed(root / "pages/main.js") == apart
    assert sorted(linked) == ["main-1.js", "main-2.js", "main.js"]
    assert "two" not in linked["main.js"] and "How often" not in linked["main.js"]


@pytest.mark.parametrize("page", sorted(path.name for path in FRONTEND.glob("*.html")))
def test_every_page_of_ours_is_linked_and_is_a_script(page: str, tmp_path: Path) -> None:
    entry = SCRIPT.search((FRONTEND / page).read_text(encoding="utf-8"))
    assert entry
    for name, text in link(FRONTEND / "static", entry["path"], "page.js").items():
        script = tmp_path / f"{name}.mjs"
        script.write_text(text, encoding="utf-8")
        subprocess.run(["node", "--check", str(script)], check=True, timeout=60)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("export let x = 1;", "a form of import or export"),
        ("export default function f() {}", "a form of import or export"),
        ("export const { a } = {};", "a form of import or export"),
        ('import { x } from "lodash";', "none of our files"),
        ('import { x } from "../../etc/passwd";', "none of our files"),
        ('import { x } from "./missing.js";', "cannot be read"),
        ('import { missing } from "./good.js";', "does not export"),
        ('import { good } from "./circle.js";', "in a circle"),
        ("const late = (name) => import(`./${name}.js`);", "computed"),
        ('const late = () => import("./missing.js");', "cannot be read"),
        ("const answer = await fetch('/');", "await outside"),
    ],
)
def test_what_cannot_be_linked_is_refused(tmp_path: Path, source: str, complaint: str) -> None:
    write(
        tmp_path,
        {
            "js/main.js": source,
            "js/good.js": "export const good = 1;\n",
            "js/circle.js": 'import "./main.js";\nexport const good = 1;\n',
        },
    )
    with pytest.raises(LinkError, match=complaint):
        link(tmp_path, "js/main.js", "main.js")
