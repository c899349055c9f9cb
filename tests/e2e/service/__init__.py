"""The service over real processes while nothing fails."""
