"""What users run: the `voxfleet` command and what it is made of. Importing this package is cheap."""

__version__ = "0.1.0"
