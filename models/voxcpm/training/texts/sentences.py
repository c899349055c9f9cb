"""Sentences to be read aloud, collected from unpacked Debian packages.

Each source yields plain paragraphs; `split_sentences` keeps those parts that can be read as they
stand. Sentences that share six words in a row with a held-out sentence are dropped. Example:

    dpkg -x fortunes_*.deb root     # and the other packages named in README.md
    python -m models.voxcpm.training.texts.sentences --packages root --out .carry
"""

from __future__ import annotations

import argparse
import gzip
import html
import lzma
import random
import re
import subprocess
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

HELD_OUT_FILE = Path(__file__).parent / "held_out.txt"
READABLE = " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',.?!;:-%$&/()\"+="
_CURLY = str.maketrans(
    {"‘": "'", "’": "'", "`": "'", "“": '"', "”": '"', "–": "-", "‐": "-", "‑": "-", "−": "-"}
)
TRAINING_CAMPAIGNS = (
    "Dead_Water",
    "Heir_To_The_Throne",
    "Legend_of_Wesmere",
    "Liberty",
    "Sceptre_of_Fire",
)
HELD_OUT_CAMPAIGNS = ("The_South_Guard", "Two_Brothers")
_UNWANTED = re.compile(
    r"fuck|shit|cunt|nigg|rape|whore|bitch|penis|vagina|\banus|nude|\bcock\b|\bsex|\btits?\b", re.I
)


def normalize_text(text: str) -> str:
    """Reduce `text` to ASCII with plain quotes and single spaces; case is kept.

    The tokenizer file states the same rules (see tokenizer_file.py) and lower-cases besides.
    """
    text = re.sub(r"\s*—\s*", ", ", text.translate(_CURLY))
    text = unicodedata.normalize("NFKD", text)
    text = "".join(c for c in text if not unicodedata.combining(c))
    return re.sub(r"\s+", " ", text).strip()


def split_sentences(paragraph: str, min_characters: int = 8, max_characters: int = 210) -> Iterator[str]:
    """Yield the sentences of a paragraph that flite and a reader say alike.

    Left out: anything outside READABLE, words in capitals (their reading depends on case, which the
    tokenizer drops), camel case, paths, dotted names, and sentences without a small letter.
    """
    for part in re.split(r"(?<=[.!?])[\"')]*\s+", normalize_text(paragraph)):
        part = part.strip(" -*_").strip()
        if part.count('"') % 2 or part.count("(") != part.count(")"):
            part = re.sub(r'["()]', "", part).strip()
        if not min_characters <= len(part) <= max_characters or " " not in part:
            continue
        if set(part) - set(READABLE) or not re.search(r"[a-z]{2}", part) or _UNWANTED.search(part):
            continue
        if re.search(
            r"[A-Z]{2,}|[a-z][A-Z]|--|\.\.\.\.|[a-z]\.[a-z]|\w/\w*/|\w=|=\w|\(\)|[a-zA-Z]\d|\d[a-zA-Z]{3}|/\w*\.",
            part,
        ):
            continue
        if sum(c.isalpha() or c == " " for c in part) < 0.8 * len(part):
            continue
        if not part.endswith((".", "?", "!", '."', '?"', '!"')):
            part = part.rstrip(",;:-' ") + "."
        yield part[0].upper() + part[1:]


def _read(path: Path) -> str:
    data = gzip.decompress(path.read_bytes()) if path.suffix in (".gz", ".dz") else path.read_bytes()
    return data.decode("utf-8", errors="replace")


def _fortune_paragraphs(root: Path) -> Iterator[str]:
    for path in sorted((root / "usr/share/games/fortunes").iterdir()):
        if path.suffix or path.is_symlink() or "ascii" in path.name:
            continue
        for cookie in re.split(r"\n%\n", _read(path)):
            yield re.sub(r"\n\s*--.*", "", cookie, flags=re.S)


def _python_paragraphs(root: Path) -> Iterator[str]:
    return _html_paragraphs(root, ("doc/python3.11/html",))


