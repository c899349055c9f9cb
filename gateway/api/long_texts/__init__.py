"""Texts that are spoken while nobody waits.

jobs.py          `/api/jobs`
books.py         `/api/books`: blocks and their takes
book_audio.py    what is heard of a book
documents.py     `/api/documents`, for books
"""
