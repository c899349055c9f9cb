"""Documents of each kind, made as small as they can be."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import docx

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
NAV_HEAD = (
    '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>'
    '<nav epub:type="toc"><ol>'
)


def zipped(files: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return whole.getvalue()


def page(body: str, head: str = "") -> str:
    return f'{head}<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'


def epub(pages: dict[str, str], contents: Sequence[tuple[str, str]] = (), **more: str | bytes) -> bytes:
    """`pages`: name -> XHTML, in their order; `contents`: titles and the places they lead to."""
    links = "".join(f'<li><a href="{href}">{title}</a></li>' for title, href in contents)
    items = "".join(
        f'<item id="i{number}" href="{name}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(pages)
    )
    spine = "".join(f'<itemref idref="i{number}"/>' for number in range(len(pages)))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        "<dc:title>The Walk</dc:title><dc:creator>Ann</dc:creator><dc:language>en-GB</dc:language></metadata>"
        f'<manifest>{items}<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml"'
        f' properties="nav"/></manifest><spine>{spine}</spine></package>'
    )
    files = {f"OPS/{name}": content for name, content in pages.items()}
    files |= {"OPS/nav.xhtml": f"{NAV_HEAD}{links}</ol></nav></body></html>", "OPS/book.opf": package}
    return zipped({"META-INF/container.xml": CONTAINER, **files, **more})


def word(*paragraphs: tuple[str, int]) -> bytes:
    """Text and level of a heading; 0: a paragraph."""
    document, whole = docx.Document(), io.BytesIO()
    for text, level in paragraphs:
        document.add_heading(text, level) if level else document.add_paragraph(text)
    document.core_properties.title = "The Walk"
    document.save(whole)
    return whole.getvalue()


def word_with(paragraph: str) -> bytes:
    """One paragraph, as XML."""
    files = unzipped(word())
    body = files["word/document.xml"].replace(b"<w:body>", f"<w:body><w:p>{paragraph}</w:p>".encode())
    return zipped({**files, "word/document.xml": body})


SPACES = "".join(
    f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
    for name, space in (("office", "office"), ("text", "text"), ("table", "table"), ("style", "style"),
                        ("draw", "drawing"), ("meta", "meta"))
) + (
    ' xmlns:loext="urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
)  # fmt: skip
"""Of OpenDocument, as LibreOffice names them."""


def odt_parts(body: str, styles: str = "", named: str = "") -> dict[str, str]:
    """What is in such a document; `styles`: those of its content, `named`: those that have names."""
    facts = "<dc:title>The Walk</dc:title><dc:creator>Bob</dc:creator><dc:language>en-GB</dc:language>"
    return {
        "meta": f"<office:meta>{facts}</office:meta>",
        "styles": f"<office:styles>{named}</office:styles>",
        "content": f"<office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body>",
    }


def odt(body: str, styles: str = "", named: str = "", **more: str) -> bytes:
    """As a package of files."""
    files = {
        f"{name}.xml": f"<office:document-{name}{SPACES}>{part}</office:document-{name}>"
        for name, part in odt_parts(body, styles, named).items()
    }
    return zipped({"mimetype": "application/vnd.oasis.opendocument.text", **files, **more})


def fodt(body: str, styles: str = "", named: str = "") -> bytes:
    """As one file."""
    parts = "".join(odt_parts(body, styles, named).values())
    return (
        f"<?xml version='1.0' encoding='UTF-8'?>\n<office:document{SPACES}>{parts}</office:document>".encode()
    )


def numbered_word(levels: str, begins: str, paragraphs: Sequence[tuple[str, int, int | None]]) -> bytes:
    """Text, list (1, 2: that with `begins` of its own, 0: none) and level; a heading where there is none."""
    document, whole = docx.Document(), io.BytesIO()
    heading = document.styles["Heading 1"].element.get_or_add_pPr()
    heading.get_or_add_numPr().get_or_add_numId().val = 1
    for text, listed, level in paragraphs:
        paragraph = document.add_heading(text, 1) if level is None else document.add_paragraph(text)
        if level is not None:
            numbered = paragraph._p.get_or_add_pPr().get_or_add_numPr()
            numbered.get_or_add_numId().val, numbered.get_or_add_ilvl().val = listed, level
    document.save(whole)
    lists = "".join(
        f'<w:num w:numId="{number}"><w:abstractNumId w:val="1"/>{more}</w:num>'
        for number, more in ((1, ""), (2, begins))
    )
    numbering = (
        '<w:numbering xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        f'<w:abstractNum w:abstractNumId="1">{levels}</w:abstractNum>{lists}</w:numbering>'
    )
    return zipped({**unzipped(whole.getvalue()), "word/numbering.xml": numbering})


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pdf(*pages: Sequence[tuple[str, int, int] | tuple[str, int, int, int]], trailer: str = "") -> bytes:
    """Each page's lines: text, size of the font, height above the lower edge, and from the left one."""
    kids = " ".join(f"{10 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj",
        f"2 0 obj<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>endobj",
        "3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj",
    ]
    for number, lines in enumerate(pages):
        drawn = "".join(
            f"BT /F {size} Tf {left[0] if left else 50} {height} Td ({text}) Tj ET\n"
            for text, size, height, *left in lines
        )
        objects.append(
            f"{10 + 2 * number} 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]"
            f"/Contents {11 + 2 * number} 0 R/Resources<</Font<</F 3 0 R>>>>>>endobj"
        )
        objects.append(f"{11 + 2 * number} 0 obj<</Length {len(drawn)}>>stream\n{drawn}endstream endobj")
    return "\n".join(["%PDF-1.4", *objects, f"trailer<</Root 1 0 R{trailer}>>", ""]).encode()


