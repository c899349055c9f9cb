"""The browser pages.

usable.py      how soon they can be used: `python -m benchmarks.pages`
lighthouse.py  what Lighthouse says of them: `python -m benchmarks.pages.lighthouse`
service.py     the service that serves them, and what both commands share
"""
