"""Text files.

character_sets.py   which encoding a text has
writings.py         how often letters are, of each language
plain_text.py       bytes to characters; paragraphs of plain text
markdown_text.py    Markdown
subtitles.py        what is said in SRT and WebVTT
"""
