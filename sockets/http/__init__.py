"""HTTP/1.1 of gateway and worker: uvicorn's, with bounds added.

deadlines.py   one that sends the head of a request, or its body, too slowly, or takes no answer, is cut
slices.py      what comes in very many lines is read a little at a time
heads.py       how long a head may be; what the server itself answers: 400 for what is no HTTP, 414, 501
pipelining.py  requests that come before their client has its answer
upgrades.py    offers of another protocol, such as HTTP/2, of which no notice is taken
flow.py        how long a client may take nothing of what was written to it

Cut means aborted: a polite close would wait for the very client that does not answer.
"""
