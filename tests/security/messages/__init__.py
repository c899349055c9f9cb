"""What comes in: how much, how slowly, of what form."""