def _debian_paragraphs(root: Path) -> Iterator[str]:
    folders = ("doc/debian-handbook/html/en-US", "doc/debian", "debian-reference", "developers-reference")
    return _html_paragraphs(root, folders)


def _html_paragraphs(root: Path, folders: tuple[str, ...]) -> Iterator[str]:
    for folder in folders:
        for path in sorted((root / "usr/share" / folder).rglob("*.html")):
            if re.search(r"\.(?!en\b)[a-z]{2}(-\w+)?\.html$", path.name):
                continue
            for paragraph in re.findall(r"<(?:p|dd|li)\b[^>]*>(.*?)</(?:p|dd|li)>", _read(path), flags=re.S):
                if paragraph.count("<code") <= 1:
                    yield html.unescape(re.sub(r"<[^>]+>", "", paragraph))


def _wordnet_paragraphs(root: Path) -> Iterator[str]:
    for path in sorted((root / "usr/share/wordnet").glob("data.*")):
        for line in _read(path).splitlines():
            _, bar, gloss = line.partition(" | ")
            if not bar:
                continue
            parts = re.findall(r'"([^"]+)"', gloss) + re.sub(r'"[^"]*"|`|\([^)]*\)', "", gloss).split(";")
            yield from (part for part in parts if part.count(" ") >= 4)


def _bible_paragraphs(root: Path) -> Iterator[str]:
    command = [str(root / "usr/bin/bible"), "-f", "-l10000", "-p", str(root / "usr/lib"), "gen1:1-rev22:21"]
    verses = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in verses.splitlines():
        verse = re.sub(r"^\S+ ", "", line).replace("LORD", "Lord").replace("GOD", "God")
        yield verse
        if len(verse) > 120:
            yield from re.split(r"[:;]\s+", verse)


def _book_paragraphs(root: Path) -> Iterator[str]:
    for name in ("alice", "intro.txt"):
        yield from re.split(r"\n\s*\n", _read(root / "usr/share/doc/flite/examples" / name))


def _campaign_paragraphs(root: Path, campaigns: tuple[str, ...]) -> Iterator[str]:
    """What people say to each other in the campaigns of The Battle for Wesnoth, and its narration."""
    for campaign in campaigns:
        folder = root / "usr/share/games/wesnoth/1.16/data/campaigns" / campaign
        for path in sorted(folder.rglob("*.cfg")):
            for said in re.findall(r'(?:message|story|description)\s*=\s*_\s*"([^"]+)"', _read(path)):
                yield re.sub(r"<[^>]*>|\[[^\]]*\]|\$\S+", "", said)


def _dialogue_paragraphs(root: Path) -> Iterator[str]:
    yield from _campaign_paragraphs(root, TRAINING_CAMPAIGNS)


def _other_dialogue_paragraphs(root: Path) -> Iterator[str]:
    yield from _campaign_paragraphs(root, HELD_OUT_CAMPAIGNS)


def _definition_paragraphs(root: Path) -> Iterator[str]:
    """The Devil's Dictionary: definitions without their headwords."""
    text = _read(root / "usr/share/dictd/devil.dict.dz")
    for entry in re.split(r"\n\s*\n", text):
        yield re.sub(r"^\s*[A-Z' -]+, *[a-z.]+ ", "", entry)


SOURCES = {
    "fortunes": _fortune_paragraphs,
    "python": _python_paragraphs,
    "debian": _debian_paragraphs,
    "wordnet": _wordnet_paragraphs,
    "bible": _bible_paragraphs,
    "dialogue": _dialogue_paragraphs,
}
HELD_OUT_SOURCES = {
    "alice": _book_paragraphs,
    "devil": _definition_paragraphs,
    "dialogue": _other_dialogue_paragraphs,
}
MOST_SENTENCES = {"wordnet": 50_000, "bible": 8_000}
REPEATED = {"dialogue": 6, "fortunes": 2}
"""How often the sentences stand in the list that are most like what listeners ask for; the rest is dry."""
HELD_OUT_COUNTS = {"alice": 30, "devil": 110, "dialogue": 160}


