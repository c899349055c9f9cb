"""A document of somebody's, read in a confined child (`gateway/confined/`, `reader/`).

What the child says is a code out of a table, or text whose shape is checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway.confined.children import Children
from gateway.documents.blocks import Block, Found, in_chapters, title_of
from gateway.errors import ApiError
from gateway.text.language import told_language

FORMATS = ("txt", "srt", "vtt", "md", "html", "epub", "docx", "odt", "fodt", "rtf", "pdf")
_SUBTITLES = "srt"
"""What the child calls both."""
PROCESSOR_SECONDS = 40
READER = Path(__file__).with_name("reader")
_WALL_SECONDS = 60.0
_MOST_BLOCKS = 100_000
_BYTES_OF_A_CHARACTER, _BYTES_OF_A_BLOCK = 4, 48
_LANGUAGES = (
    "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "he", "hi",
    "hr", "hu", "id", "it", "ja", "ko", "lt", "lv", "ms", "nl", "no", "pl", "pt", "ro", "ru", "sk",
    "sl", "sr", "sv", "sw", "ta", "te", "th", "tr", "uk", "ur", "vi", "zh",
)  # fmt: skip
"""That a document may be in that does not say."""
_SAMPLE_CHARACTERS = 1000
_HEAD_BYTES = 1 << 16
_PARAM = "file"
_REFUSALS = {
    "document_format": f"the file is none of {', '.join(FORMATS)}: send one of these",
    "document_unreadable": "the file cannot be read: it is damaged, or takes too much time or memory",
    "document_encrypted": "the file is encrypted: send one that opens without a password",
    "document_encoding": "which encoding the text has cannot be told: save it as UTF-8, and send that",
    "document_empty": "there is no text in the file",
    "document_without_text": "the pages are pictures without text: have their text recognised first",
    "document_too_large": "the file unpacks to more than 64 MiB, or to more than 10000 files",
    "document_too_many_pages": "the file has more than 5000 pages",
}
_ENCODINGS = {
    "gb18030": "GB 18030 (Chinese)",
    "cp950": "Big5 (Chinese)",
    "cp932": "Shift-JIS (Japanese)",
    "euc_jp": "EUC-JP (Japanese)",
    "iso2022_jp_ext": "ISO-2022-JP (Japanese)",
    "cp949": "EUC-KR (Korean)",
    "cp874": "Windows-874 (Thai)",
    "cp1250": "Windows-1250 (Central European)",
    "cp1251": "Windows-1251 (Cyrillic)",
    "cp1252": "Windows-1252 (Western European)",
    "cp1253": "Windows-1253 (Greek)",
    "cp1254": "Windows-1254 (Turkish)",
    "cp1255": "Windows-1255 (Hebrew)",
    "cp1256": "Windows-1256 (Arabic)",
    "cp1257": "Windows-1257 (Baltic)",
    "cp1258": "Windows-1258 (Vietnamese)",
    "iso8859_2": "ISO-8859-2 (Central European)",
    "iso8859_5": "ISO-8859-5 (Cyrillic)",
    "iso8859_7": "ISO-8859-7 (Greek)",
    "koi8_u": "KOI8 (Cyrillic)",
    "cp866": "IBM866 (Cyrillic)",
}
_GUESSED = "the file does not say its encoding and was read as {}: save it as UTF-8 if letters are wrong"
_EMPTY_PAGES = "{} pages have no text: pictures of text are not read"
_Said = Annotated[str, Field(max_length=500)]


class _Told(BaseModel):
    """What the child says."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal["txt", "srt", "md", "html", "epub", "docx", "odt", "rtf", "pdf"]
    title: _Said
    author: _Said
    language: _Said
    encoding: Annotated[str, Field(max_length=20)]
    empty_pages: Annotated[int, Field(ge=0)]
    blocks: Annotated[
        list[Annotated[list[Any], Field(min_length=3, max_length=3)]],
        Field(min_length=1, max_length=_MOST_BLOCKS),
    ]


