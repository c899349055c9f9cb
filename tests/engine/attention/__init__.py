"""Attention backends: `conformance` holds the cases, which also run without pytest on a GPU machine."""