def words_of(text: str) -> list[str]:
    """The lower-case words of `text`, as a recogniser would print them."""
    return re.findall(r"[a-z0-9']+", text.lower())


def shingles(text: str, width: int = 6) -> set[tuple[str, ...]]:
    """All runs of `width` words; a shorter text is one run."""
    words = words_of(text)
    return {tuple(words[i : i + width]) for i in range(max(1, len(words) - width + 1))}


def collect(
    root: Path, sources: dict[str, Callable[[Path], Iterator[str]]] = SOURCES
) -> dict[str, list[str]]:
    """Every distinct sentence of every source, in reading order."""
    seen: set[tuple[str, ...]] = set()
    found: dict[str, list[str]] = {}
    for name, paragraphs in sources.items():
        found[name] = []
        for paragraph in paragraphs(root):
            for sentence in split_sentences(paragraph):
                key = tuple(words_of(sentence))
                if key not in seen:
                    seen.add(key)
                    found[name].append(sentence)
    return found


def choose_held_out(found: dict[str, list[str]], counts: dict[str, int], known_words: set[str]) -> list[str]:
    """Pick sentences of 5 to 20 known words, letters only, as many from each source as `counts` says."""
    rng = random.Random(20)
    chosen = []
    for name, count in counts.items():
        fit = [s for s in found[name] if 5 <= len(s.split()) <= 20 and re.fullmatch(r"[A-Za-z ,.?!;':-]+", s)]
        fit = [s for s in fit if all(w in known_words for w in words_of(s))]
        chosen += rng.sample(fit, count)
    rng.shuffle(chosen)
    return chosen


def training_sentences(found: dict[str, list[str]], held_out: Iterable[str]) -> list[str]:
    """Sentences that share no six words in a row (nor the whole of a short text) with `held_out`.

    The large, dry sources are cut to MOST_SENTENCES so that plain prose keeps its weight.
    """
    rng = random.Random(21)
    barred = set().union(*map(shingles, held_out))
    kept = []
    for name, sentences in found.items():
        fit = [s for s in sentences if not shingles(s) & barred]
        kept += rng.sample(fit, min(len(fit), MOST_SENTENCES.get(name, len(fit)))) * REPEATED.get(name, 1)
    rng.shuffle(kept)
    return kept


def dictionary_words(path: Path) -> list[str]:
    """Words of a word list, without capitals inside; of the possessives every tenth."""
    words = [
        w for w in path.read_text().split() if re.fullmatch("[A-Za-z]?[a-z']+", w) and not _UNWANTED.search(w)
    ]
    possessives = [w for w in words if w.endswith("'s")]
    return [w for w in words if not w.endswith("'s")] + possessives[::10]


def read_lines(path: Path) -> list[str]:
    """Non-empty lines of a text file, xz-compressed where its name says so."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return [line for line in file.read().split("\n") if line]


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines as an xz-compressed text file."""
    with lzma.open(path, "wt", encoding="utf-8", preset=6) as file:
        file.write("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--packages", type=Path, required=True, help="folder the Debian packages were unpacked into"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--choose-held-out", type=Path, metavar="DICT", help="choose held_out.txt anew; DICT is a cmudict"
    )
    args = parser.parse_args()
    found = collect(args.packages)
    print({name: len(sentences) for name, sentences in found.items()})
    if args.choose_held_out:
        known = {line.split()[0] for line in args.choose_held_out.read_text().splitlines() if line}
        chosen = choose_held_out(collect(args.packages, HELD_OUT_SOURCES), HELD_OUT_COUNTS, known)
        HELD_OUT_FILE.write_text("\n".join(chosen) + "\n")
    sentences = training_sentences(found, read_lines(HELD_OUT_FILE))
    words = dictionary_words(args.packages / "usr/share/dict/american-english")
    args.out.mkdir(parents=True, exist_ok=True)
    write_lines(args.out / "sentences.txt.xz", sentences)
    write_lines(args.out / "words.txt.xz", words)
    print(
        f"{len(sentences)} sentences, {sum(map(len, sentences)) / 1e6:.1f} M characters, {len(words)} words"
    )


if __name__ == "__main__":
    main()
