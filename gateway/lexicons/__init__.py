"""Lexicons of pronunciation: the service's, one of each owner, and what a request adds.

    lexicon = await gateway.lexicons.of(tenant, request.lexicon)

file.py     the file that the settings name
store.py    the rows of the database, and what may be in them
service.py  `Lexicons`, which holds them together and is `Gateway.lexicons`

What a lexicon does to a text is in `gateway/text/lexicon.py`.
"""

from gateway.lexicons.service import Lexicons
from gateway.lexicons.store import SERVICE

__all__ = ["SERVICE", "Lexicons"]
