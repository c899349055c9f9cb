"""What is installed, with which rights, and where it listens."""
