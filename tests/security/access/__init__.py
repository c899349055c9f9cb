"""Who may do what, and how they show who they are."""
