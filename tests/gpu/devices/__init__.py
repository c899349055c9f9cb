"""What several GPUs do together, and what comes of losing one."""
