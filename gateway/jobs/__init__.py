"""Texts that are spoken without anybody waiting: books and long articles, fetched when they are done.

A job is one clip, spoken a part at a time in the class bulk. Between two parts it has no slot, its audio is
on disk and its row says how far it is, so it goes on after a restart, at this gateway or another.

request.py    what a job is asked for with
chapters.py   where the chapters of a text begin
files.py      its folder
store.py      its row
runner.py     one job, part by part
service.py    `Jobs`: which there are
sweep.py      what goes by itself
book_voice.py who speaks takes of a book that names nobody
shelf.py      what they need of books: a take of a block is a job
result.py     the audio as a file with chapter marks
audiobook.py  the same as m4b, which is made whole
words.py      when its words are said
listing.py    jobs as the API tells them

`gateway/tending/` says which are worked on, and what it is when that fails.
"""

from gateway.jobs.service import Jobs

__all__ = ["Jobs"]
