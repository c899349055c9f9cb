"""What the confined child (`gateway/confined/`) does with a document. It imports nothing else of ours.

reader.py        what is called there: which format it is, by its content
text.py          the blocks that are found, within the limit
character_sets.py   which encoding a text has; writings.py  how often letters are, of each language
plain_text.py    bytes to characters; paragraphs of plain text
markdown_text.py, web_page.py, epub_book.py, word_file.py, odt_file.py, rtf_file.py,
  pdf_file.py   a format each
subtitles.py     what is said in SRT and WebVTT
pdf_columns.py   two columns that were written row by row
pdf_lines.py     lines of a page to paragraphs
markers.py       numbers of HTML's and Markdown's lists
word_numbers.py, odt_numbers.py  numbers that Word and LibreOffice count, of lists and headings
odt_styles.py    which text of LibreOffice is hidden, raised, a title
rtf_tokens.py    what RTF is written in; rtf_lists.py  which of its lists count in Roman numbers
word_styles.py   what the names of styles say, of Word and RTF
rows.py          rows of tables
archive.py       files within a zip, as far as they may be unpacked
"""
