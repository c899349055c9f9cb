"""A rank above 0 with the plain attention at fixed addresses that `tests.models.conftest.programs` has."""

from __future__ import annotations

import sys

from engine.attention.selection import BACKENDS
from engine.parallel.follower import follow
from models.voxcpm.parallel.rank import serve
from tests.engine.attention.static import StaticBackend

if __name__ == "__main__":
    BACKENDS[StaticBackend.name] = StaticBackend
    follow(int(sys.argv[1]), serve)
