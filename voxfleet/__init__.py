"""What users run: the `voxfleet` command and what it is made of. Importing this package is cheap.

cli.py           the command and its options; `__main__.py`: as `python -m voxfleet`
settings.py      settings of `voxfleet serve`, and the file that all processes share
model_source.py  whether a model that is named is on this machine
commands/        what each subcommand does
serving/         `voxfleet serve`: gateway and workers on this machine
processes/       child processes: where they run, how they are kept alive
fleet/           `voxfleet fleet`: as many workers as are needed, here or in a cluster
client/          the Python client
"""

__version__ = "0.1.0"
