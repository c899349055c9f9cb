"""How much of written text is read right: percentages per kind of case, the misses, milliseconds a sentence.

    python -m benchmarks.text                      # our normalisation
    python -m benchmarks.text --with wetext        # a library alone: wetext, normt2s, voxnorm or spokenform
    python -m benchmarks.text --misses

The cases stand in `tests/text/cases`: written, spoken and kind, parted by tabs. In what is spoken, ` | `
parts readings that are right, `{a/b}` gives ways to say a piece of it, and `[and]` may be missing. Case,
punctuation and spaces do not count. Rules were written with a look at `en.tsv` and `zh.tsv`, never at
the misses of `*_held_out.tsv`; all cases are of one author. Of the libraries VoxFleet installs wetext alone.
"""

from __future__ import annotations

import argparse
import re
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

CASES = Path(__file__).parent.parent / "tests" / "text" / "cases"
FILES = ("en", "en_held_out", "zh", "zh_held_out")
_PARTS = {"[": "(?:", "]": ")?", "{": "(?:", "}": ")", "/": "|"}
Normaliser = Callable[[str, str], str]


class Case(NamedTuple):
    """One line of a table."""

    written: str
    spoken: str
    kind: str


def cases(name: str) -> Iterator[Case]:
    """The lines of `tests/text/cases/NAME.tsv`."""
    for line in (CASES / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
        yield Case(*line.split("\t"))


def bare(text: str) -> str:
    """A text without what does not count in a comparison."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("〇", "零")
    return "".join(character for character in text if unicodedata.category(character)[0] in "LN")


@cache
def readings(spoken: str) -> re.Pattern[str]:
    """What matches the bare form of every right reading."""
    alternatives = (
        "".join(
            _PARTS.get(piece) or re.escape(bare(piece)) for piece in re.findall(r"[][{}/]|[^][{}/]+", one)
        )
        for one in spoken.split(" | ")
    )
    return re.compile("|".join(f"(?:{one})" for one in alternatives))


def is_right(said: str, case: Case) -> bool:
    """Whether a case is read in one of the ways that are right."""
    return readings(case.spoken).fullmatch(bare(said)) is not None


def normaliser(name: str) -> Normaliser:
    """`voxfleet`, or a library: (text, language) -> spoken text. Raises ImportError if it is not there."""
    if name == "wetext":
        from wetext import Normalizer

        grammars = {
            language: Normalizer(lang=language, operator="tn", remove_erhua=False)
            for language in ("en", "zh")
        }
        return lambda text, language: grammars[language].normalize(text)
    if name == "normt2s":
        import normt2s

        return lambda text, language: normt2s.normalize(text) if language == "en" else text
    if name == "voxnorm":
        import voxnorm

        return lambda text, language: voxnorm.normalize(text, lang={"zh": "zh-CN"}.get(language, language))
    if name == "spokenform":
        import spokenform

        return lambda text, language: spokenform.prepare_text(text, language=language).text
    from gateway.text import normalise

    return lambda text, language: normalise(text, language).text


def report(name: str, normalise: Normaliser, show_misses: bool) -> None:
    """Prints what one table finds."""
    table = list(cases(name))
    language = name[:2]
    kinds: dict[str, list[bool]] = defaultdict(list)
    misses = []
    normalise("Warm up 1. 预热1次。", language)
    seconds = 0.0
    for case in table:
        began = time.perf_counter()
        try:
            said = normalise(case.written, language)
        except (AssertionError, RuntimeError, ValueError) as error:
            said = f"({type(error).__name__})"
        seconds += time.perf_counter() - began
        right = is_right(said, case)
        kinds[case.kind].append(right)
        if not right:
            misses.append((case, said))
    share = 100 * (1 - len(misses) / len(table))
    print(f"{name}: {share:.1f} % of {len(table)} cases, {1000 * seconds / len(table):.2f} ms each")
    wrong = [f"{kind} {sum(found)}/{len(found)}" for kind, found in kinds.items() if not all(found)]
    print(f"  not all right: {', '.join(wrong) or 'none'}")
    for case, said in misses if show_misses else ():
        print(f"  {case.kind}: {case.written!r} became {said!r}, not {case.spoken!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = ("voxfleet", "wetext", "normt2s", "voxnorm", "spokenform")
    parser.add_argument("--with", dest="name", choices=names, default="voxfleet")
    parser.add_argument("--misses", action="store_true", help="print what was read wrong")
    arguments = parser.parse_args()
    normalise = normaliser(arguments.name)
    for name in FILES:
        report(name, normalise, arguments.misses)


if __name__ == "__main__":
    main()
