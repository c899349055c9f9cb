"""`/api/sessions`: recordings, their files, and who may see them (`access.py`)."""
