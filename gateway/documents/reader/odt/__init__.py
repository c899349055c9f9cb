"""OpenDocument texts, as LibreOffice writes them.

file.py      what is said of the file
numbers.py   numbers that LibreOffice counts, of lists and headings
styles.py    which text is hidden, raised, a title
"""
