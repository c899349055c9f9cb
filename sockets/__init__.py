"""What gateway and worker share of their WebSockets: writing at once and in order, and noticing silence."""
