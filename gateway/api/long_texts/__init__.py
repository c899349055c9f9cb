"""Texts that are spoken while nobody waits: `/api/jobs`, `/api/books`, and `/api/documents` for books."""
