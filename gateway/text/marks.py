"""Markdown and emoji: what is seen and not said. Only the marks go; every word between them stays.

Wide letters and figures become those that rules look for."""

from __future__ import annotations

import html
import re
import unicodedata

from gateway.text.cards import CARDS
from gateway.text.lines import LINES
from gateway.text.rules import Rules, rule
from gateway.text.tex import TEX

EMOJI = (
    "[\U0001f000-\U0001faff\u2600-\u266c\u2670-\u27bf\u2b05-\u2b07\u2b50\u2b55\u2b1b\u2b1c\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u231a\u231b\u23e9-\u23fa]"
    "[\ufe0f\u200d\U0001f3fb-\U0001f3ff\u20e3\U0001f000-\U0001faff\u2600-\u27bf]*"
)
"""Without the signs of music, ♭ ♮ ♯."""
_INLINE = "b|i|u|s|em|strong|span|code|sub|sup|small|mark|del|ins|a|img|kbd|font"
_BLOCK = (
    "br|p|div|pre|ul|ol|li|h[1-6]|hr|details|summary|table|thead|tbody|tr|td|th|blockquote|center|figure|"
    "figcaption|dl|dt|dd"
)
"""Tags of what stands apart from the words around it."""


STARS = "(?<![★☆])(?=[★☆]{5}(?![★☆]))★{1,5}☆{0,4}"
"""How good something is, of five; other stars are ornaments."""
RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
FIGURES = str.maketrans(f"{RAISED}⁻⁺", "0123456789-+")
"""Of figures above the line to those on it."""
NOTE = rf"(?:(?<=[a-z]{{3}})(?<!sin|cos|tan|log)|(?<=[.,;:!?”’\"]))[{RAISED}]{{1,3}}(?![\w⁻⁺])"
"""The figure of a note in Latin script, behind a word or a sentence; a power stands behind a short sign."""
_ATTRIBUTE = r"""[A-Za-z][\w:-]{0,40}(?:\s?=\s?(?:"[^"<>\n]*"|'[^'<>\n]*'|[^\s<>"'=&]+))?"""
"""Of a tag; "a<b && c>d" has none."""
_TAG_ENDS = rf"(?:\s{{1,9}}{_ATTRIBUTE}){{0,20}}\s{{0,9}}/?>"
_NOTES = r"(?:\[[1-9]\d{0,2}\]){1,9}"
_PROGRAM_NAMED = r"[ \t]*[A-Za-z0-9+#._-]{0,40}(?:[ \t]{1,9}(?:\{[^\n`{}]*\}|[a-z_-]{1,20}=[^\n`]*)){0,4}"
"""In which language a program is, and what its page needs to know; other words are text."""
_PROGRAM = re.compile(r"[={}]|;[ \t]*(?:$|//)|\w\(", re.M)
_ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});"


def _noted(match: re.Match[str]) -> str | None:
    """Not an element of an array in a program."""
    around = match.string[max(0, match.start() - 80) : match.end() + 80]
    return None if _PROGRAM.search(around) else ""


def _unescaped(match: re.Match[str]) -> str | None:
    said = html.unescape(match[0])
    return None if said == match[0] else said


def _parted(match: re.Match[str]) -> str:
    return "，" if "\u3400" <= match.string[match.start() - 1] <= "\u9fff" else ", "


def _paused(match: re.Match[str]) -> str:
    """A line before an item of a list; it would run into that."""
    is_chinese = "\u3400" <= match.string[match.start("say") - 1] <= "\u9fff"
    return f"{'，' if is_chinese else ','}{match['say']}"


