"""`POST /api/documents`: a file becomes blocks, within the limits of the service, and is not kept."""

from __future__ import annotations

from pathlib import Path

from tests.gateway.documents.files import epub, page
from tests.gateway.stages.processes import check_error
from tests.security.apps import running_app

BOOK = epub({"1.xhtml": page("<h1>One</h1><p>They walked.</p>"), "2.xhtml": page("<h1>Two</h1><p>Home.</p>")})
PATH = "/api/documents"


def files_with(content: bytes, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and content in path.read_bytes()]


async def test_a_book_becomes_chapters_and_paragraphs(tmp_path: Path) -> None:
    async with running_app(tmp_path) as (_, opened), opened() as http:
        answer = await http.post(PATH, files={"file": ("book.epub", BOOK)})
    assert answer.status_code == 200
    assert answer.json() == {
        "title": "The Walk",
        "language": "en",
        "blocks": [
            {"kind": "chapter", "text": "One"},
            {"kind": "paragraph", "text": "They walked."},
            {"kind": "chapter", "text": "Two"},
            {"kind": "paragraph", "text": "Home."},
        ],
        "characters": 23,
        "warnings": [],
    }
    assert not files_with(BOOK, tmp_path)


async def test_what_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    bounds = {"max_document_bytes": 1 << 16, "max_body_bytes": 1 << 16, "max_job_characters": 100}
    async with running_app(tmp_path, **bounds) as (_, opened), opened() as http:
        for content, status, code in (
            (b"", 422, "missing_field"),
            (b"\x89PNG" + bytes(99), 422, "document_format"),
            (b"A word. " * 20, 422, "document_too_long"),
            (bytes((1 << 16) + 1), 413, "too_large"),
            (bytes(1 << 18), 413, "body_too_large"),
        ):
            answer = await http.post(PATH, files={"file": ("a", content)})
            error = check_error(answer, status)
            assert error["code"] == code
            assert error["param"] == (None if code == "body_too_large" else "file")
        wrong = await http.post(PATH, files={"file": ("a", b"A.")}, data={"url": "http://127.0.0.1/"})
        assert check_error(wrong, 422)["code"] == "unknown_field"
        foreign = {"Origin": "http://evil.example"}
        answer = await http.post(PATH, files={"file": ("a", b"A.")}, headers=foreign)
        check_error(answer, 403)
