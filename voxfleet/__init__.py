"""What users run: the `voxfleet` command and what it is made of. Importing this package is cheap.

cli.py           the command and its options; `__main__.py`: as `python -m voxfleet`
loading.py       how a command loads what it needs
settings.py      settings of `voxfleet serve`, and the file that all processes share
model_source.py  whether a model that is named is on this machine
commands/        what each subcommand does
serving/         `voxfleet serve`: gateway and workers on this machine
processes/       child processes: where they run, how they are kept alive
fleet/           `voxfleet fleet`: as many workers as are needed, here or in a cluster
client/          the Python client
"""

from typing import Any


def __getattr__(name: str) -> Any:
    """`__version__`, looked up when it is asked for: this package stays cheap."""
    if name == "__version__":
        from telemetry.build import VERSION

        return VERSION
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
