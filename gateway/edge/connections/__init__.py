"""Deadlines and limits of one connection that only its protocol can keep: uvicorn's, with bounds added.

http.py         those of `sockets/http`, and one connection too many is told so
websocket.py    one that says too much is closed with 1008; with 1013 where memory has no room for it
keepalive.py    clients that are gone without a word
crowd.py        how many connections there are; one too many is answered 503
reading.py      whose connection is read next, where very many have a little to be read

Cut means aborted: a polite close would wait for the very client that does not answer.
"""
