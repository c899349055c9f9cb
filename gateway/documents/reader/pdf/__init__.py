"""PDF.

file.py      a page's text, as it was drawn
columns.py   two columns that were written row by row
lines.py     lines of a page to paragraphs
"""
