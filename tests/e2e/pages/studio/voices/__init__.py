"""Making a voice of one's own in the browser."""
