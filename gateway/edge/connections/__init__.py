"""Deadlines and limits of one connection that only its protocol can keep: uvicorn's, with bounds added.

http.py         one that sends the head of a request, or its body, too slowly, or takes no answer, is cut
websocket.py    one that says too much is closed with 1008; with 1013 where memory has no room for it
flow.py         how long a client may take nothing of what was written to it
pipelining.py   requests that come before their client has its answer
refusals.py     what the server itself answers: 400 for what is no HTTP, 414
keepalive.py    clients that are gone without a word
crowd.py        how many connections there are; one too many is answered 503

Cut means aborted: a polite close would wait for the very client that does not answer.
"""