class _Refused(BaseModel):
    refused: str


class _ToldBlock(BaseModel):
    model_config = ConfigDict(strict=True)

    text: Annotated[str, Field(min_length=1)]
    heading: Annotated[int, Field(ge=0, le=6)]
    chapter: _Said | None


@dataclass(frozen=True)
class Document:
    """What is in a file."""

    title: str | None
    """None: it does not say."""
    language: str | None
    """ISO 639, without a region; None: it does not say, and nothing tells."""
    blocks: list[Block]
    warnings: list[str]
    """What a reader should know: pages that have no text, a guessed encoding."""

    def to_dict(self) -> dict[str, Any]:
        """As the API shows it."""
        return {
            "title": self.title,
            "language": self.language,
            "blocks": [asdict(block) for block in self.blocks],
            "characters": sum(len(block.text) for block in self.blocks),
            "warnings": self.warnings,
        }


class Documents:
    """Reads them, a few at a time; others wait for their turn."""

    def __init__(self, most_characters: int, *, wall_seconds: float = _WALL_SECONDS) -> None:
        self._most_characters = most_characters
        self._children = Children(
            READER,
            processor_seconds=PROCESSOR_SECONDS,
            wall_seconds=wall_seconds,
            most_bytes=_HEAD_BYTES
            + 2 * _BYTES_OF_A_CHARACTER * most_characters
            + _MOST_BLOCKS * _BYTES_OF_A_BLOCK,
        )

    async def read(self, file: int) -> Document:
        """An open file, from its start.

        Raises ApiError: 422 (param "file") for what is none, or too much of it, 503 when too many wait
        or the child could not be confined.
        """
        said = await self._children.read(file, str(self._most_characters))
        return await asyncio.to_thread(self._understand, said)

    def _understand(self, said: bytes) -> Document:
        """The child's words, as far as they make sense. Raises ApiError 422."""
        try:
            told = _Told.model_validate_json(said)
            found = [Found(*_checked(block)) for block in told.blocks]
        except ValidationError:
            raise self._refusal(said) from None
        if sum(len(each.text) for each in found) > self._most_characters:
            raise self._refusal(b'{"refused":"document_too_long"}')
        blocks = in_chapters(found, have_titles=told.format != _SUBTITLES)
        language = told.language.replace("_", "-").partition("-")[0].lower()
        if not (2 <= len(language) <= 3 and language.isalpha() and language.isascii()) or language == "und":
            language = told_language(_sample(found), _LANGUAGES) or ""
        title = told.title or title_of(found, blocks)
        warnings = [_EMPTY_PAGES.format(told.empty_pages)] if told.empty_pages else []
        if told.encoding in _ENCODINGS:
            warnings.append(_GUESSED.format(_ENCODINGS[told.encoding]))
        return Document(title or None, language or None, blocks, warnings)

    def _refusal(self, said: bytes) -> ApiError:
        try:
            code = _Refused.model_validate_json(said).refused
        except ValidationError:
            code = "document_unreadable"
        if code == "document_too_long":
            message = f"file: at most {self._most_characters} characters of text are allowed"
            return ApiError(422, "document_too_long", message, param=_PARAM)
        code = code if code in _REFUSALS else "document_unreadable"
        return ApiError(422, code, _REFUSALS[code], param=_PARAM)


def _checked(block: list[Any]) -> tuple[str, int, str | None]:
    checked = _ToldBlock(text=block[0], heading=block[1], chapter=block[2])
    return checked.text, checked.heading, checked.chapter


def _sample(blocks: Sequence[Found]) -> str:
    """A sample from the middle, where a book speaks its own language."""
    middle = blocks[len(blocks) // 2 :]
    sample = ""
    for block in middle:
        sample += block.text + "\n"
        if len(sample) >= _SAMPLE_CHARACTERS:
            break
    return sample
