"""The studio page."""