LOCKED = f"/ID[<{'0' * 32}><{'0' * 32}>]/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<{'1' * 64}>/U<{'2' * 64}>>>"
"""What a trailer says of a file that needs a password."""


PAGES = {
    "1.xhtml": page("<h1>One</h1><p>They <b>walked</b>. It\n rained.</p><script>no()</script>"),
    "2.xhtml": page("<h1>Two</h1><p>They came home.<a role='doc-noteref'>7</a></p>"),
}
LINES = [[("One", 24, 700), ("They walked.", 12, 650), ("It rained.", 12, 636)],
         [("Two", 24, 700), ("They came home.", 12, 650)]]  # fmt: skip
ODT_WALK = (
    "<text:h text:outline-level='1'>One</text:h><text:p>They walked.<text:s/>It\n rained.</text:p>"
    "<text:h text:outline-level='1'>Two</text:h><text:p>They <text:span>came</text:span> home.</text:p>"
)
WALKS = {
    "txt": b"Chapter 1\n\nThey walked.\nIt rained.\n\nChapter 2\n\nThey came home.\n",
    "md": b"# One\n\nThey **walked**. It\nrained.\n\n# Two\n\nThey [came](http://a) home.\n",
    "html": b"<html><head><title>T</title></head><body><nav>menu</nav><h2>One</h2><p>They walked. It rained."
    b"<h2>Two</h2><p>They came home.</body></html>",
    "epub": epub(PAGES),
    "epub with contents": epub(PAGES, [("One", "1.xhtml"), ("Two", "2.xhtml#x")]),
    "docx": word(("One", 1), ("They walked. It rained.", 0), ("Two", 1), ("They came home.", 0)),
    "odt": odt(ODT_WALK),
    "fodt": fodt(ODT_WALK),
    "fodt in UTF-16": fodt(ODT_WALK).replace(b"UTF-8", b"UTF-16").decode().encode("utf-16"),
    "xhtml": b"<?xml version='1.0'?><?xml-stylesheet href='a.css'?>\n<html xmlns='http://www.w3.org/1999/xhtml'>"
    b"<body><h1>One</h1><p>They walked. It rained.</p><h1>Two</h1><p>They came home.</p></body></html>",
    "rtf": b"{\\rtf1\\ansi{\\stylesheet{\\s1\\outlinelevel0 Part;}}"
    b"{\\pard\\s1 One\\par}\\pard They {\\b walked}"
    b". It\r\n rained.\\par\\pard\\outlinelevel0 Two\\par\\pard They came home.}",
    "pdf": pdf(*LINES),
}
"""The same story in each kind, and in some of them in two ways."""
