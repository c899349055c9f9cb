"""What workers may say, and how they are talked to."""