_NUMBER = r"\d{1,3}[.)][ \t]+(?=[^\W\d])"
_BULLET = r"[ \t]*[-*+•][ \t]+(?=\S)(?!\d+\s*=)"
_LAST = r"(?<=[^\W_]|[)\]*`])"
"""Of a line that no sign ends."""
_TARGET = r"\((?:[^()\s]|\([^()\s]{0,200}\)){0,2000}(?:[ \t]{1,9}\"[^\"\n]{0,200}\")?\)"
"""Where a link leads, maybe with a title."""
_CLOCK = r"(?:\d{1,2}:)?\d\d:\d\d[.,]\d{3}"
_CUE = rf"(?:\d{{1,5}}[ \t]{{0,9}}\r?\n)?{_CLOCK}[ \t]{{1,9}}-->[ \t]{{1,9}}{_CLOCK}[^\n]*\n?"
"""Of subtitles: its number, and from when to when it is shown."""
_FACES = r":['’]?-?[)(]{1,9}|:-?[p/|oO]|xD+|</3|\^_?\^|>_+<|-_+-|T_T|[oO]_[oO]|¯\\{0,3}_?[(（]ツ[)）]_?/¯"
"""That are no words; ":D" and the like stand closer to words."""
_MATHS = r"[A-Za-z\\|][^$\n]{0,200}(?<=\S)"
"""Between two "$" of TeX: no sum begins with a letter, and no sign of a sum follows a letter."""
_SLANTED = r"(?:[^_\n]|\n(?!\n)){0,500}?(?<!\s)"
"""The rest of what stands between two "_", within a paragraph."""
_SUBSCRIPT = "₀₁₂₃₄₅₆₇₈₉"
_LOWERED = str.maketrans(_SUBSCRIPT, "0123456789")
_SPACED = r"[^\W\d_](?:[ \t][^\W\d_]){0,30}"
"""A word with a space between its letters, as on a poster."""
_FORMULA = r"A-Za-z0-9()\[\]"
_WIDE = "０-９Ａ-Ｚａ-ｚ％＃＄＋＝＠～"


def _folded(match: re.Match[str]) -> str:
    """As wide as letters are, and on their line."""
    return unicodedata.normalize("NFKC", match[0])


def _closed(match: re.Match[str]) -> str | None:
    """Words whose letters stand apart; of "A B  C D" they are none."""
    is_word = re.search(r"(?:[^\W\d_][ \t]){2}[^\W\d_]", match[0])
    return re.sub(r"(?<=\S)[ \t](?=\S)", "", match[0]) if is_word else None


