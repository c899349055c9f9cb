"""What the confined child (`gateway/confined/`) does with a document. It imports nothing else of ours.

reader.py      what is called there: which format it is, by its content
text.py        the blocks that are found, within the limit
plain/         text files: encodings, Markdown, subtitles
word/, odt/, rtf/, pdf/   a format each
web_page.py, epub_book.py   HTML, and books of it
markers.py     numbers of HTML's and Markdown's lists
rows.py        rows of tables
archive.py     files within a zip, as far as they may be unpacked
"""
