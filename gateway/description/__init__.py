"""The API described: what each route is for, an example that runs, and what was answered to it.

operation.py    what is said of one route
operations/     all routes, in the order in which their examples can be run one after the other
answers.json    what was answered to them, as `python -m tests.gateway.description.record` writes it
media.py        media types of answers that may have one of several
fields.py       fields of queries and forms that routes read by themselves
document.py     FastAPI's OpenAPI document with all of that; WebSockets stand in it as `x-websocket`
route.py        `/openapi.json`, and who gets it
"""

from gateway.description.document import describe

__all__ = ["describe"]
