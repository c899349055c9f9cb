"""What concerns several pages."""