MARKS = Rules(
    *TEX,
    rule(rf"[{_WIDE}]+(?:(?<=[０-９])[．：／－](?=[０-９])[{_WIDE}]+)*", _folded),
    rule(r"(?<=\d)[．：／－](?=\d)", _folded),
    rule(r"(?<=\d)\s?∶\s?(?=\d)", ":"),
    rule(r"(?<=\w)[‐‑](?=\w)", "-"),
    rule("[ℂℕℚℝℤ]", _folded),
    rule(r"(?<=\d)˚", "°"),
    rule(r"(?<=[A-Za-z0-9)])[ₐₑᵢₖₘₙₓₜ]", lambda match: f" {_folded(match)}"),
    rule("[㎀-㎟㎩-㏟]", _folded),
    rule(r"(?<=\d)㎥", "m³"),
    rule(
        rf"(?<![{_FORMULA}])[{_FORMULA}]{{1,40}}[{_SUBSCRIPT}][{_FORMULA}{_SUBSCRIPT}{RAISED}⁺⁻]{{0,80}}",
        lambda match: re.sub(rf"([{_SUBSCRIPT}])(?=\d)", r"\1 ", match[0]).translate(_LOWERED),
    ),
    rule(r"\A\ufeff?WEBVTT[^\n]*\n+", ""),
    rule(rf"^{_CUE}", "", re.M),
    rule(r"<v(?:\.[\w.]{1,40})?[ \t][^<>\n]{1,80}>|</[vc]>|<c(?:\.[\w-]{1,40}){1,9}>", ""),
    rule(r"^(?:\[\d{1,2}:\d\d[.:]\d{2,3}\]){1,9}", "", re.M),
    rule(r"<!--[^<>]{0,2000}-->", ""),
    rule(rf"(?:(?<!\S)|(?<=[\u3400-\u9fff，。！？～]))(?:{_FACES})(?=[\s.,!?，。！？]|$)", ""),
    rule(r"(?<![\w\\:/.%])\w{1,60}(?:\\_\w{1,60}){1,9}(?![\w\\])", lambda match: match[0].replace("\\", "")),
    rule(r"(?<!\\)\\(?P<sign>[*#~`])", lambda match: match["sign"]),
    rule(rf"^(?P<say>[ \t]*```{_PROGRAM_NAMED}[ \t]*)$", "", re.M),
    rule(r"`+", ""),
    rule(rf"(?P<say>!?\[)[^\[\]\n]{{0,500}}\]{_TARGET}", ""),
    rule(rf"!?\[[^\[\]\n]{{0,500}}(?P<say>\]{_TARGET})", ""),
    rule(rf"\[(?=!\[)|(?<=\))\]{_TARGET}", ""),
    rule(r"^\[\^[\w-]{1,40}\]:[ \t]{0,9}", "", re.M),
    rule(r"(?<=[\w.,;:!?”\"'’)*。，；：！？])\[\^[\w-]{1,40}\](?![\w*+?{$])", ""),
    rule(r"^[ \t]{0,3}\[[^\[\]\n]{1,100}\]:[ \t]{1,9}<?https?://\S{1,2000}[^\n]*$", "", re.M),
    rule(r"(?<![\w\])])\[[^\[\]\n]{0,300}[A-Za-z)`]\](?P<say>\[\d{0,3}\])", ""),
    rule(r"^[ \t]*(?P<say>#{1,6}[ \t]+)", "", re.M),
    rule(r"^[ \t]*(?P<say>(?:>[ \t]?){1,20})", "", re.M),
    rule(r"^[ \t]*(?:(?:\*[ \t]*){3,80}|(?:_[ \t]*){3,80})$", "", re.M),
    rule(r"^(?P<say>[-=]{4,}[ \t]*)(?=[^-=\s])|^={3,}[ \t]*$|(?<![-=])[-=]{4,}$", "", re.M),
    rule(r"(?<=\w)[ \t]?(?<!\.)\.{5,}[ \t]?(?=\w)", ", "),
    rule(r"^[|: \t-]+$", lambda match: "" if "---" in match[0] else None, re.M),
    rule(rf"{_LAST}(?P<say>[ \t]*\n)(?={_BULLET})", _paused),
    rule(rf"^[ \t]*{_NUMBER}[^\n]*{_LAST}(?P<say>[ \t]*\n)(?=[ \t]*{_NUMBER})", _paused, re.M),
    *LINES,
    rule(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?P<say>\[[ xX]\][ \t]+)(?=\S)", "", re.M),
    rule(r"^[ \t]*(?P<say>[-*+•][ \t]+)(?=\S)(?!\d+\s*=)", "", re.M),
    rule(r"^(?P<say>[ \t]*\|[ \t]*)(?=.*\|[ \t]*$)", "", re.M),
    rule(r"(?<![ \t])(?P<say>[ \t]*\|[ \t]*)$", "", re.M),
    rule(r"(?<=[^\s|])(?P<say>[ \t]\|[ \t])(?=[^\n]{0,1000}\|[ \t]*$)", ", ", re.M),
    rule(r"(?<=[^\s|`.,;:!?。，；：！？+*=<>/-])[ \t][|•｜][ \t](?=[^\s|`])", _parted),
    rule(r"(?<=[A-Za-z]{2})[ \t]·[ \t](?=[A-Za-z0-9]{2})", ", "),
    rule(r"(?<=[.,;:!?。，；：！？])[ \t](?P<say>[|•｜])[ \t](?=[^\s|`])", ""),
    rule(r"(?<![\w*])(?P<say>\*{1,3})(?=\S)(?=[^*\n]*\S\*)", ""),
    rule(r"(?<=[^\s*])(?P<say>\*{1,3})(?![\w*])|(?<=[\u3400-\u9fff])\*{1,3}(?=[\u3400-\u9fff])", ""),
    rule(r"(?<=[\u3400-\u9fff])(?P<say>\*{1,3})|\*{2,3}(?=[\u3400-\u9fff])", ""),
    rule(rf"(?<!\w)\w{{0,40}}(?:{_ENTITY}\w{{0,40}}){{1,20}}", _unescaped),
    rule(rf"(?<=[.,;:!?”’\"。，；：！？])(?P<say>{_NOTES}(?::\s?\d{{1,4}})?)(?=[\s\u3400-\u9fff]|$)", ""),
    rule(r"(?<=[.,;])\[[a-z]\](?=\s)", ""),
    rule(
        rf"(?<=[\u3400-\u9fff》」』”）])(?P<say>{_NOTES}(?:[:：]\d{{1,4}}(?:[-–]\d{{1,4}})?)?)(?=[\u3400-\u9fff，。、；：！？）”」]|$)",
        "",
    ),
    rule(r"\[(?:citation needed|来源请求|來源請求|note \d{1,2})\]", ""),
    rule(rf"(?<=\))(?P<say>{_NOTES})(?=[,.;:]?\s+[a-z]{{2}})", _noted),
    rule(
        rf"(?:(?<=[a-z]{{3}})|(?<=[A-Z]{{2}})|(?<=\d(?:st|nd|rd|th)))(?P<say>{_NOTES})(?=[,.:!?)]?(?:\s+[^\W_]|\s*$))",
        _noted,
    ),
    rule(r"^\d{1,2}(?P<say>/)(?=[ \t]+[A-Z])", ".", re.M),
    rule(r"^[ \t]*(?:\d{1,3}|[A-Za-z])(?P<say>\))(?=[ \t]*[\u3400-\u9fff]|[ \t]+\S)", ".", re.M),
    rule(r"~~", ""),
    rule(rf"(?<![A-Za-z0-9$\\])(?P<say>\$)(?={_MATHS}\$(?![A-Za-z0-9$({{]))", ""),
    rule(rf"(?<![A-Za-z0-9$\\])\${_MATHS}(?P<say>\$)(?![A-Za-z0-9$({{])", ""),
    rule(r"(?<!\w)(?P<say>__)(?=\w)(?=[^\n]{0,500}\w__(?!\w))", ""),
    rule(r"(?<=\w)(?P<say>__)(?!\w)", ""),
    rule(rf"(?<!\w)(?P<say>_)(?=[^\W_]{_SLANTED}_(?!\w))", ""),
    rule(rf"(?<!\w)_[^\W_]{_SLANTED}(?P<say>_)(?!\w)", ""),
    rule(rf"(?<=\S)</?(?:{_BLOCK}){_TAG_ENDS}(?=[^\s<])", "\n", re.I),
    rule(rf"</?(?:{_INLINE}|{_BLOCK}){_TAG_ENDS}", "", re.I),
    rule(
        rf"(?:(?<=[A-Za-z!?)] )|(?<={EMOJI[: EMOJI.index(']') + 1]} ))"
        rf"(?<!\b(?:is|of|be) )(?<!\bwas )(?P<say><3+)(?=\s*(?:$|{EMOJI}))",
        "",
        re.M,
    ),
    rule(rf"{STARS}|(?<=\d)★(?![★☆])", lambda match: match[0]),
    *CARDS,
    rule(rf"(?![♩♪]\.?\s?=){EMOJI}", ""),
    rule("[\ufe0e\ufe0f\u200d\u20e3]", ""),
    rule(
        rf"(?<![^\W_]){_SPACED}(?:[ \t]{{2,5}}{_SPACED}){{1,9}}(?![^\W_])",
        _closed,
    ),
    rule(
        r"(?<![\u3400-\u9fff])[\u3400-\u9fff](?: [\u3400-\u9fff]){3,40}(?![\u3400-\u9fff])",
        lambda match: match[0].replace(" ", ""),
    ),
    rule("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]", ""),
    rule(r"(?<!\S)[:;]-?[)(DP](?!\w)", ""),
    rule(r"(?<=[\u3400-\u9fff])[:;]-?[)(D](?![\w√−+|(\[-])", ""),
)
