"""What dies, hangs, restarts or leaves, and what listeners and readers notice of it."""
