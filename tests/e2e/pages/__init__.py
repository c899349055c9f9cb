"""The pages in real browsers, before real processes."""
