"""The engine and the service on a GPU."""
