"""How a voice sounds."""
