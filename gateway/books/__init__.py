"""Books: texts in blocks, each of which is spoken, heard and spoken again by itself.

A take of a block is a job (`gateway/jobs/`): durable, watched, with the times of its words. A book adds which
blocks there are, and which of their takes are heard.

request.py   what clients send
store.py     rows of books and blocks
takes.py     rows of takes, and what is left to be made
choice.py    which take of a block is heard
service.py   `Books`: what is done with them
changes.py   what is another since a book was told
progress.py  how far they are
listing.py   books as the API tells them
export.py    the takes in order as one file, and its subtitles
"""

from gateway.books.service import Books

__all__ = ["Books"]
