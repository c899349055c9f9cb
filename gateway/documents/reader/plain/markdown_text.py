"""Markdown, as CommonMark has it: headings and paragraphs without their signs."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markers import Count, Lists
from text import Text
from web_page import Page, parsed_html

_SIGNS = re.compile(
    r"^ {0,3}#{1,6}[ \t]+\S|^[^\s#>].*\n(?:={3,}|-{3,})[ \t]*$"
    r"|\[[^\[\]\n]+\]\([^()\s]+\)|\*\*[^\s*][^*\n]*\*\*|^```",
    re.MULTILINE,
)
"""What a plain text has by chance only."""
_BOX = re.compile(r"\[[ xX]\][ \t]+")
"""Of a task."""
_REMARK = re.compile(r"\[![A-Z]{3,12}\]\s*")
"""Its kind, which is shown as a picture."""
_NOTE = re.compile(r"(?P<mark>\[\^[^\[\]\s]{1,40}\])(?::[ \t]*)?")
_NOTE_BEGINS = re.compile(r"^ {0,3}(\[\^[^\[\]\s]{1,40}\]):", re.MULTILINE)
_BEGINNINGS = {"list_item_open": _BOX, "blockquote_open": _REMARK}
"""What is not said at the beginning of a block."""
_FRONT_MATTER = re.compile(r"\A---\n((?:[A-Za-z_-]+:.*\n|[ \t].*\n|- .*\n)*)(?:---|\.\.\.)\n")
_FIELD = re.compile(r"^(title|author|lang|language):[ \t]*(.+)$", re.MULTILINE | re.IGNORECASE)


def looks_like_markdown(content: str) -> bool:
    """Whether it has signs that plain text has not."""
    return bool(_FRONT_MATTER.match(content) or _SIGNS.search(content))


def read_markdown(content: str, text: Text) -> None:
    """Read Markdown into blocks of `text`."""
    if front := _FRONT_MATTER.match(content):
        fields = {name.lower()[:4]: value.strip().strip("\"'") for name, value in _FIELD.findall(front[1])}
        text.say(fields.get("titl"), fields.get("auth"), fields.get("lang"))
        content = content[front.end() :]
    blocks = _Blocks(text, set(_NOTE_BEGINS.findall(content)))
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(content):
        blocks.take(token)


class _Blocks:
    """Tokens to blocks: headings, paragraphs, items of lists, and the rows of tables, a block each."""

    def __init__(self, text: Text, notes: set[str]) -> None:
        """notes: the marks of those that the text has."""
        self._text, self._notes = text, notes
        self._level, self._lists = 0, Lists()
        self._unsaid: re.Pattern[str] | None = None
        self._row: list[str] | None = None

    def take(self, token: Token) -> None:
        """The next one."""
        _count(token, self._lists)
        if token.type in _BEGINNINGS:
            self._unsaid = _BEGINNINGS[token.type]
        elif token.type == "heading_open":
            self._level = int(token.tag[1])
        elif token.type == "tr_open":
            self._row = []
        elif token.type == "tr_close":
            self._text.add(", ".join(filter(None, self._row or [])))
            self._row = None
        elif token.type == "inline":
            self._line(_NOTE.sub(self._noted, _words(token.children or [])))
        elif token.type in ("fence", "code_block"):
            self._text.add(self._lists.marked(token.content))
        elif token.type == "html_block" and token.content.strip():
            _read_html(token.content, self._text)

    def _line(self, words: str) -> None:
        if self._row is not None:
            self._row.append(words.strip())
            return
        if self._unsaid and (found := self._unsaid.match(words)):
            words = words[found.end() :]
        self._text.add(self._lists.marked(words), self._level)
        self._level, self._unsaid = 0, None

    def _noted(self, match: re.Match[str]) -> str:
        return "" if match["mark"] in self._notes else match[0]


def _count(token: Token, lists: Lists) -> None:
    """What begins or ends with a token, of lists and their items."""
    if token.type == "ordered_list_open":
        lists.begin(Count(int(token.attrs.get("start", 1)), sign=token.markup))
    elif token.type == "bullet_list_open":
        lists.begin(None)
    elif token.type in ("ordered_list_close", "bullet_list_close"):
        lists.end()
    elif token.type == "list_item_open":
        lists.item()
    elif token.type == "list_item_close":
        lists.item_ends()


def _words(tokens: list[Token]) -> str:
    """What is read out of a line; pictures and tags are not."""
    words = {"softbreak": " ", "hardbreak": "\n"}
    said = (
        token.content if token.type in ("text", "code_inline") else words.get(token.type, "")
        for token in tokens
    )
    return "".join(said)


def _read_html(content: str, text: Text) -> None:
    if not content.lstrip().startswith(("<!--", "<?", "<!")):
        Page(text).read(parsed_html(content.encode()))
