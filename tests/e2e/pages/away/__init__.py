"""Pages whose gateway or network is away, comes back, or is another edition."""
