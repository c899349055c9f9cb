"""The gateway under load, with synthetic workers."""
