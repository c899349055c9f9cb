"""The browser pages as they are served: few requests, compressed, kept by browsers until they change.

modules.py   the ES modules of a page linked into one script
markup.py    a page's HTML with the addresses of its edition
offline.py   the service worker, which keeps pages for when the gateway cannot be reached
edition.py   everything under one content hash, in memory
kept.py      editions of other gateways, and former ones, on disk
site.py      `Site`: the present edition, and what of it a request gets; `answered` is for other texts, too
"""

from gateway.site.edition import File
from gateway.site.site import Site, answered

__all__ = ["File", "Site", "answered"]
