"""Documents that somebody wants to hear: read in a confined child, told as chapters and paragraphs.

reading.py   `Documents.read`: a file to a `Document`, or why not
blocks.py    which of its blocks begin chapters
reader/      what the child does: txt, md, html, epub, docx, odt, fodt, rtf, pdf
"""
