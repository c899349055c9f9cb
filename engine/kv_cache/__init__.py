"""Where keys and values live between steps."""
