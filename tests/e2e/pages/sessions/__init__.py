"""The session pages."""
