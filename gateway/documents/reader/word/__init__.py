"""Word's files (DOCX).

file.py      what is said of the file
numbers.py   numbers that Word counts, of lists and headings
styles.py    what the names of styles say, of Word and RTF
"""
